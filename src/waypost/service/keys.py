"""Where the keys that verify tokens come from: a shared secret, or a JWKS.

A ``KeySource`` finds the key for a ``kid`` and counts generations: the number grows
whenever the set of keys changes, so nothing verified with a withdrawn key is
trusted any longer. During rotation the old and the new key stand side by side in
the set. A JWKS that cannot be read keeps the keys it gave before.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from waypost.exceptions import InvalidInput, ServiceUnavailable, Unauthenticated
from waypost.service.auth import check_secret

REFRESH_SECONDS = 300.0
RETRY_SECONDS = 10.0
MAX_JWKS_BYTES = 1_000_000
MIN_RSA_BITS = 2048
_ALGORITHMS = {("RSA", None): "RS256", ("EC", "P-256"): "ES256"}


@dataclass(frozen=True, slots=True)
class VerificationKey:
    """A key with the one algorithm it may be used with."""

    algorithm: str
    key: Any


class KeySource(Protocol):
    @property
    def generation(self) -> int:
        """Grows when keys were added or withdrawn."""
        ...

    async def keep_fresh(self) -> None:
        """Read the keys again when that is due; called for every token, so usually nothing."""
        ...

    async def find(self, kid: Any) -> VerificationKey:
        """The key for this ``kid`` (any JSON value, or None); Unauthenticated if there is none."""
        ...


class SharedSecret:
    """One HS256 secret, for development and for tests."""

    generation = 0

    def __init__(self, secret: bytes) -> None:
        self._key = VerificationKey("HS256", check_secret(secret))

    async def keep_fresh(self) -> None:
        pass

    async def find(self, kid: Any) -> VerificationKey:
        return self._key


class Jwks:
    """The keys of a JWKS document, read from a file or an https address and kept fresh."""

    def __init__(self, location: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._location = _check_location(location)
        self._clock = clock
        self._keys: dict[str, VerificationKey] = {}
        self._document = b""
        self._loaded: float | None = None
        self._tried: float | None = None
        self._lock = asyncio.Lock()
        self.generation = 0

    async def keep_fresh(self) -> None:
        if self._older_than(self._loaded, REFRESH_SECONDS):
            await self._refresh()

    async def find(self, kid: Any) -> VerificationKey:
        await self.keep_fresh()
        key = self._look_up(kid)
        if key is None:
            await self._refresh()
            key = self._look_up(kid)
        if key is None:
            raise Unauthenticated("the token is signed with a key that is not known here")
        return key

    def _look_up(self, kid: Any) -> VerificationKey | None:
        if kid is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(kid) if isinstance(kid, str) else None

    def _older_than(self, moment: float | None, seconds: float) -> bool:
        return moment is None or self._clock() - moment >= seconds

    async def _refresh(self) -> None:
        """Read the document again, but not more often than unknown keys may make us."""
        async with self._lock:
            if not self._older_than(self._tried, RETRY_SECONDS):
                return
            self._tried = self._clock()
            try:
                document = await self._read()
                keys = read_jwks(document)
            except (OSError, InvalidInput) as error:
                if not self._keys:
                    raise ServiceUnavailable("the signing keys cannot be read now") from error
                return
            self._loaded = self._clock()
            if document != self._document:
                self._document, self._keys = document, keys
                self.generation += 1

    async def _read(self) -> bytes:
        if self._location.startswith(("https://", "http://")):
            return await _fetch(self._location)
        return await asyncio.to_thread(Path(self._location).read_bytes)


async def _fetch(url: str) -> bytes:
    import httpx2

    try:
        async with httpx2.AsyncClient(timeout=5, follow_redirects=False) as client:
            response = await client.get(url)
            response.raise_for_status()
            return response.content[: MAX_JWKS_BYTES + 1]
    except httpx2.HTTPError as error:
        raise OSError(f"the JWKS could not be fetched: {type(error).__name__}") from error


def _check_location(location: str) -> str:
    parts = urlsplit(location)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise InvalidInput("a JWKS is fetched over https; plain http is for loopback only")
    if parts.scheme not in ("http", "https", "file", "") and len(parts.scheme) > 1:
        raise InvalidInput(f"a JWKS is a file or an https address, not {parts.scheme}:")
    return parts.path if parts.scheme == "file" else location


def is_loopback(host: str) -> bool:
    """True when only this machine can reach the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_jwks(document: bytes) -> dict[str, VerificationKey]:
    """The usable keys by their kid. A document with no usable key, or a weak one, is refused."""
    if len(document) > MAX_JWKS_BYTES:
        raise InvalidInput("the JWKS is too large")
    try:
        entries = json.loads(document)["keys"]
        keys = {str(entry.get("kid", "")): _read_key(entry) for entry in entries if _signs(entry)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidInput(f"the JWKS cannot be read: {error}") from None
    if not keys:
        raise InvalidInput("the JWKS has no RSA or P-256 key for signatures")
    return keys


def _signs(entry: dict[str, Any]) -> bool:
    return (
        entry.get("use", "sig") == "sig"
        and (entry.get("kty"), entry.get("crv")) in _ALGORITHMS
        and entry.get("alg", _algorithm(entry)) == _algorithm(entry)
    )


def _algorithm(entry: dict[str, Any]) -> str:
    return _ALGORITHMS[(str(entry.get("kty")), entry.get("crv"))]


def _read_key(entry: dict[str, Any]) -> VerificationKey:
    import jwt

    algorithm = _algorithm(entry)
    public = {
        name: value for name, value in entry.items() if name in ("kty", "crv", "n", "e", "x", "y")
    }
    try:
        key = jwt.PyJWK(public, algorithm=algorithm).key
    except jwt.PyJWTError as error:
        raise InvalidInput(f"a key of the JWKS cannot be used: {error}") from None
    if algorithm == "RS256" and key.key_size < MIN_RSA_BITS:
        raise InvalidInput(f"an RSA key of the JWKS has fewer than {MIN_RSA_BITS} bits")
    return VerificationKey(algorithm, key)
