"""Attacks on authentication: forged, stolen, expired and altered API keys and tokens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

import httpx
import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from jwt.algorithms import RSAAlgorithm
from pydantic import SecretStr

from neurigraph_pipelines.access.authentication import api_key_hash, authenticate
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.model.errors import UnauthenticatedError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.access import Key
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ADMIN_KEY, SECRET
from tests.support.api_server import serving
from tests.support.two_users import World

pytestmark = pytest.mark.attack

AUDIENCE, ISSUER, SHARED = "neurigraph", "https://issuer.example", "a secret that the issuer shares with us"
TRUSTED = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
STRANGER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
PUBLIC_PEM = TRUSTED.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)


class KeyServer(ThreadingHTTPServer):
    """A key server that returns one key and logs requests."""

    def __init__(self, key: rsa.RSAPrivateKey = TRUSTED) -> None:
        super().__init__(("127.0.0.1", 0), _Keys)
        self.key = key
        self.asked: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Keys(BaseHTTPRequestHandler):
    server: KeyServer

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        key = json.loads(RSAAlgorithm.to_jwk(self.server.key.public_key())) | {
            "kid": "k1",
            "use": "sig",
            "alg": "RS256",
        }
        body = json.dumps({"keys": [key]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Nothing to print."""


def running(server: KeyServer) -> Iterator[KeyServer]:
    with server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def key_server() -> Iterator[KeyServer]:
    yield from running(KeyServer())


def client_settings(world: World, key_server: KeyServer) -> Settings:
    """Settings that trust tokens of one issuer, by both algorithms."""
    return world.installation.settings.changed(
        jwt_audience=AUDIENCE,
        jwt_issuer=ISSUER,
        jwt_secret=SecretStr(SHARED),
        jwt_jwks_url=f"{key_server.address}/keys",
    )


@pytest.fixture(scope="module")
def client(world: World, key_server: KeyServer) -> Iterator[httpx.Client]:
    with (
        Installation(client_settings(world, key_server)) as other,
        serving(other) as address,
        httpx.Client(base_url=address, timeout=60) as made,
    ):
        yield made


def said(world: World, **changes: Any) -> dict[str, Any]:
    """Return the claims of a valid token of Alice, with changes; None removes a claim."""
    claims = {
        "sub": str(world.alice.user_id), "aud": AUDIENCE, "iss": ISSUER, "exp": int(time.time()) + 60, **changes
    }  # fmt: skip
    return {name: value for name, value in claims.items() if value is not None}


def by_secret(claims: dict[str, Any], secret: str = SHARED, **headers: Any) -> str:
    return jwt.encode(claims, secret, "HS256", headers=headers)


def by_key(claims: dict[str, Any], key: Any = TRUSTED, algorithm: str = "RS256", **headers: Any) -> str:
    return jwt.encode(claims, key, algorithm, headers={"kid": "k1", **headers})


def part(value: Any) -> str:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def by_hand(header: Any, claims: Any, sign: Callable[[bytes], bytes]) -> str:
    """A token that no library would make."""
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{part(sign(signed.encode()))}"


def status(client: httpx.Client, token: str) -> int:
    return client.get("/v1/tree", headers=[(b"Authorization", b"Bearer " + token.encode())]).status_code


def test_genuine_tokens_are_accepted(world: World, client: httpx.Client) -> None:
    """The control for the tests below."""
    assert status(client, by_secret(said(world))) == 200
    assert status(client, by_key(said(world))) == 200


# Tokens of others


def hmac_of(key: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.new(key, signed, hashlib.sha256).digest()


FORGED: dict[str, Callable[[World], str]] = {
    "no signature": lambda world: by_hand({"alg": "none", "typ": "JWT"}, said(world), lambda _: b""),
    "no signature, in capitals": lambda world: by_hand({"alg": "NONE"}, said(world), lambda _: b""),
    "no signature, mixed": lambda world: by_hand({"alg": "nOnE"}, said(world), lambda _: b""),
    "an empty signature": lambda world: by_hand({"alg": "HS256"}, said(world), lambda _: b""),
    "no algorithm": lambda world: by_hand({"typ": "JWT"}, said(world), hmac_of(SHARED.encode())),
    "an algorithm that is no text": lambda world: by_hand({"alg": ["HS256"]}, said(world), hmac_of(SHARED.encode())),
    "the public key as a secret": lambda world: by_hand(
        {"alg": "HS256", "kid": "k1"}, said(world), hmac_of(PUBLIC_PEM)
    ),
    "the modulus as a secret": lambda world: by_hand(
        {"alg": "HS256", "kid": "k1"}, said(world), hmac_of(str(TRUSTED.public_key().public_numbers().n).encode())
    ),
    "an empty secret": lambda world: by_hand({"alg": "HS256"}, said(world), hmac_of(b"")),
    "the installation's secret": lambda world: by_secret(said(world), SECRET),
    "the admin key as a secret": lambda world: by_secret(said(world), ADMIN_KEY),
    "another secret": lambda world: by_secret(said(world), "a secret that somebody guessed, long enough"),
    "HS384": lambda world: jwt.encode(said(world), SHARED * 2, "HS384"),
    "RS512 by the trusted key": lambda world: by_key(said(world), algorithm="RS512"),
    "PS256 by the trusted key": lambda world: by_key(said(world), algorithm="PS256"),
    "ES256": lambda world: by_key(said(world), ec.generate_private_key(ec.SECP256R1()), "ES256"),
    "a stranger's key under the trusted id": lambda world: by_key(said(world), STRANGER),
    "a stranger's key under another id": lambda world: by_key(said(world), STRANGER, kid="k2"),
    "an id that is a path": lambda world: by_hand(
        {"alg": "HS256", "kid": "../../../dev/null"}, said(world), hmac_of(b"")
    ),
    "an id that is SQL": lambda world: by_key(said(world), STRANGER, kid="' OR 1=1 --"),
    "a key in its header": lambda world: by_key(
        said(world), STRANGER, jwk=json.loads(RSAAlgorithm.to_jwk(STRANGER.public_key()))
    ),
    "a part that must be understood": lambda world: by_hand(
        {"alg": "HS256", "crit": ["x"], "x": 1}, said(world), hmac_of(SHARED.encode())
    ),
    "a changed user": lambda world: (
        by_secret(said(world)).split(".")[0]
        + "." + part(said(world, sub=str(world.bob.user_id)))
        + "." + by_secret(said(world)).split(".")[2]
    ),
    "a signature that is cut": lambda world: by_secret(said(world))[:-4],
    "expired": lambda world: by_secret(said(world, exp=int(time.time()) - 60)),
    "expired long ago": lambda world: by_key(said(world, exp=0)),
    "never expiring": lambda world: by_secret(said(world, exp=None)),
    "good for years": lambda world: by_secret(said(world, exp=int(time.time()) + 400 * 86_400)),
    "good for ever": lambda world: by_hand(
        {"alg": "HS256"}, json.dumps(said(world)).replace("}", ', "exp": 1e400}').encode(), hmac_of(SHARED.encode())
    ),
    "an expiry that is no number": lambda world: by_secret(said(world, exp="tomorrow")),
    "not good yet": lambda world: by_secret(said(world, nbf=int(time.time()) + 600)),
    "issued in the future": lambda world: by_secret(said(world, iat=int(time.time()) + 600)),
    "for another service": lambda world: by_secret(said(world, aud="another service")),
    "for nobody": lambda world: by_secret(said(world, aud=None)),
    "for a service whose name begins like ours": lambda world: by_secret(said(world, aud="neurigraph.mallory.example")),
    "of another issuer": lambda world: by_secret(said(world, iss="https://mallory.example")),
    "of an issuer whose name begins like theirs": lambda world: by_secret(said(world, iss=f"{ISSUER}.mallory.example")),
    "of nobody": lambda world: by_secret(said(world, iss=None)),
    "about nobody": lambda world: by_secret(said(world, sub=None)),
    "about somebody who is no id": lambda world: by_secret(said(world, sub="alice")),
    "of an owner's role": lambda world: by_secret(said(world, role="neurigraph_owner")),
    "of a role that is no text": lambda world: by_hand(
        {"alg": "HS256"}, said(world, role=["user"]), hmac_of(SHARED.encode())
    ),
    "of a persona that is no id": lambda world: by_secret(
        said(world, role="persona", sub="x", user_id=str(world.alice.user_id))
    ),
    "a list": lambda world: by_hand({"alg": "HS256"}, [said(world)], hmac_of(SHARED.encode())),
    "a thousand brackets": lambda world: by_hand(b"[" * 30_000, said(world), hmac_of(SHARED.encode())),
    "brackets in its header": lambda world: by_hand(
        b'{"alg": "HS256", "x": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", said(world), hmac_of(SHARED.encode())
    ),
    "nothing": lambda _: "..",
    "many dots": lambda _: "." * 10_000,
    "no text": lambda _: "\u00e4\u00f6\u00fc.\u00df.\u00ff",
}  # fmt: skip


@pytest.mark.parametrize("token", FORGED)
def test_forged_token(world: World, client: httpx.Client, token: str) -> None:
    assert status(client, FORGED[token](world)) == 401


def test_genuine_token_opens_no_other_user(world: World, client: httpx.Client) -> None:
    """A genuine token opens only what it names."""
    for more in ({"user_id": str(world.bob.user_id), "role": "persona", "sub": str(world.alice.root_node_id)},
                 {"user_id": str(world.bob.user_id), "role": "third_party", "sub": str(world.alice.user_id)},
                 {"sub": str(uuid4())}):  # fmt: skip
        token = by_secret(said(world, **more))
        answer = client.post("/v1/search", json={"query": "I met"}, headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 404 or answer.json()["hits"] == []
    own = client.post(
        "/v1/search", json={"query": "I met"}, headers={"Authorization": f"Bearer {by_secret(said(world))}"}
    )
    assert own.json()["hits"] != []


@pytest.fixture
def mallorys() -> Iterator[KeyServer]:
    """A key server that would vouch for the stranger."""
    yield from running(KeyServer(STRANGER))


@pytest.mark.parametrize("header", ["jku", "x5u", "kid", "iss"])
def test_token_naming_its_own_key(
    world: World, client: httpx.Client, key_server: KeyServer, mallorys: KeyServer, header: str
) -> None:
    """Keys are fetched from the configured address and from no other."""
    claims = said(world, iss=mallorys.address) if header == "iss" else said(world)
    token = by_key(claims, STRANGER, **({} if header == "iss" else {header: f"{mallorys.address}/keys"}))
    assert status(client, token) == 401
    assert mallorys.asked == []
    assert set(key_server.asked) <= {"/keys"}
    assert status(client, by_key(said(world), TRUSTED)) == 200
    settings = client_settings(world, mallorys)
    with Installation(settings) as other, serving(other) as address:
        answer = httpx.get(f"{address}/v1/tree", headers={"Authorization": f"Bearer {by_key(said(world), STRANGER)}"})
    assert answer.status_code == 200, "where the address is configured, the stranger's key is good"
    assert mallorys.asked == ["/keys"]


def test_unknown_key_ids_cause_one_fetch(world: World, client: httpx.Client, key_server: KeyServer) -> None:
    status(client, by_key(said(world)))
    asked = len(key_server.asked)
    for number in range(50):
        assert status(client, by_key(said(world), STRANGER, kid=f"unknown {number}")) == 401
    assert len(key_server.asked) <= asked + 1


def test_refusals_give_no_reason(world: World, client: httpx.Client) -> None:
    responses = {
        client.get("/v1/tree", headers={"Authorization": f"Bearer {FORGED[name](world)}", "X-Request-Id": "one"}).text
        for name in ("another secret", "expired", "for another service", "no signature", "a changed user")
    }
    assert len(responses) == 1


# API keys


def good_key(world: World, **more: Any) -> tuple[Key, str]:
    return sharing.issue_key(world.installation.database, world.alices, **more)


def test_revoked_key(world: World, client: httpx.Client) -> None:
    issued, key = good_key(world)
    assert status(client, key) == 200
    sharing.revoke_key(world.installation.database, world.alices, issued.key_id)
    assert status(client, key) == 401


def test_rotated_key(world: World, client: httpx.Client) -> None:
    issued, key = good_key(world)
    assert status(client, key) == 200
    _, renewed = sharing.rotate_key(world.installation.database, world.alices, issued.key_id)
    assert (status(client, key), status(client, renewed)) == (401, 200)


def test_expired_key(world: World, client: httpx.Client) -> None:
    issued, key = good_key(world)
    assert status(client, key) == 200
    with world.installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.api_keys SET expires_at = now() - interval '1 second' WHERE key_id = %s", [issued.key_id]
        )
    assert status(client, key) == 401


@pytest.mark.parametrize(
    "change",
    [
        lambda key: key[:-1],
        lambda key: key + "A",
        lambda key: key[:3] + key[3:].swapcase(),
        lambda key: key[:-1] + ("A" if key[-1] != "A" else "B"),
        lambda key: key[:45] + ("A" if key[45] != "A" else "B") + key[46:],
        lambda key: key[:3] + key[3:46].swapcase() + key[46:],
        lambda key: key.removeprefix("ng_"),
        lambda key: key[3:46],
        lambda key: "ng_" + hashlib.sha256(key.encode()).hexdigest(),
        lambda key: key + "\u00a0",
        lambda _: "ng_%",
        lambda _: "ng_",
        lambda _: ADMIN_KEY,
    ],
    ids=[
        "cut",
        "longer",
        "in other case",
        "of another end",
        "of another secret",
        "of a secret in other case",
        "without its beginning",
        "the secret without its beginning",
        "its hash",
        "a blank",
        "a wildcard",
        "none",
        "admin's",
    ],
)
def test_almost_correct_key(world: World, client: httpx.Client, change: Callable[[str], str]) -> None:
    _, key = good_key(world)
    assert change(key) != key
    assert status(client, change(key)) == 401
    with pytest.raises(UnauthenticatedError):  # where no issuer is trusted, nothing else looks at it
        authenticate(world.installation.database, change(key))
    assert status(client, key) == 200


def test_key_hash_is_no_key(world: World, client: httpx.Client) -> None:
    """The stored hash of a key, from the database or a backup, is refused."""
    _, key = good_key(world)
    with psycopg.connect(world.installation.administrator_url) as connection:
        stored = connection.execute("SELECT string_agg(k::text, '') FROM neurigraph.api_keys AS k").fetchone()
    assert stored is not None
    assert key not in stored[0]
    assert key[3:46] not in stored[0]
    hashed = api_key_hash(key)
    assert hashed.hex() in stored[0]
    for credential in (hashed.hex(), f"ng_{hashed.hex()}", base64.b64encode(hashed).decode()):
        assert status(client, credential) == 401
    assert status(client, key) == 200


def test_admin_and_user_keys_stay_separate(world: World, client: httpx.Client) -> None:
    headers = {"Authorization": f"Bearer {good_key(world)[1]}"}
    assert client.post("/v1/users", json={"slug": "mallory"}, headers=headers).status_code == 401
    assert client.get("/v1/tree", headers=headers).status_code == 200
    assert status(client, ADMIN_KEY) == 401
    admin = {"Authorization": f"Bearer {ADMIN_KEY}"}
    assert client.post("/v1/users", json={"slug": "trent"}, headers=admin).status_code == 201


def test_token_of_a_graph_without_owner_is_refused(world: World, client: httpx.Client) -> None:
    """Nobody owns all of an organization's graph, and a token cannot say otherwise; its members have tokens."""
    made, _ = membership.create(world.installation.database, world.alices, "tokens", "An organization")
    graph = str(made.organization_id)
    assert status(client, by_secret(said(world, role="user", user_id=graph))) == 401
    assert status(client, by_secret(said(world, role="user", sub=graph, user_id=None))) == 401
    assert status(client, by_secret(said(world, role="member", user_id=graph))) == 200
    assert status(client, by_secret(said(world, role="member", sub=str(world.bob.user_id), user_id=graph))) == 404
