"""Tokens of other issuers: which are accepted, whom they name, where their keys come from."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import ValidationError

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConfigurationError, TransientError, UnauthenticatedError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.json_web_tokens import MAX_KEY_SET_BYTES, JsonWebTokens, KeySet
from tests.support.token_issuer import AUDIENCE, ISSUER, TOKEN_SECRET, TokenIssuer, new_key, token_claims

USER = uuid4()


@pytest.fixture
def issuer() -> Iterator[TokenIssuer]:
    with TokenIssuer() as running:
        yield running


@pytest.fixture
def tokens(issuer: TokenIssuer) -> JsonWebTokens:
    """Takes both kinds."""
    return verifier(secret=TOKEN_SECRET, keys=KeySet(issuer.url, 300.0))


def verifier(**more: Any) -> JsonWebTokens:
    return JsonWebTokens(AUDIENCE, ISSUER, leeway_seconds=5.0, most_seconds=3600.0, **more)


def shared(claims: dict[str, Any], secret: str = TOKEN_SECRET, algorithm: str = "HS256", **headers: Any) -> str:
    return jwt.encode(claims, secret, algorithm, headers=headers)


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_genuine_tokens_are_accepted(tokens: JsonWebTokens, issuer: TokenIssuer) -> None:
    claims = token_claims(USER)
    for token in (issuer.sign(claims), shared(claims), shared(claims | {"aud": ["others", AUDIENCE]})):
        assert tokens.verify(token)["sub"] == str(USER)
    assert issuer.fetches == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": None},
        {"exp": 0},
        {"exp": int(time.time()) - 60},
        {"exp": int(time.time()) + 100_000},
        {"exp": "soon"},
        {"exp": 1e300},
        {"exp": float("inf")},
        {"exp": []},
        {"exp": str(int(time.time()) + 100_000)},
        {"nbf": int(time.time()) + 100_000},
        {"iat": int(time.time()) + 100_000},
        {"aud": None},
        {"aud": "others"},
        {"aud": []},
        {"iss": None},
        {"iss": "https://issuer.example.evil"},
        {"iss": [ISSUER]},
        {"sub": None},
        {"sub": 7},
    ],
)
def test_wrong_audience_or_time(tokens: JsonWebTokens, issuer: TokenIssuer, changes: dict[str, Any]) -> None:
    claims = token_claims(USER, **changes)
    for sign in (issuer.sign, lambda c: jwt.api_jws.encode(json.dumps(c).encode(), TOKEN_SECRET, "HS256")):
        try:
            token = sign(claims)
        except (TypeError, OverflowError):  # the library will not even sign it
            continue
        with pytest.raises(UnauthenticatedError):
            tokens.verify(token)


def test_algorithm_must_match_key(tokens: JsonWebTokens, issuer: TokenIssuer) -> None:
    claims = token_claims(USER)
    public = issuer.keys["first"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    unsigned = f"{part({'alg': 'HS256', 'typ': 'JWT', 'kid': 'first'})}.{part(claims)}"
    by_public_key = base64.urlsafe_b64encode(hmac.new(public, unsigned.encode(), hashlib.sha256).digest())
    header, payload, signature = issuer.sign(claims).split(".")
    for token in (
        f"{part({'alg': 'none'})}.{part(claims)}.",
        f"{part({'alg': 'None'})}.{part(claims)}.",
        f"{unsigned}.{by_public_key.decode().rstrip('=')}",
        f"{part({'alg': 'HS256', 'kid': 'first'})}.{payload}.{signature}",
        shared(claims, algorithm="HS384"),
        shared(claims, algorithm="HS512"),
        shared(claims, secret="a secret that somebody guessed, long enough"),
        jwt.encode(claims, issuer.keys["first"], "RS512", headers={"kid": "first"}),
        jwt.encode(claims, issuer.keys["first"], "PS256", headers={"kid": "first"}),
        jwt.encode(claims, new_key(), "RS256", headers={"kid": "first"}),
        jwt.encode(claims, new_key(), "RS256", headers={"jwk": {"kty": "RSA"}, "jku": "http://127.0.0.1:1/"}),
        f"{header}.{part(claims | {'sub': str(uuid4())})}.{signature}",
        f"{header}.{payload}.",
        f"{header}.{payload}",
        "..",
        "",
        "ng",
        "\ud800.\x00.é",
        "a" * 100_000,
        f"{base64.urlsafe_b64encode(b'[' * 40_000).decode()}.{part(claims)}.",
        ".".join([part({"alg": "HS256", "crit": ["b64"], "b64": False}), part(claims), ""]),
    ):
        with pytest.raises(UnauthenticatedError):
            tokens.verify(token)
    for one, other in ((verifier(secret=TOKEN_SECRET), issuer.sign(claims)), (verifier(), shared(claims))):
        with pytest.raises(UnauthenticatedError):
            one.verify(other)


def test_keys_are_cached_and_refreshed(issuer: TokenIssuer) -> None:
    kept, looking = KeySet(issuer.url, 300.0), KeySet(issuer.url, 300.0, least_seconds=0.0)
    claims = token_claims(USER)
    for keys in (kept, looking):
        assert verifier(keys=keys).verify(issuer.sign(claims))
    issuer.keys["second"] = new_key()
    assert verifier(keys=looking).verify(issuer.sign(claims, "second"))
    assert issuer.fetches == 3
    for _ in range(50):  # an unknown key makes nobody fetch again and again
        with pytest.raises(UnauthenticatedError):
            verifier(keys=kept).verify(issuer.sign(claims, "second"))
    assert issuer.fetches == 3


def test_withdrawn_key_ends_with_refresh(issuer: TokenIssuer) -> None:
    tokens = verifier(keys=KeySet(issuer.url, 0.0, least_seconds=0.0))
    claims = token_claims(USER)
    assert tokens.verify(issuer.sign(claims))
    issuer.keys["second"] = new_key()
    issuer.withheld.add("first")
    with pytest.raises(UnauthenticatedError):
        tokens.verify(issuer.sign(claims))


def test_stale_keys_admit_nobody(issuer: TokenIssuer) -> None:
    tokens = verifier(keys=KeySet(issuer.url, 0.0))
    claims = token_claims(USER)
    assert tokens.verify(issuer.sign(claims))
    with pytest.raises(TransientError):
        tokens.verify(issuer.sign(claims))


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"", {}),
        (302, b"", {"Location": "http://127.0.0.1:1/keys"}),
        (200, b"not json", {}),
        (200, b"[]", {}),
        (200, b'{"keys": "none"}', {}),
        (200, b'{"keys": []}', {}),
        (200, b'{"keys": [{"kty": "oct", "k": "c2VjcmV0", "kid": "first"}]}', {}),
        (200, b"\xff\xfe", {}),
        (200, b" " * (MAX_KEY_SET_BYTES + 1), {}),
    ],
)
def test_invalid_key_set_admits_nobody(issuer: TokenIssuer, answer: tuple[int, bytes, dict[str, str]]) -> None:
    issuer.answer = answer
    tokens = verifier(keys=KeySet(issuer.url, 300.0))
    with pytest.raises((TransientError, UnauthenticatedError)):
        tokens.verify(issuer.sign(token_claims(USER)))
    assert issuer.fetches == 1


@pytest.mark.parametrize(
    ("changes", "genuine"),
    [
        ({}, True),
        ({"use": None}, True),
        ({"use": "enc"}, False),
        ({"alg": "RS512"}, False),
    ],
)
def test_only_signing_keys_verify(issuer: TokenIssuer, changes: dict[str, Any], genuine: bool) -> None:
    """A key of the set for other purposes may be in other hands."""
    (key,) = json.loads(issuer.key_set())["keys"]
    shown = {name: value for name, value in (key | changes).items() if value is not None}
    issuer.answer = (200, json.dumps({"keys": [shown]}).encode(), {})
    checked = verifier(keys=KeySet(issuer.url, 300.0))
    token = issuer.sign(token_claims(USER))
    if genuine:
        assert checked.verify(token)["sub"] == str(USER)
    else:
        with pytest.raises(UnauthenticatedError):
            checked.verify(token)


def test_key_set_needs_https_or_loopback() -> None:
    for url in (
        "http://issuer.example/keys",
        "ftp://localhost/keys",
        "file:///etc/passwd",
        "keys",
        "https://",
        "http://[::1",
    ):
        with pytest.raises(ConfigurationError):
            KeySet(url, 300.0)
    for url in ("https://issuer.example/keys", "http://localhost:1/keys", "http://[::1]:1/keys"):
        KeySet(url, 300.0)


def test_token_subjects(shared_installation: Installation) -> None:
    database, tokens = shared_installation.database, verifier(secret=TOKEN_SECRET)
    persona = uuid4()

    def claims_of(**changes: Any) -> Claims:
        return authenticate(database, shared(token_claims(USER, **changes)), tokens)

    assert claims_of() == claims_of(role="user") == Claims.of_user(USER)
    assert claims_of(sub="auth0|7", user_id=str(USER)) == Claims.of_user(USER)
    assert claims_of(role="persona", sub=str(persona).upper(), user_id=str(USER)) == Claims(
        str(persona), "persona", USER
    )
    assert claims_of(role="third_party", sub="gmail", user_id=str(USER)) == Claims("gmail", "third_party", USER)
    for changes in (
        {"sub": "auth0|7"},
        {"role": "persona"},
        {"role": "persona", "sub": "legal", "user_id": str(USER)},
        {"role": "third_party"},
        {"role": "third_party", "sub": "", "user_id": str(USER)},
        {"role": "third_party", "sub": "a\x00b", "user_id": str(USER)},
        {"role": "third_party", "sub": "gmail", "user_id": "'; --"},
        {"role": "neurigraph_owner", "user_id": str(USER)},
        {"role": "authenticated", "user_id": str(USER)},
        {"role": "visitor", "sub": "gmail", "user_id": str(USER)},
        {"role": ["user"]},
        {"user_id": {"a": 1}},
    ):
        with pytest.raises(UnauthenticatedError):
            claims_of(**changes)
    with pytest.raises(UnauthenticatedError):
        authenticate(database, shared(token_claims(USER)))


def test_unsafe_settings_are_refused(settings: Settings) -> None:
    whole = {"jwt_secret": TOKEN_SECRET, "jwt_audience": AUDIENCE, "jwt_issuer": ISSUER}
    given = {"home": settings.home, "database_url": settings.database.url, "secret": settings.secret}
    assert Settings.model_validate(given | whole).jwt.issuer == ISSUER
    for changes in ({"jwt_audience": None}, {"jwt_issuer": None}, {"jwt_secret": "short"}, {"jwt_audience": ""}):
        with pytest.raises(ValidationError):
            Settings.model_validate(given | whole | changes)
    far = Settings.model_validate(given | {"jwt_jwks_url": "http://issuer.example/", **whole})
    with Installation(far) as made, pytest.raises(ConfigurationError):
        assert made.token_verifier
    with Installation(Settings.model_validate(given)) as made:
        assert made.token_verifier is None
