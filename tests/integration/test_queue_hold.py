"""A provider that refuses the account stops the queue: no segment loses an attempt, and the queue goes on by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from uuid import UUID

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.queue_hold import current_hold, end_hold
from neurigraph_pipelines.ingestion import readiness
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.model import Claims, TriggerType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.ingestion_traces import triggers_of
from tests.support.memories import converse, ingest, rows, stored
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import Fault, ModelProvider

WRONG_KEY = Fault("status", status=401)
NO_CREDIT = Fault("status", status=429, code="insufficient_quota")
REFUSED = Fault("status", status=403)


@pytest.fixture
def asked(context: Context, provider: ModelProvider) -> Iterator[Context]:
    client = make_client(provider)
    yield context.using(language_model=make_model(client))
    client.close()
    end_hold(context.database)


def attempts(here: Installation, user: User) -> list[tuple[object, object]]:
    return [(row["state"], row["attempts"]) for row in triggers_of(here, user)]


@pytest.mark.parametrize("fault", [WRONG_KEY, NO_CREDIT, REFUSED], ids=["401", "quota", "403"])
def test_refused_account_costs_no_attempt(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider, fault: Fault
) -> None:
    user, claims = bob
    for text in ("one", "two", "three"):
        converse(here, claims, text)
    provider.fail_when("", fault)
    (result,) = ingest(asked, user)
    assert len(result.returned) == 3
    assert attempts(here, user) == [("pending", 0)] * 3
    assert rows(here, "SELECT FROM neurigraph.pipeline_failures WHERE user_id = %s", user.user_id) == []

    (again,) = ingest(asked, user)  # a person insists: one segment tries
    assert len(again.returned) == 1
    assert attempts(here, user) == [("pending", 0)] * 3

    provider.mend()
    assert len(stored(ingest(asked, user))) == 3
    assert current_hold(here.database) is None


@pytest.mark.parametrize("end", [triggers.release, triggers.return_canceled, triggers.end_leases])
def test_sensors_wait_and_try_with_one_segment(
    here: Installation,
    asked: Context,
    bob: tuple[User, Claims],
    provider: ModelProvider,
    end: Callable[[Database, UUID], object],
) -> None:
    user, claims = bob
    converse(here, claims, "one")
    provider.fail_when("", WRONG_KEY)
    ingest(asked, user)
    converse(here, claims, "two")
    detect(asked)

    assert triggers.lease_for_runs(asked, "sensor", TriggerType.CONVERSATION_END) == []
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.queue_hold SET next_try_at = now()")
    (batch,) = triggers.lease_for_runs(asked, "sensor", TriggerType.CONVERSATION_END)
    assert batch.segments == 1
    end(here.database, batch.batch_id)
    hold = current_hold(here.database)
    assert hold is not None
    pause = (hold.next_try_at - datetime.now(UTC)).total_seconds()
    assert pause < 31, "a run that ends without an outcome holds up no other try"
    triggers.expire(asked)
    assert triggers.queue(here.database, user.user_id).claimed == 0


def test_pause_doubles_and_first_refusal_is_logged(
    here: Installation,
    asked: Context,
    bob: tuple[User, Claims],
    provider: ModelProvider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    user, claims = bob
    converse(here, claims, "one")
    provider.fail_when("", WRONG_KEY)
    pauses = []
    for _ in range(7):
        ingest(asked, user)
        (row,) = rows(
            here,
            "SELECT extract(EPOCH FROM next_try_at - clock_timestamp())::float AS pause FROM neurigraph.queue_hold",
        )
        pauses.append(round(row["pause"] / 30))
    assert pauses == [1, 2, 4, 8, 16, 20, 20]
    assert [record.levelname for record in caplog.records if "the queue is held" in record.message] == ["ERROR"]


def test_refusal_of_one_content_holds_nothing(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    converse(here, claims, "FORBIDDEN")
    converse(here, claims, "harmless")
    provider.fail_when("FORBIDDEN", REFUSED)
    ingest(asked, user)
    assert attempts(here, user) == [("pending", 1), ("stored", 1)]
    assert current_hold(here.database) is None


def test_key_that_ends_within_a_batch_costs_no_attempt(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    converse(here, claims, "LAST")
    converse(here, claims, "first")
    provider.fail_when("LAST", WRONG_KEY)
    ingest(asked, user)
    assert attempts(here, user)[1] == ("stored", 1)
    assert attempts(here, user)[0] == ("pending", 0)


def test_missing_key_is_named(
    here: Installation, context: Context, bob: tuple[User, Claims], settings: Settings
) -> None:
    user, claims = bob
    converse(here, claims, "one")
    models = settings.models.model_copy(update={"language_model": "openai", "openai_api_key": None})
    with Installation(here.settings.model_copy(update={"models": models})) as keyless:
        ingest(context.using(language_model=keyless.language_model), user)
    held = current_hold(here.database)
    assert held is not None
    assert "set OPENAI_API_KEY" in held.reason
    assert attempts(here, user) == [("pending", 0)]
    reasons = [fault.reason for fault in readiness.check(here.context).faults if fault.part == "ingestion"]
    assert any("set OPENAI_API_KEY" in reason for reason in reasons)
    with Installation(
        here.settings.model_copy(update={"models": models.model_copy(update={"openai_api_key": SecretStr("k")})})
    ) as keyed:
        assert keyed.language_model.name.startswith("openai:")
    end_hold(here.database)
    assert len(stored(ingest(context, user))) == 1
