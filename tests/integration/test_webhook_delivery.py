"""Deliveries of webhooks to a real receiver that verifies, fails, stalls, redirects and goes away."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import timedelta
from uuid import UUID

import pytest
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange.webhooks import delivery, subscriptions, upkeep
from neurigraph_pipelines.exchange.webhooks.background import delivering
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError
from neurigraph_pipelines.views.webhooks import Delivery, DeliveryState, WebhookState, WebhookWithSecret
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.waiting import wait_until
from tests.support.webhook_receiver import Behaviour, WebhookReceiver
from tests.support.webhooks import local_outbox, make_due

pytestmark = pytest.mark.slow


class Owner:
    """A user with one record and one webhook."""

    def __init__(self, installation: Installation, url: str) -> None:
        self.here = installation
        self.user, self.claims = new_user(installation)
        self.source = converse(installation, self.claims, "We met in Oslo.", "Nice.")
        ingest(plain_context(installation), self.user)
        (row,) = rows(
            installation, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", self.user.user_id
        )
        self.record: UUID = row["record_id"]
        self.outbox = local_outbox(installation, self.claims, seconds=1.5)
        self.webhook = self.add(url)

    def add(self, url: str) -> WebhookWithSecret:
        return subscriptions.add(self.outbox, url, ["record.revised"])

    def revise(self, title: str = "Oslo") -> None:
        revise(plain_context(self.here).acting_for(self.claims), self.record, Revision(title=title))

    def deliveries(self) -> list[Delivery]:
        return subscriptions.page_of_deliveries(self.here.listing(self.claims), self.webhook.webhook_id).items


def headers_of(head: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:])


def test_message_verifies_with_another_implementation(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise("A title in Oslo")
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(delivered=1)
    headers = headers_of(receiver.heads[0])
    Verifier(owner.webhook.secret).verify(receiver.contents[0], headers)
    with pytest.raises(WebhookVerificationError):
        Verifier(owner.webhook.secret).verify(receiver.contents[0] + b" ", headers)
    body = receiver.bodies[0]
    assert body["type"] == "record.revised"
    assert body["data"]["record_id"] == str(owner.record)
    assert set(body["data"]) == {"record_id", "node_id", "author"}
    assert "Oslo" not in receiver.contents[0].decode()
    (one,) = owner.deliveries()
    assert (one.state, one.last_status, one.attempts) == (DeliveryState.DELIVERED, 204, 1)
    assert headers["webhook-id"] == str(one.event_id)


def test_rotation_signs_with_both_for_a_day(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        new = subscriptions.rotate(owner.outbox, owner.webhook.webhook_id)
        assert new.secret != owner.webhook.secret
        found = subscriptions.get_webhook(owner.here.database, owner.claims, new.webhook_id)
        assert "secret" not in found.model_dump()
        owner.revise("first")
        delivery.deliver_due(owner.outbox)
        with installation.database.owner() as tx:
            tx.execute("UPDATE neurigraph.webhooks SET rotated_until = now()")
        owner.revise("second")
        delivery.deliver_due(owner.outbox)
    for secret in (owner.webhook.secret, new.secret):
        Verifier(secret).verify(receiver.contents[0], headers_of(receiver.heads[0]))
    Verifier(new.secret).verify(receiver.contents[1], headers_of(receiver.heads[1]))
    with pytest.raises(WebhookVerificationError):
        Verifier(owner.webhook.secret).verify(receiver.contents[1], headers_of(receiver.heads[1]))


@pytest.mark.parametrize(
    ("fault", "status", "error"),
    [
        ("500", 500, None),
        ("400", 400, None),
        ("302", 302, None),
        ("stall", None, "unreachable"),
        ("drip", None, "unreachable"),
        ("hang_up", None, "unreachable"),
    ],
)
def test_faults_are_retried(
    installation: Installation, fault: Behaviour, status: int | None, error: str | None
) -> None:
    with WebhookReceiver(fault, "ok") as receiver, WebhookReceiver() as elsewhere:
        receiver.location = elsewhere.url
        owner = Owner(installation, receiver.url)
        owner.revise()
        started = time.monotonic()
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(failed=1)
        assert time.monotonic() - started < 4
        (failed,) = owner.deliveries()
        assert (failed.state, failed.last_status, failed.last_error) == (DeliveryState.WAITING, status, error)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(), "it is not due yet"
        make_due(installation)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(delivered=1)
        assert elsewhere.connections == 0
    ids = {headers_of(head)["webhook-id"] for head in receiver.heads}
    assert ids == {str(failed.event_id)}


def test_waits_grow_and_then_it_is_dead(installation: Installation) -> None:
    with WebhookReceiver("500") as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise()
        waits = []
        for _ in delivery.RETRY_SECONDS:
            make_due(installation)
            delivery.deliver_due(owner.outbox)
            until = owner.deliveries()[0].next_attempt_at
            (now,) = rows(installation, "SELECT now() AS moment")
            assert until is not None
            waits.append((until - now["moment"]).total_seconds())
        make_due(installation)
        delivery.deliver_due(owner.outbox)
        for wait, least in zip(waits, (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400), strict=True):
            assert least - 2 < wait <= least * 1.2
        assert (owner.deliveries()[0].state, receiver.connections) == (DeliveryState.DEAD, 8)
        make_due(installation)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent()
        webhook = owner.webhook.webhook_id
        assert subscriptions.replay(installation.database, owner.claims, webhook) == 1
        assert owner.deliveries()[0].attempts == 0
        with pytest.raises(NotFoundError):
            subscriptions.replay(installation.database, owner.claims, webhook, owner.deliveries()[0].delivery_id)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(failed=1)


def test_receiver_may_ask_to_wait(installation: Installation) -> None:
    with WebhookReceiver("429") as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise()
        delivery.deliver_due(owner.outbox)
        (one,) = owner.deliveries()
        (now,) = rows(installation, "SELECT now() AS moment")
        assert one.next_attempt_at is not None
        assert timedelta(seconds=895) < one.next_attempt_at - now["moment"] <= timedelta(seconds=1_080)


def test_gone_ends_the_webhook(installation: Installation) -> None:
    with WebhookReceiver("410", "ok") as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise("first")
        delivery.deliver_due(owner.outbox)
        webhook = owner.webhook.webhook_id
        assert subscriptions.get_webhook(installation.database, owner.claims, webhook).state is WebhookState.GONE
        owner.revise("second")
        assert delivery.deliver_due(owner.outbox) == delivery.Sent()
        with pytest.raises(ConflictError, match="active"):
            delivery.deliver_test(owner.outbox, webhook)
        subscriptions.change(owner.outbox, webhook, {"state": "active"})
        owner.revise("third")
        assert delivery.deliver_due(owner.outbox).delivered == 2, "the test and the third"
    assert [one.state for one in owner.deliveries()][-1] is DeliveryState.DEAD


def test_test_event_is_sent_at_once(installation: Installation) -> None:
    with WebhookReceiver("ok", "500") as receiver:
        owner = Owner(installation, receiver.url)
        subscriptions.change(owner.outbox, owner.webhook.webhook_id, {"state": "paused"})
        assert delivery.deliver_test(owner.outbox, owner.webhook.webhook_id).state is DeliveryState.DELIVERED
        assert delivery.deliver_test(owner.outbox, owner.webhook.webhook_id).last_status == 500
    assert receiver.bodies[0]["type"] == "webhook.test"
    with pytest.raises(NotFoundError):
        delivery.deliver_test(local_outbox(installation, new_user(installation)[1]), owner.webhook.webhook_id)


def test_hidden_events_are_withheld(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise()
        set_privacy(installation.database, owner.claims, owner.source, Privacy.PRIVATE)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(withheld=1)
        assert receiver.connections == 0
    assert owner.deliveries()[0].state is DeliveryState.WITHHELD


def test_another_secret_sends_nothing(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise()
        other = Outbox(owner.outbox.context, owner.outbox.sender, Secret("another secret, as after rotate-secret"))
        assert delivery.deliver_due(other) == delivery.Sent(failed=1)
        assert (receiver.connections, owner.deliveries()[0].last_error) == (0, "secret_changed")
        subscriptions.rotate(other, owner.webhook.webhook_id)
        make_due(installation)
        assert delivery.deliver_due(other) == delivery.Sent(delivered=1)


def test_slow_receiver_does_not_hold_up_others(installation: Installation) -> None:
    with WebhookReceiver("stall") as slow, WebhookReceiver() as quick:
        owner = Owner(installation, slow.url)
        owner.add(quick.url)
        for number in range(10):
            owner.revise(f"title {number}")
        delivery.deliver_due(owner.outbox, most=1)
        assert len(quick.bodies) == delivery.OF_EACH
        assert slow.connections == delivery.OF_EACH


def test_delivery_follows_the_commit(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        with delivering(owner.outbox):
            owner.revise()
            wait_until(lambda: len(receiver.bodies) == 1, "it arrives")
            wait_until(lambda: owner.deliveries()[0].state is DeliveryState.DELIVERED, "it is written down")
    found = upkeep.figures(owner.outbox)
    assert (found.tried, found.share, found.waiting, found.dead) == (0, 1.0, 0, 0)
    assert found.median_seconds is not None
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.webhook_events SET occurred_at = now() - interval '5 minutes'")
    assert (upkeep.figures(owner.outbox).tried, upkeep.figures(owner.outbox).share) == (1, 1.0)
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.webhook_deliveries SET state = 'dead'")
    assert upkeep.figures(owner.outbox).share == 0.0


def test_late_worker_changes_nothing(installation: Installation) -> None:
    with WebhookReceiver("500") as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise()
        late = delivery._lease(owner.outbox)
        make_due(installation)
        assert delivery.deliver_due(owner.outbox) == delivery.Sent(failed=1)
        delivery._settle(owner.outbox, [delivery._Outcome(late[0], DeliveryState.DELIVERED, 200)])
        assert owner.deliveries()[0].state is DeliveryState.WAITING
        assert delivery._lease(owner.outbox) == []


def test_old_events_are_dropped(installation: Installation) -> None:
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        owner.revise("first")
        delivery.deliver_due(owner.outbox)
        owner.revise("second")
        with installation.database.owner() as tx:
            tx.execute("UPDATE neurigraph.webhook_events SET occurred_at = now() - interval '31 days'")
        assert upkeep.drop_old(owner.outbox) == 1
        assert [one.state for one in owner.deliveries()] == [DeliveryState.WAITING]


PATIENCE_SECONDS = 60.0
"""How long a message may take where the machine's speed is not the subject."""

_WORKER = """
import os, sys
from uuid import UUID
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.exchange.webhooks import delivery
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.webhooks import local_outbox

with Installation(Settings()) as installation:
    outbox = local_outbox(installation, Claims.of_user(UUID(sys.argv[1])), float(sys.argv[3]))
    settle, left = delivery._settle, [int(sys.argv[2])]

    def dying(outbox, outcomes):
        left[0] -= len(outcomes)
        if left[0] <= 0:
            os.kill(os.getpid(), 9)  # after sending, before marking
        return settle(outbox, outcomes)

    delivery._settle = dying
    delivery.deliver_due(outbox, most=100_000)
"""


def _raise_many(installation: Installation, owner: Owner, count: int) -> set[str]:
    """Let one transaction raise many events; return their ids."""
    with installation.database.owner() as tx:
        tx.execute(
            """SELECT neurigraph_private.raise_event(jsonb_populate_record(NULL::neurigraph.webhook_events,
                jsonb_build_object('user_id', %s::uuid, 'event', 'record.revised', 'record_id', %s::uuid)))
            FROM generate_series(1, %s)""",
            [owner.user.user_id, owner.record, count],
        )
    found = rows(installation, "SELECT event_id FROM neurigraph.webhook_events WHERE user_id = %s", owner.user.user_id)
    return {str(row["event_id"]) for row in found}


@pytest.mark.slow
@pytest.mark.proof
def test_killed_workers_lose_nothing(installation: Installation, home_env: dict[str, str]) -> None:
    """10,000 events, and workers that die by SIGKILL between sending and marking: each arrives, under one id."""
    with WebhookReceiver() as receiver:
        owner = Owner(installation, receiver.url)
        owner.outbox = local_outbox(installation, owner.claims, PATIENCE_SECONDS)
        expected = _raise_many(installation, owner, 10_000)
        env = {**home_env, "NEURIGRAPH_DATABASE_URL": installation.administrator_url}
        for after in (1, 700, 1_500):
            done = subprocess.run(
                [sys.executable, "-c", _WORKER, *map(str, (owner.user.user_id, after, PATIENCE_SECONDS))],
                cwd=ROOT,
                env=env,
                check=False,
            )
            assert done.returncode == -9
            make_due(installation)
        sent = delivery.deliver_due(owner.outbox, most=100_000)
    ids = [headers_of(head)["webhook-id"] for head in receiver.heads]
    assert len(expected) == 10_000
    assert set(ids) == expected
    assert 0 < len(ids) - len(expected) <= 3 * delivery.BATCH, "what was sent and not marked comes again"
    assert sent.failed == 0
    assert upkeep.figures(owner.outbox).waiting == 0
