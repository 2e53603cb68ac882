"""Attacks on the claims that the database checks: forged, altered, expired and left over."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from collections.abc import Callable
from contextlib import nullcontext
from uuid import uuid4

import psycopg
import pytest

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.model import Claims
from tests.conftest import SECRET
from tests.support.two_users import World

pytestmark = pytest.mark.attack


def sign(payload: str, key: bytes) -> str:
    return hmac.new(key, payload.encode(), hashlib.sha256).hexdigest()


def seen(world: World, payload: str, signature: str | None) -> int:
    """Return how many nodes are visible with these claims."""
    with world.agent(payload, signature) as connection:
        return connection.execute("SELECT FROM neurigraph.graph_index").rowcount


CLAIMS: dict[str, Callable[[str], tuple[str, str | None]]] = {
    "without a signature": lambda good: (good, None),
    "with an empty one": lambda good: (good, ""),
    "with a plain hash": lambda good: (good, hashlib.sha256(good.encode()).hexdigest()),
    "with the secret as the key": lambda good: (good, sign(good, SECRET.encode())),
    "with an empty key": lambda good: (good, sign(good, b"")),
    "with a key of zeros": lambda good: (good, sign(good, b"\0" * 64)),
    "with a wildcard": lambda good: (good, "%"),
    "with a signature of other claims": lambda good: (good, Secret(SECRET).sign(Claims("x", "user", uuid4()))[1]),
    "with the words of SQL": lambda good: (good, "' OR true --"),
}


@pytest.mark.parametrize("forgery", CLAIMS)
def test_forged_claims(world: World, forgery: str) -> None:
    payload, signature = CLAIMS[forgery](Secret(SECRET).sign(world.bobs)[0])
    with world.agent(payload, signature) as connection:
        assert connection.execute("SELECT * FROM neurigraph.graph_index").fetchall() == []
        assert connection.execute("SELECT neurigraph.claims() AS c").fetchone() == {"c": None}


@pytest.mark.parametrize(
    "change",
    [
        lambda payload: payload + " ",
        lambda payload: " " + payload,
        lambda payload: payload.replace("{", '{"role": "user", ', 1),
        lambda payload: payload.replace('"user"', '"\\u0075ser"'),
        lambda payload: payload + "\n-- ",
    ],
    ids=["a blank more", "a blank before", "a field twice", "escaped", "a comment"],
)
def test_altered_claims(world: World, change: Callable[[str], str]) -> None:
    payload, signature = Secret(SECRET).sign(world.alices)
    assert seen(world, payload, signature) > 0
    assert seen(world, change(payload), signature) == 0


def test_expired_claims_replayed(world: World) -> None:
    """Leaked claims expire after five minutes."""
    payload, signature = Secret(SECRET).sign(world.alices)
    assert json.loads(payload)["exp"] <= time.time() + 300
    inner = Secret(SECRET).claims_pads()[0]
    key = bytes(byte ^ 0x36 for byte in inner)
    assert sign(payload, key) == signature, "this is the key that signs"
    for seconds, visible in ((60, True), (-1, False), (-300, False)):
        claims = json.dumps(json.loads(payload) | {"exp": int(time.time()) + seconds})
        assert (seen(world, claims, sign(claims, key)) > 0) is visible
    for expiry in (None, "never", True):
        claims = json.dumps(json.loads(payload) | {"exp": expiry})
        with pytest.raises(psycopg.Error) if expiry is not None else nullcontext():
            assert seen(world, claims, sign(claims, key)) == 0


def test_claims_of_the_previous_request(world: World) -> None:
    """A pooled connection keeps no claims."""
    database = world.installation.database
    for _ in range(world.installation.settings.database.pool_size * 3):
        with database.agent(world.alices) as tx:
            assert tx.execute("SELECT FROM neurigraph.users").fetchall() != []
        with database.agent(None) as tx:
            assert tx.execute("SELECT FROM neurigraph.users").fetchall() == []
