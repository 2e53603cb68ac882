"""Webhooks over HTTP, from the Python client, on the command line and in Dagster."""

from __future__ import annotations

import json
from collections.abc import Iterator

import dagster as dg
import httpx
import pytest
from standardwebhooks.webhooks import Webhook as Verifier

from neurigraph_client import Conflict, Denied, Memory, NotFound
from neurigraph_pipelines.defs.exchange.webhook_assets import webhook_deliveries, webhook_sensor, webhooks_are_delivered
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.webhooks import delivery, subscriptions
from neurigraph_pipelines.model import SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.command_line import describe, run_cli
from tests.support.memories import converse, ingest, new_user, plain_context
from tests.support.waiting import wait_until
from tests.support.webhook_receiver import WebhookReceiver

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")
LOCAL = {"NEURIGRAPH_WEBHOOK_LOCAL_HOSTS": "127.0.0.1"}


@pytest.fixture
def allowed(installation: Installation) -> Iterator[Installation]:
    """An installation whose webhooks may call this machine."""
    settings = installation.settings.changed(webhook_local_hosts=("127.0.0.1",))
    with Installation(settings) as made:
        yield made


def test_client_hears_what_is_stored(allowed: Installation) -> None:
    user, claims = new_user(allowed, "bob")
    key = sharing.issue_key(allowed.database, claims)[1]
    with WebhookReceiver() as receiver, serving(allowed) as address, Memory(address, key) as memory:
        made = memory.webhooks.add(receiver.url, events=["record.stored"])
        webhook = made.webhook_id
        converse(allowed, claims, "We met in Oslo.", "Nice.")
        ingest(plain_context(allowed), user)
        wait_until(lambda: len(receiver.bodies) == 1, "the process of the API delivers it")
        headers = dict(line.split(": ", 1) for line in receiver.heads[0].split("\r\n")[1:])
        Verifier(made.secret).verify(receiver.contents[0], headers)
        wait_until(lambda: memory.webhooks.list().webhooks[0].delivered == 1, "it is written down")
        assert memory.webhooks.rotate(webhook).secret != made.secret
        assert memory.webhooks.test(webhook).state == "delivered"
        assert [one.event for one in memory.webhooks.list_deliveries(webhook)] == ["webhook.test", "record.stored"]
        assert memory.webhooks.change(webhook, state="paused", author="pipeline").author == "pipeline"
        assert memory.webhooks.change(webhook, author=None).author is None
        first = next(one.delivery_id for one in memory.webhooks.list_deliveries(webhook, state="delivered"))
        assert memory.webhooks.replay_deliveries(webhook, delivery_id=first).replayed == 1
        assert memory.webhooks.replay_deliveries(webhook).replayed == 0
        memory.webhooks.remove(webhook)
        assert memory.webhooks.list().webhooks == []
        with pytest.raises(NotFound):
            memory.webhooks.remove(webhook)


def test_refusals_over_http(installation: Installation) -> None:
    _, claims = new_user(installation, "bob")
    subject = sharing.Subject(SubjectType.THIRD_PARTY, "mallory")
    keys = [sharing.issue_key(installation.database, claims, subject=one)[1] for one in (None, subject)]
    with serving(installation) as address:
        with Memory(address, keys[0]) as memory, pytest.raises(Conflict, match="webhooks are off"):
            memory.webhooks.add("https://hooks.example.com/")
        with Memory(address, keys[1]) as stranger, pytest.raises(Denied):
            stranger.webhooks.add("https://hooks.example.com/")
        with httpx.Client(base_url=address, headers={"Authorization": f"Bearer {keys[0]}"}, timeout=60) as client:
            answer = client.post("/v1/webhooks", json={"url": "https://x/"}, headers={"Idempotency-Key": "k"})
            assert answer.status_code == 422, "its answer holds a secret"


def test_commands(installation: Installation) -> None:
    new_user(installation, "bob")

    def run(*words: str) -> dict[str, object]:
        done = run_cli(installation.settings, "access", "webhook", *words, "--user", "bob", "--json", more=LOCAL)
        assert done.returncode == 0, done.stderr
        found: dict[str, object] = json.loads(done.stdout)
        return found

    with WebhookReceiver() as receiver:
        made = run("add", receiver.url, "--event", "record.*", "--path", "Family", "--author", "pipeline")
        webhook = str(made["webhook_id"])
        assert str(made["secret"]).startswith("whsec_")
        assert "secret" not in run("show", webhook)
        assert run("test", webhook)["state"] == "delivered"
        changed = run("edit", webhook, "--path", "", "--state", "paused")
        assert (changed["path_glob"], changed["state"], changed["author"]) == (None, "paused", "pipeline")
        assert run("edit", webhook, "--state", "active", "--event", "*")["events"] == ["*"]
        assert run("rotate", webhook)["secret"] != made["secret"]
        assert [one["event"] for one in run("delivery", "list", webhook)["deliveries"]] == ["webhook.test"]  # type: ignore[attr-defined]
        assert run("delivery", "replay", webhook) == {"replayed": 0}
        assert len(run("list")["webhooks"]) == 1  # type: ignore[arg-type]
        run("remove", webhook)
        assert run("list") == {"webhooks": []}
    shown = run_cli(installation.settings, "access", "webhook", "list", "--user", "bob", more=LOCAL)
    assert shown.stdout == "Nothing found.\n"


def test_asset_sends_what_was_left(allowed: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(allowed.settings, monkeypatch, **LOCAL)
    user, claims = new_user(allowed, "bob")
    resources = {"installation": InstallationResource()}

    def look() -> object:
        with dg.build_sensor_context(resources=resources) as context:
            return webhook_sensor(context)

    assert isinstance(look(), dg.SkipReason)
    with WebhookReceiver() as receiver:
        subscriptions.add(allowed.webhooks.acting_for(claims), receiver.url, ["record.stored"])
        converse(allowed, claims, "We met in Oslo.", "Nice.")
        ingest(plain_context(allowed), user)
        assert isinstance(look(), dg.SkipReason), "the process of the API sends it"
        with allowed.database.owner() as tx:
            tx.execute(
                "UPDATE neurigraph.webhook_deliveries SET next_attempt_at = now() - interval '11 seconds',"
                " created_at = now() - interval '2 minutes'"
            )
            tx.execute("UPDATE neurigraph.webhook_events SET occurred_at = now() - interval '2 minutes'")
        assert isinstance(look(), dg.RunRequest)
        done = dg.materialize([webhook_deliveries, webhooks_are_delivered], resources=resources)
        (checked,) = done.get_asset_check_evaluations()
        assert done.success
        assert checked.passed
        assert len(receiver.bodies) == 1
    assert isinstance(look(), dg.SkipReason)
    with allowed.database.owner() as tx:
        tx.execute("UPDATE neurigraph.webhook_deliveries SET state = 'dead'")
    (checked,) = dg.materialize(
        [webhook_deliveries, webhooks_are_delivered], resources=resources
    ).get_asset_check_evaluations()
    assert not checked.passed


def test_idle_process_asks_rarely(allowed: Installation) -> None:
    """Without webhooks the thread looks every five seconds, with them twice a second."""
    assert delivery.pause(allowed.webhooks) == delivery.UNUSED_SECONDS == 5.0
    _, claims = new_user(allowed, "bob")
    made = subscriptions.add(allowed.webhooks.acting_for(claims), "http://127.0.0.1:9/")
    assert delivery.pause(allowed.webhooks) == delivery.POLL_SECONDS
    subscriptions.change(allowed.webhooks.acting_for(claims), made.webhook_id, {"state": "paused"})
    assert delivery.pause(allowed.webhooks) == delivery.UNUSED_SECONDS
