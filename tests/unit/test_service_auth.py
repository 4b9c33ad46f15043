"""Who may call: tokens are believed for good reasons only."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.rpc_transports import serving
from waypost.exceptions import InvalidInput, ServiceUnavailable, Unauthenticated
from waypost.service.auth import LEEWAY_SECONDS, Authenticator, make_token
from waypost.service.caller import Caller, Scope
from waypost.service.keys import REFRESH_SECONDS, RETRY_SECONDS, Jwks, SharedSecret, read_jwks

SECRET = b"0123456789abcdef0123456789abcdef"
NOW = 1_800_000_000.0
CLAIMS = {"iss": "waypost", "aud": "waypost", "sub": "planner", "exp": NOW + 60, "scope": "read"}


class Clock:
    def __init__(self, now: float = NOW) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def authenticator(keys: Any = None, clock: Clock | None = None) -> Authenticator:
    return Authenticator(keys or SharedSecret(SECRET), clock=clock or Clock())


def signed(
    claims: dict[str, Any], key: Any = SECRET, algorithm: str = "HS256", **headers: Any
) -> str:
    return "Bearer " + jwt.encode(claims, key, algorithm=algorithm, headers=headers)


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


@pytest.fixture(scope="module")
def rsa_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, kid: str, **extra: Any) -> dict[str, Any]:
    algorithm: Any = jwt.algorithms.RSAAlgorithm
    if isinstance(key, ec.EllipticCurvePrivateKey):
        algorithm = jwt.algorithms.ECAlgorithm
    return json.loads(algorithm.to_jwk(key.public_key())) | {"kid": kid} | extra


def write_jwks(path: Path, *keys: dict[str, Any]) -> str:
    path.write_text(json.dumps({"keys": keys}))
    return str(path)


class TestATokenOfTheServersOwnSecret:
    async def test_names_the_agent_and_what_it_may_do(self) -> None:
        token = make_token(SECRET, "planner", scopes=frozenset({Scope.WRITE}), now=NOW)
        caller = await authenticator().authenticate(f"Bearer {token}")
        assert caller == Caller("planner", frozenset({Scope.WRITE}))
        assert caller.may(Scope.READ)
        assert not caller.may(Scope.ADMIN)

    async def test_without_scopes_allows_nothing(self) -> None:
        claims = {name: value for name, value in CLAIMS.items() if name != "scope"}
        caller = await authenticator().authenticate(signed(claims))
        assert not caller.may(Scope.READ)

    async def test_ignores_words_that_mean_something_elsewhere(self) -> None:
        caller = await authenticator().authenticate(signed(CLAIMS | {"scope": "email write x:y"}))
        assert caller.scopes == {Scope.WRITE}

    async def test_expires_after_the_leeway_also_when_it_was_known(self) -> None:
        clock = Clock()
        believing = authenticator(clock=clock)
        token = signed(CLAIMS)
        await believing.authenticate(token)
        clock.now = CLAIMS["exp"] + LEEWAY_SECONDS - 1
        await believing.authenticate(token)
        clock.now += 1
        with pytest.raises(Unauthenticated, match="expired"):
            await believing.authenticate(token)

    @pytest.mark.parametrize("claim", ["nbf", "iat"])
    async def test_is_refused_before_its_time(self, claim: str) -> None:
        await authenticator().authenticate(signed(CLAIMS | {claim: NOW + LEEWAY_SECONDS}))
        with pytest.raises(Unauthenticated, match="not valid yet"):
            await authenticator().authenticate(signed(CLAIMS | {claim: NOW + LEEWAY_SECONDS + 1}))

    def test_needs_a_secret_of_256_bits(self) -> None:
        with pytest.raises(InvalidInput, match="31 bytes; at least 32"):
            SharedSecret(SECRET[:31])
        with pytest.raises(InvalidInput):
            make_token(b"short", "planner")


class TestARefusal:
    @pytest.mark.parametrize("claim", ["exp", "iss", "aud", "sub"])
    async def test_names_the_claim_that_is_missing(self, claim: str) -> None:
        claims = {name: value for name, value in CLAIMS.items() if name != claim}
        with pytest.raises(Unauthenticated, match=claim):
            await authenticator().authenticate(signed(claims))

    @pytest.mark.parametrize(
        "claims",
        [
            {"iss": "someone"}, {"aud": "elsewhere"}, {"aud": ["a", "b"]}, {"sub": ""},
            {"sub": "x" * 256}, {"sub": "a\x00b"}, {"sub": 5}, {"sub": None}, {"exp": "soon"},
            {"exp": NOW - 3600}, {"exp": True}, {"exp": None}, {"scope": 5}, {"nbf": "x"},
        ],
    )  # fmt: skip
    async def test_meets_claims_that_do_not_fit(self, claims: dict[str, Any]) -> None:
        try:
            token = signed(CLAIMS | claims)
        except TypeError:  # the library refuses to make such a token; we still must refuse it
            head, body = part({"alg": "HS256"}), part(CLAIMS | claims)
            signature = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256).sign(
                f"{head}.{body}".encode(), SECRET
            )
            token = f"Bearer {head}.{body}.{part(signature)}"
        with pytest.raises(Unauthenticated):
            await authenticator().authenticate(token)

    @pytest.mark.parametrize(
        "header",
        ["", "Bearer", "Bearer ", "Basic abc", "abc", "Bearer a.b", "Bearer a.b.c.d", "Bearer ..",
         "Bearer " + "a" * 9000, "Bearer é.é.é", None],
    )  # fmt: skip
    async def test_meets_a_header_without_a_token(self, header: str | None) -> None:
        with pytest.raises(Unauthenticated):
            await authenticator().authenticate(header)

    @pytest.mark.parametrize(
        "headers",
        [{"jku": "https://evil.example"}, {"x5u": "https://evil.example"}, {"jwk": {"kty": "oct"}},
         {"x5c": []}, {"crit": ["exp"]}, {"typ": "dpop+jwt"}],
    )  # fmt: skip
    async def test_meets_headers_that_bring_their_own_keys(self, headers: dict[str, Any]) -> None:
        head = part({"alg": "HS256", "typ": "JWT"} | headers)
        body = part(CLAIMS)
        hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
        signature = part(hmac.sign(f"{head}.{body}".encode(), SECRET))
        with pytest.raises(Unauthenticated):
            await authenticator().authenticate(f"Bearer {head}.{body}.{signature}")

    @pytest.mark.parametrize(
        "algorithm", ["none", "None", "NONE", "nOnE", "HS384", "HS512", "RS256", ""]
    )
    async def test_meets_any_other_algorithm(self, algorithm: str) -> None:
        head, body = part({"alg": algorithm, "typ": "JWT"}), part(CLAIMS)
        for signature in ("", part(b"x"), part(b"x" * 32)):
            with pytest.raises(Unauthenticated):
                await authenticator().authenticate(f"Bearer {head}.{body}.{signature}")

    async def test_meets_a_thousand_mutations_of_a_good_token(self) -> None:
        good = make_token(SECRET, "planner", now=NOW)
        chance = random.Random(8725)
        believing = authenticator()
        await believing.authenticate(f"Bearer {good}")
        for _ in range(1000):
            with pytest.raises(Unauthenticated):
                await believing.authenticate(f"Bearer {mutated(good, chance)}")

    async def test_meets_a_second_spelling_of_a_signature(self) -> None:
        """The last of 43 characters has two unused bits: four spellings of the same bytes."""
        good = make_token(SECRET, "planner", now=NOW)
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        accepted = 0
        for last in alphabet:
            try:
                await authenticator().authenticate(f"Bearer {good[:-1]}{last}")
                accepted += 1
            except Unauthenticated:
                pass
        assert accepted == 1


def mutated(token: str, chance: random.Random) -> str:
    """The token with one thing changed: never the same text."""
    characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ \x00é"
    at = chance.randrange(len(token))
    changed = {
        "replace": token[:at] + chance.choice(characters) + token[at + 1 :],
        "insert": token[:at] + chance.choice(characters) + token[at:],
        "remove": token[:at] + token[at + 1 :],
        "cut": token[:at],
        "swap": token[at:] + token[:at],
        "case": token[:at] + token[at].swapcase() + token[at + 1 :],
        "parts": ".".join(chance.sample(token.split("."), 3)),
        "claims": _with_claims(token, {"sub": f"agent-{chance.random()}"}),
        "header": _with_header(token, {"alg": chance.choice(["none", "HS512", "RS256"])}),
        "padded": token + "=" * chance.randint(1, 3),
    }[chance.choice(["replace", "insert", "remove", "cut", "swap", "case", "parts", "claims",
                     "header", "padded"])]  # fmt: skip
    return changed if changed != token else token + "A"


def _with_claims(token: str, claims: dict[str, Any]) -> str:
    head, body, signature = token.split(".")
    read = json.loads(base64.urlsafe_b64decode(body + "=="))
    return f"{head}.{part(read | claims)}.{signature}"


def _with_header(token: str, header: dict[str, Any]) -> str:
    head, body, signature = token.split(".")
    read = json.loads(base64.urlsafe_b64decode(head + "=="))
    return f"{part(read | header)}.{body}.{signature}"


class TestKeysOfAJwks:
    async def test_verify_tokens_of_both_kinds(
        self, tmp_path: Path, rsa_key: Any, ec_key: Any
    ) -> None:
        keys = Jwks(write_jwks(tmp_path / "jwks", jwk(rsa_key, "r"), jwk(ec_key, "e")))
        believing = authenticator(keys)
        for key, kid, algorithm in ((rsa_key, "r", "RS256"), (ec_key, "e", "ES256")):
            caller = await believing.authenticate(signed(CLAIMS, key, algorithm, kid=kid))
            assert caller.agent == "planner"

    async def test_a_single_key_needs_no_name(self, tmp_path: Path, ec_key: Any) -> None:
        keys = Jwks(write_jwks(tmp_path / "jwks", jwk(ec_key, "e")))
        assert await authenticator(keys).authenticate(signed(CLAIMS, ec_key, "ES256"))

    @pytest.mark.parametrize("kid", ["other", "", "../../etc/passwd", "' OR 1=1 --", 5, ["r"], {}])
    async def test_an_unknown_name_is_refused(
        self, tmp_path: Path, rsa_key: Any, ec_key: Any, kid: Any
    ) -> None:
        keys = Jwks(write_jwks(tmp_path / "jwks", jwk(rsa_key, "r"), jwk(ec_key, "e")))
        head, body = part({"alg": "RS256", "kid": kid}), part(CLAIMS)
        with pytest.raises(Unauthenticated, match="not known"):
            await authenticator(keys).authenticate(f"Bearer {head}.{body}.{part(b'x' * 256)}")

    async def test_a_public_key_is_no_shared_secret(self, tmp_path: Path, rsa_key: Any) -> None:
        """The classic confusion: HS256 over the public key's own text."""
        keys = Jwks(write_jwks(tmp_path / "jwks", jwk(rsa_key, "r")))
        for encoding, form in (
            (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
            (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo),
            (serialization.Encoding.PEM, serialization.PublicFormat.PKCS1),
        ):
            secret = rsa_key.public_key().public_bytes(encoding, form)
            head, body = part({"alg": "HS256", "kid": "r", "typ": "JWT"}), part(CLAIMS)
            hmac = jwt.algorithms.HMACAlgorithm(jwt.algorithms.HMACAlgorithm.SHA256)
            signature = part(hmac.sign(f"{head}.{body}".encode(), secret))
            with pytest.raises(Unauthenticated, match="algorithm"):
                await authenticator(keys).authenticate(f"Bearer {head}.{body}.{signature}")

    async def test_a_key_is_bound_to_its_algorithm(self, tmp_path: Path, rsa_key: Any) -> None:
        keys = Jwks(write_jwks(tmp_path / "jwks", jwk(rsa_key, "r")))
        for algorithm in ("RS384", "RS512", "PS256"):
            with pytest.raises(Unauthenticated, match="algorithm"):
                await authenticator(keys).authenticate(signed(CLAIMS, rsa_key, algorithm, kid="r"))

    async def test_old_and_new_overlap_during_rotation(
        self, tmp_path: Path, rsa_key: Any, ec_key: Any
    ) -> None:
        clock = Clock()
        path = tmp_path / "jwks"
        keys = Jwks(write_jwks(path, jwk(rsa_key, "old")), clock=clock)
        believing = authenticator(keys)
        old, new = (
            signed(CLAIMS, rsa_key, "RS256", kid="old"),
            signed(CLAIMS, ec_key, "ES256", kid="new"),
        )
        await believing.authenticate(old)

        write_jwks(path, jwk(rsa_key, "old"), jwk(ec_key, "new"))
        clock.now += RETRY_SECONDS
        await believing.authenticate(new)
        await believing.authenticate(old)

        write_jwks(path, jwk(ec_key, "new"))
        clock.now += REFRESH_SECONDS
        with pytest.raises(Unauthenticated, match="not known"):
            await believing.authenticate(old)

    async def test_are_fetched_from_an_address_and_followed_when_they_change(
        self, rsa_key: Any, ec_key: Any
    ) -> None:
        published = {"keys": [jwk(rsa_key, "old")]}

        async def document(request: Request) -> JSONResponse:
            return JSONResponse(published)

        clock = Clock()
        old = signed(CLAIMS, rsa_key, "RS256", kid="old")
        new = signed(CLAIMS, ec_key, "ES256", kid="new")
        async with serving(Starlette(routes=[Route("/jwks.json", document)])) as address:
            believing = authenticator(Jwks(f"{address}/jwks.json", clock=clock))
            await believing.authenticate(old)
            published["keys"] = [jwk(ec_key, "new")]
            clock.now += REFRESH_SECONDS
            await believing.authenticate(new)
            with pytest.raises(Unauthenticated, match="not known"):
                await believing.authenticate(old)
        clock.now += REFRESH_SECONDS
        await believing.authenticate(new)  # the address is gone, the keys it gave are not

    async def test_unknown_names_do_not_make_it_read_again_and_again(
        self, tmp_path: Path, ec_key: Any, rsa_key: Any
    ) -> None:
        clock = Clock()
        path = tmp_path / "jwks"
        keys = Jwks(write_jwks(path, jwk(ec_key, "e")), clock=clock)
        await keys.find("e")
        write_jwks(path, jwk(rsa_key, "r"))
        clock.now += RETRY_SECONDS - 1
        with pytest.raises(Unauthenticated):
            await keys.find("r")
        clock.now += 1
        assert (await keys.find("r")).algorithm == "RS256"

    async def test_a_document_that_goes_away_leaves_the_keys_it_gave(
        self, tmp_path: Path, ec_key: Any
    ) -> None:
        clock = Clock()
        path = tmp_path / "jwks"
        keys = Jwks(write_jwks(path, jwk(ec_key, "e")), clock=clock)
        await keys.find("e")
        for damage in (path.unlink, lambda: path.write_text("{"), lambda: write_jwks(path)):
            damage()
            clock.now += REFRESH_SECONDS
            assert (await keys.find("e")).algorithm == "ES256"

    async def test_a_document_that_was_never_there_is_no_reason_to_refuse_for_good(
        self, tmp_path: Path
    ) -> None:
        with pytest.raises(ServiceUnavailable) as refused:
            await Jwks(str(tmp_path / "none")).find("e")
        assert refused.value.retryable

    @pytest.mark.parametrize(
        "document",
        [b"", b"[]", b"{}", b'{"keys": 5}', b'{"keys": [5]}', b'{"keys": []}',
         b'{"keys": [{"kty": "oct", "k": "AAAA"}]}', b'{"keys": [{"kty": "RSA"}]}',
         b'{"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]}'],
    )  # fmt: skip
    def test_an_unusable_document_is_refused(self, document: bytes) -> None:
        with pytest.raises(InvalidInput):
            read_jwks(document)

    def test_a_weak_key_is_refused(self) -> None:
        weak = rsa.generate_private_key(public_exponent=65537, key_size=1024)
        with pytest.raises(InvalidInput, match="2048"):
            read_jwks(json.dumps({"keys": [jwk(weak, "w")]}).encode())

    def test_keys_for_other_uses_are_left_out(self, rsa_key: Any, ec_key: Any) -> None:
        entries = [jwk(rsa_key, "r", use="enc"), jwk(rsa_key, "p", alg="PS256"), jwk(ec_key, "e")]
        assert list(read_jwks(json.dumps({"keys": entries}).encode())) == ["e"]

    @pytest.mark.parametrize(
        "location", ["http://keys.example/jwks", "ftp://x/jwks", "http://10.0.0.1"]
    )
    def test_only_https_is_fetched_from_afar(self, location: str) -> None:
        with pytest.raises(InvalidInput):
            Jwks(location)


def test_private_parts_of_a_jwk_are_never_loaded(rsa_key: PrivateKeyTypes) -> None:
    private = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(rsa_key)) | {"kid": "r"}
    private.pop("key_ops", None)
    key = read_jwks(json.dumps({"keys": [private]}).encode())["r"].key
    assert isinstance(key, rsa.RSAPublicKey)
