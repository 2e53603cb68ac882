"""Webhooks and their deliveries through SQL: their owner alone sees, tests and replays them."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import psycopg
import pytest

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.model import Claims, NodeType, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support.api_calls import SAME_ID
from tests.support.api_server import serving
from tests.support.two_users import World, new_world
from tests.support.webhooks import ELSEWHERE, local_outbox, make_due

pytestmark = pytest.mark.attack
TABLES = ("webhooks", "webhook_events", "webhook_deliveries")


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    return new_world(shared_installation)


def claims_of_others(world: World) -> list[Claims | None]:
    root = {"persona": str(world.alice.root_node_id), "third_party": "mallory"}
    return [None, world.bobs, *(Claims(sub, role, world.alice.user_id) for role, sub in root.items())]


def test_functions_check_the_owner(world: World) -> None:
    webhook = subscriptions.add(local_outbox(world.installation, world.alices), ELSEWHERE).webhook_id
    test, replay = "SELECT neurigraph.test_webhook(%s) AS done", "SELECT neurigraph.replay_deliveries(%s, NULL) AS done"
    signer = Secret(SECRET)
    with world.agent(*signer.sign(world.alices)) as connection:
        (made,) = connection.execute(test, [webhook]).fetchall()
        assert made["done"] is not None
    with world.installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.webhook_deliveries SET state = 'dead', finished_at = now()")
    for claims in claims_of_others(world):
        signed = signer.sign(claims) if claims is not None else (None, None)
        with world.agent(*signed) as connection:
            assert connection.execute(test, [webhook]).fetchall() == [{"done": None}], claims
            assert connection.execute(replay, [webhook]).fetchall() == [{"done": 0}], claims
            for table in TABLES:
                query = psycopg.sql.SQL("SELECT FROM neurigraph.{}").format(psycopg.sql.Identifier(table))
                assert connection.execute(query).rowcount == 0, (claims, table)
    with world.agent(*signer.sign(world.alices)) as connection:
        for table in TABLES:
            query = psycopg.sql.SQL("SELECT FROM neurigraph.{}").format(psycopg.sql.Identifier(table))
            assert connection.execute(query).rowcount > 0
        assert connection.execute(replay, [webhook]).fetchall() == [{"done": 1}]
    make_due(world.installation)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO neurigraph.webhook_events (user_id, event) VALUES (neurigraph.asking_user_id(), 'webhook.test')",
        "UPDATE neurigraph.webhook_deliveries SET state = 'waiting'",
        "UPDATE neurigraph.webhook_events SET record_id = gen_random_uuid()",
        "DELETE FROM neurigraph.webhook_deliveries",
        "SELECT neurigraph_private.raise_event(NULL)",
        "SELECT neurigraph.is_withheld(gen_random_uuid(), NULL)",
        "SELECT neurigraph.raise_event()",
    ],
)
def test_owner_cannot_write_messages(world: World, statement: str) -> None:
    with (
        world.agent(*Secret(SECRET).sign(world.alices)) as connection,
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction)),
    ):
        connection.execute(psycopg.sql.SQL(statement))


def test_webhook_for_another_user_is_refused(world: World) -> None:
    insert = """INSERT INTO neurigraph.webhooks (user_id, url, events, secret_hash)
    VALUES (%s, 'https://x', '{*}', sha256('')) RETURNING webhook_id"""
    with world.agent(*Secret(SECRET).sign(world.bobs)) as connection:
        assert connection.execute(insert, [world.bob.user_id]).rowcount == 1
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(insert, [world.alice.user_id])


def test_denied_and_absent_are_one_answer(world: World) -> None:
    database = world.installation.database
    webhook = subscriptions.add(local_outbox(world.installation, world.alices), ELSEWHERE).webhook_id
    persona = sharing.add_node(database, world.alices, world.alice.root_node_id, "Agent", node_type=NodeType.PERSONA)
    subject = sharing.Subject(SubjectType.PERSONA, str(persona))
    keys = {
        "bob": sharing.issue_key(database, world.bobs)[1],
        "persona": sharing.issue_key(database, world.alices, subject=subject)[1],
    }
    owners = sharing.issue_key(database, world.alices)[1]
    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None), ("PATCH", "", {"state": "active"}), ("POST", "/test", None), ("POST", "/rotate", None),
        ("GET", "/deliveries", None), ("POST", "/replay", {}), ("DELETE", "", None),
    ]  # fmt: skip
    with (
        serving(world.installation) as address,
        httpx.Client(base_url=address, timeout=60.0, headers=SAME_ID) as client,
    ):
        for method, rest, body in calls:
            for key in keys.values():
                headers = {"Authorization": f"Bearer {key}"}
                denied, absent = (
                    client.request(method, f"/v1/webhooks/{one}{rest}", headers=headers, json=body)
                    for one in (webhook, uuid4())
                )
                assert (denied.status_code, denied.content) == (absent.status_code, absent.content)
                assert denied.status_code in (403, 404)
        for method, rest, body in calls:
            answer = client.request(
                method, f"/v1/webhooks/{webhook}{rest}", headers={"Authorization": f"Bearer {owners}"}, json=body
            )
            assert answer.status_code in (200, 204, 409), (method, rest, answer.text)
