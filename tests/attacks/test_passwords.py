"""Attacks on passwords and accounts: other callers, direct SQL, and what answers reveal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from uuid import UUID

import httpx
import psycopg
import pytest

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.exchange.organizations import membership
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.model.ports import Transaction
from tests.support.api_server import serving
from tests.support.two_users import World

pytestmark = pytest.mark.attack
PASSWORD = "correct horse battery"


@pytest.fixture(scope="module")
def address(world: World) -> Iterator[str]:
    for claims in (world.alices, world.bobs):
        accounts.set_password(world.installation.database, claims, PASSWORD)
        accounts.change_account(world.installation.database, claims, {"display_name": "Somebody"})
    with serving(world.installation) as served:
        yield served


def passwords(world: World) -> dict[UUID, bytes]:
    with psycopg.connect(world.installation.administrator_url) as connection:
        return dict(connection.execute("SELECT user_id, hash FROM neurigraph.user_passwords").fetchall())


FORBIDDEN = [
    "SELECT * FROM neurigraph.user_passwords",
    "SELECT salt FROM neurigraph.user_passwords",
    "UPDATE neurigraph.user_passwords SET hash = sha256('mine')",
    "DELETE FROM neurigraph.user_passwords",
    "SELECT * FROM neurigraph.sign_in_attempts",
    "DELETE FROM neurigraph.sign_in_attempts",
    "DELETE FROM neurigraph.user_accounts",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_no_role_reads_passwords(address: str, agent: Transaction, statement: str) -> None:
    assert address
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        agent.execute(statement)


def test_accounts_of_others_do_not_exist(address: str, agent: Transaction, world: World) -> None:
    assert address
    seen = agent.execute("SELECT user_id FROM neurigraph.user_accounts").fetchall()
    assert [row["user_id"] for row in seen] == [world.alice.user_id]
    bob = [world.bob.user_id]
    assert agent.execute("UPDATE neurigraph.user_accounts SET email = 'a@b' WHERE user_id = %s", bob).rowcount == 0
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        agent.execute("INSERT INTO neurigraph.user_accounts (user_id) VALUES (%s)", bob)
    before = passwords(world)
    assert agent.execute("SELECT neurigraph.set_password(%s, %s)", [b"s" * 16, b"d" * 32]).fetchone() is not None
    changed = {user_id for user_id, hashed in passwords(world).items() if hashed != before[user_id]}
    assert changed == {world.alice.user_id}
    accounts.set_password(world.installation.database, world.alices, PASSWORD)


def test_no_claims_set_no_password(address: str, world: World) -> None:
    assert address
    with world.agent("", "") as connection:
        (done,) = connection.execute("SELECT neurigraph.set_password(NULL, NULL) AS is_set").fetchall()
    assert done["is_set"] is False


def test_others_have_no_account(address: str, world: World) -> None:
    assert address
    database = world.installation.database
    made, _ = membership.create(database, world.alices, "passwords-club", "Club")
    member = Claims(str(world.alice.user_id), "member", made.organization_id)
    third_party = Claims("gmail", "third_party", world.alice.user_id)
    for claims in (member, third_party, world.alices.within(("roses",))):
        with pytest.raises(ForbiddenError):
            accounts.set_password(database, claims, PASSWORD)
        with pytest.raises(ForbiddenError):
            accounts.get_account(database, claims)
    with pytest.raises(ForbiddenError):
        accounts.set_password(database, Claims.of_user(made.organization_id), PASSWORD)


def test_wrong_names_and_wrong_passwords_look_alike(address: str, world: World) -> None:
    """The bodies are the same, and so is the salt of a name that does not exist, each time."""
    database = world.installation.database
    without = f"without-{world.alice.slug}"[:60]
    answers = []
    for user in (world.alice.slug, "no-such-user", without, "'; DROP TABLE users; --"):
        answer = httpx.post(
            f"{address}/v1/sign-in",
            content=json.dumps({"user": user, "password": "wrong"}),
            headers={"Content-Type": "application/json"},
            timeout=60.0,
        )
        body = answer.json()
        body.pop("request_id")
        answers.append((answer.status_code, body))
    assert {status for status, _ in answers} == {401}
    assert all(body == answers[0][1] for _, body in answers)
    salts = []
    for _ in range(2):
        made = world.installation.secret.salt_of("no-such-user")
        salts += database.ask(None, accounts._QUERIES["salt_of"], {"name": "no-such-user", "made": made})
    assert salts[0] == salts[1]


def test_signing_in_needs_a_body_of_its_form(address: str, world: World) -> None:
    url = f"{address}/v1/sign-in"
    right = {"user": world.alice.slug, "password": PASSWORD}
    assert httpx.post(url, json=right, timeout=60.0).status_code == 201
    for wrong in ({}, {"user": world.alice.slug}, {**right, "admin": True}, {**right, "password": ["x"]}, [right]):
        answer = httpx.post(url, json=wrong, timeout=60.0)
        assert answer.status_code == 422
        assert PASSWORD not in answer.text
    assert httpx.get(url, timeout=60.0).status_code in (401, 405)
