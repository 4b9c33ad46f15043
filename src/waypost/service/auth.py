"""Tokens: who is calling, proven by a signature (RFC 7519, hardened by RFC 8725).

A key decides its algorithm, never the token's header. A token is refused when it
is too long, not in canonical form, names keys by address (``jku``, ``x5u``) or
carries them (``jwk``, ``x5c``), asks for extensions (``crit``), or lacks any of
exp, iss, aud and sub. ``kid`` is looked up and otherwise never interpreted.

The agent is the claim ``sub``; what it may do is the claim ``scope``, words of
read, write and admin. Verified tokens are remembered until they expire or the
keys change, so a signature is checked once and not per request.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from waypost.exceptions import InvalidInput, Unauthenticated
from waypost.model import CallerId
from waypost.service.caller import Caller, Scope

if TYPE_CHECKING:
    from waypost.service.keys import KeySource, VerificationKey

ISSUER = "waypost"
AUDIENCE = "waypost"
MAX_TOKEN_CHARACTERS = 8192
MIN_SECRET_BYTES = 32
LEEWAY_SECONDS = 30
MAX_REMEMBERED = 10_000

_COMPACT = re.compile(r"^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$")
_REFUSED_HEADERS = frozenset({"jku", "x5u", "jwk", "x5c", "crit", "b64", "zip", "enc"})
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})
_AGENT: TypeAdapter[str] = TypeAdapter(CallerId)


@dataclass(frozen=True, slots=True)
class _Remembered:
    caller: Caller
    until: float
    generation: int


class Authenticator:
    """Turns the Authorization header of a request into a Caller, or raises Unauthenticated."""

    def __init__(
        self,
        keys: KeySource,
        *,
        issuer: str = ISSUER,
        audience: str = AUDIENCE,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._keys = keys
        self._issuer = issuer
        self._audience = audience
        self._clock = clock
        self._remembered: dict[str, _Remembered] = {}

    async def authenticate(self, authorization: str | None) -> Caller:
        """The caller that the header's bearer token proves."""
        token = _bearer(authorization)
        await self._keys.keep_fresh()
        known = self._recall(token)
        if known is not None:
            return known
        header = _read_header(token)
        key = await self._keys.find(header.get("kid"))
        claims = self._verify(token, header, key)
        caller = Caller(_agent(claims), _scopes(claims))
        self._remember(token, caller, float(claims["exp"]))
        return caller

    def _recall(self, token: str) -> Caller | None:
        known = self._remembered.get(token)
        if known is None:
            return None
        if known.generation == self._keys.generation and self._clock() < known.until:
            return known.caller
        del self._remembered[token]
        return None

    def _remember(self, token: str, caller: Caller, until: float) -> None:
        if len(self._remembered) >= MAX_REMEMBERED:
            self._remembered.clear()
        self._remembered[token] = _Remembered(caller, until, self._keys.generation)

    def _verify(self, token: str, header: dict[str, Any], key: VerificationKey) -> dict[str, Any]:
        import jwt

        if header.get("alg") != key.algorithm:
            raise Unauthenticated("the token is not signed with the algorithm of its key")
        try:
            # Times are checked below against our own clock, so that tests need not wait.
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[key.algorithm],
                audience=self._audience,
                issuer=self._issuer,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "verify_exp": False,
                    "verify_nbf": False,
                    "verify_iat": False,
                },
            )
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise Unauthenticated(f"the token is not valid: {_why(error)}") from None
        self._check_times(claims)
        return claims

    def _check_times(self, claims: dict[str, Any]) -> None:
        now = self._clock()
        expires = _number(claims, "exp")
        if now >= expires + LEEWAY_SECONDS:
            raise Unauthenticated("the token has expired")
        for name in ("nbf", "iat"):
            if name in claims and _number(claims, name) > now + LEEWAY_SECONDS:
                raise Unauthenticated(f"the token is not valid yet ({name} lies ahead)")


def _bearer(authorization: str | None) -> str:
    if not authorization:
        raise Unauthenticated("send a token: Authorization: Bearer <token>")
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise Unauthenticated("the Authorization header must be: Bearer <token>")
    if len(token) > MAX_TOKEN_CHARACTERS:
        raise Unauthenticated(f"the token is longer than {MAX_TOKEN_CHARACTERS} characters")
    return token


def _read_header(token: str) -> dict[str, Any]:
    """The token's header, after checking the form of all three parts."""
    if not _COMPACT.fullmatch(token) or not all(map(_is_canonical, token.split("."))):
        raise Unauthenticated("the token is malformed")
    try:
        header = json.loads(_decode(token.partition(".")[0]), object_pairs_hook=_no_duplicates)
    except (ValueError, RecursionError):
        raise Unauthenticated("the token is malformed") from None
    if not isinstance(header, dict) or _REFUSED_HEADERS & header.keys():
        raise Unauthenticated("the token's header asks for what is not supported")
    if str(header.get("typ", "JWT")).lower() not in _TYPES:
        raise Unauthenticated("the token is of another type")
    return header


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a name appears twice")
    return members


def _decode(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def _is_canonical(part: str) -> bool:
    """False for text that decodes to the same bytes as another: no second spelling of a token."""
    try:
        return base64.urlsafe_b64encode(_decode(part)).rstrip(b"=") == part.encode()
    except (binascii.Error, ValueError):
        return False


def _why(error: Exception) -> str:
    import jwt

    reasons: dict[type[Exception], str] = {
        jwt.InvalidSignatureError: "the signature does not match",
        jwt.InvalidAudienceError: "it is for another audience",
        jwt.InvalidIssuerError: "it is from another issuer",
    }
    if isinstance(error, jwt.MissingRequiredClaimError):
        return f"the claim {error.claim} is missing"
    return reasons.get(type(error), "it could not be read")


def _number(claims: dict[str, Any], name: str) -> float:
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unauthenticated(f"the claim {name} is not a number")
    return float(value)


def _agent(claims: dict[str, Any]) -> str:
    try:
        return _AGENT.validate_python(claims["sub"], strict=True)
    except ValidationError:
        raise Unauthenticated("the claim sub must name the agent in 1 to 255 characters") from None


def _scopes(claims: dict[str, Any]) -> frozenset[Scope]:
    """The scopes we know among those granted; other services' words are not ours to judge."""
    granted = claims.get("scope", "")
    words = granted.split() if isinstance(granted, str) else granted
    if not isinstance(words, list):
        raise Unauthenticated("the claim scope must be words separated by spaces")
    return frozenset(scope for scope in Scope if scope.value in words)


def check_secret(secret: bytes) -> bytes:
    """Refuse a secret that could be guessed."""
    if len(secret) < MIN_SECRET_BYTES:
        raise InvalidInput(
            f"the token secret has {len(secret)} bytes; at least {MIN_SECRET_BYTES} are needed "
            "(for example: openssl rand -hex 32)"
        )
    return secret


def make_token(
    secret: bytes,
    agent: str,
    *,
    scopes: frozenset[Scope] = frozenset(Scope),
    seconds: int = 86_400,
    issuer: str = ISSUER,
    audience: str = AUDIENCE,
    now: float | None = None,
) -> str:
    """A development token: HS256, signed with the server's own secret."""
    import jwt

    issued = int(time.time() if now is None else now)
    claims = {
        "iss": issuer,
        "aud": audience,
        "sub": _AGENT.validate_python(agent),
        "iat": issued,
        "exp": issued + seconds,
        "scope": " ".join(scope.value for scope in Scope if scope in scopes),
    }
    return jwt.encode(claims, check_secret(secret), algorithm="HS256", headers={"typ": "JWT"})
