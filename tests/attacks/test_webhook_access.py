"""Webhooks and their deliveries through SQL: their owner alone sees, tests and replays them."""

from __future__ import annotations

import psycopg
import pytest

from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.webhooks import subscriptions
from neurigraph_pipelines.wiring import Installation
from tests.conftest import SECRET
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
        "SELECT neurigraph.raise_fact()",
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
