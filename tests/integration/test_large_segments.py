"""One segment never holds its neighbours: large ones run alone, and what takes too long ends alone."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import healing
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.failures import list_failures, replay
from neurigraph_pipelines.ingestion.resummarize import resummarize
from neurigraph_pipelines.ingestion.unfinished import count_unfinished
from neurigraph_pipelines.model import Claims, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.wiring.installation import Installation
from resources.tokens.tokenizer import EstimatedCounter
from tests.support.memories import PlainModel, WordEmbedder, converse, ingest, rows, stored

LARGE_TOKENS = 40
LONG_TEXT = "the doctor of Caroline said that running is good for her knee " * 10


def states(here: Installation, user: User) -> dict[str, str]:
    """The state of each segment by the external id of its conversation."""
    found = rows(
        here,
        "SELECT s.external_id AS id, t.state::text FROM neurigraph.storage_triggers AS t "
        "JOIN neurigraph.sources AS s USING (source_id) WHERE t.user_id = %s",
        user.user_id,
    )
    return {row["id"]: row["state"] for row in found}


def limited(context: Context, **settings: object) -> Context:
    """The context with other settings of ingestion."""
    return context.using(settings=context.settings.changed(**settings))


def compute_for_ever() -> None:
    until = time.thread_time() + 20
    while time.thread_time() < until:
        sum(range(1_000))
    raise AssertionError("nothing ended it")


class EndlessEmbedder(WordEmbedder):
    """Never ends with a text that says so."""

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        if any("ENDLESS" in text for text in texts):
            compute_for_ever()
        return super().embed(texts, kind)


class EndlessCounter(EstimatedCounter):
    """Never ends with sentences that say so, in threads of some names: the commit writes objects in its own."""

    def __init__(self, threads: str) -> None:
        self._threads = threads

    def count_each(self, texts: Sequence[str]) -> list[int]:
        if any("ENDLESS" in text for text in texts) and threading.current_thread().name.startswith(self._threads):
            compute_for_ever()
        return super().count_each(texts)


def test_large_segment_runs_alone(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    context = limited(context, large_segment_tokens=LARGE_TOKENS)
    for hours, (name, text) in enumerate(
        {"early": "Short.", "large": LONG_TEXT, "late": "Short.", "also large": LONG_TEXT}.items(), start=1
    ):
        converse(here, claims, text, external_id=name, hours=hours)
    detect(context)
    batches = []
    while batch := triggers.lease_due(context, "test", user.user_id):
        refs = triggers.segments_of(here.database, batch.batch_id)
        batches.append(([ref.source_external_id for ref in refs], batch.large))
        triggers.release(here.database, batch.batch_id)
        with here.database.pipeline() as tx:
            tx.execute(
                "UPDATE neurigraph.storage_triggers SET state = 'failed' WHERE trigger_id = ANY(%s)",
                [[ref.trigger_id for ref in refs]],
            )
    assert batches == [(["early", "late"], False), (["large"], True), (["also large"], True)]


def test_large_segments_leave_room(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    """Three large segments come first, and the small ones behind them are leased at once nevertheless."""
    user, claims = bob
    context = limited(context, large_segment_tokens=LARGE_TOKENS, batches_in_flight=3)
    for hours, name in enumerate(["large 1", "large 2", "large 3", "small 1", "small 2"], start=1):
        converse(here, claims, LONG_TEXT if "large" in name else "Short.", external_id=name, hours=hours)
    detect(context)
    batches = triggers.lease_for_runs(context, "test of room")
    assert sorted(batch.large for batch in batches) == [False, True]
    found = states(here, user)
    assert [found["small 1"], found["small 2"]] == ["claimed", "claimed"]
    assert sum(found[f"large {number}"] == "claimed" for number in (1, 2, 3)) == 1
    converse(here, claims, "Short.", external_id="small 3", hours=6)
    detect(context)
    fewer = limited(context, batches_in_flight=1)
    assert len(triggers.lease_for_runs(fewer, "test of room")) == 2, "a lower limit leases no more"
    for batch in batches:
        triggers.release(here.database, batch.batch_id)


def test_large_segment_runs_where_one_batch_may(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    """Half of one batch is none, and a large segment must run nevertheless."""
    context = limited(context, large_segment_tokens=LARGE_TOKENS, batches_in_flight=1)
    converse(here, bob[1], LONG_TEXT)
    detect(context)
    (batch,) = triggers.lease_for_runs(context, "test of one batch")
    assert batch.large
    triggers.release(here.database, batch.batch_id)


@pytest.mark.parametrize(
    ("step", "missing"),
    [("summarize", "summarize"), ("extract_keywords", "extract_keywords"), ("place", "filing")],
)
def test_endless_step_is_left_out(
    here: Installation, context: Context, bob: tuple[User, Claims], step: str, missing: str
) -> None:
    user, claims = bob
    for hours, text in enumerate(["before", "ENDLESS", "after"], start=1):
        converse(here, claims, text, external_id=text, hours=hours)
    model = PlainModel()
    usual = getattr(model, step)

    def endless(segment: Segment, *others: object) -> object:
        if "ENDLESS" in segment.messages[0].content:
            compute_for_ever()
        return usual(segment, *others)

    setattr(model, step, endless)
    found = stored(ingest(limited(context.using(language_model=model), step_seconds=0.3), user))
    assert {record.title: record.left_out for record in found} == {
        "before": (),
        "ENDLESS": (f"{missing} (StepTimeoutError)",),
        "after": (),
    }
    assert resummarize(context, None, datetime.now(UTC) + timedelta(days=1), user.user_id).failed == []
    assert count_unfinished(here.database, user.user_id) == 0, "the cause is mended"


@pytest.mark.parametrize(("step", "threads"), [("embed", ""), ("commit", "write")])
def test_endless_step_fails_alone(
    here: Installation, context: Context, bob: tuple[User, Claims], step: str, threads: str
) -> None:
    user, claims = bob
    for name, text in {"before": "Short.", "ENDLESS": "ENDLESS " + LONG_TEXT, "after": "Short, too."}.items():
        converse(here, claims, text, external_id=name)
    objects = set(here.objects.keys("durable/"))
    hanging = limited(
        context.using(tokens=EndlessCounter(threads)), step_seconds=0.3, large_segment_tokens=LARGE_TOKENS
    )
    ingest(limited(hanging, passage_max_tokens=50), user)
    assert states(here, user) == {"before": "stored", "ENDLESS": "failed", "after": "stored"}
    with here.database.pipeline() as tx:
        (failure,) = list_failures(tx, user.user_id)
    assert failure.step == step
    assert "processor time" in failure.error
    assert len(set(here.objects.keys("durable/")) - objects) == 2, "it leaves no object"
    replay(here.database, [failure.failure_id])
    assert [record.already_stored for record in stored(ingest(context, user))] == [False], "the cause is mended"


def test_endless_embedding_stays_pending(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    for text in ("before", "ENDLESS", "after"):
        converse(here, claims, text, external_id=text)
    results = ingest(limited(context.using(embedder=EndlessEmbedder()), step_seconds=0.3), user)
    assert sorted((record.title, record.pending_embedding) for record in stored(results)) == [
        ("ENDLESS", True),
        ("after", False),
        ("before", False),
    ]


def test_vectors_of_large_segment_follow(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, LONG_TEXT, external_id="large", hours=2)
    converse(here, claims, "Short.", external_id="small")
    large = limited(context, large_segment_tokens=LARGE_TOKENS)
    results = ingest(large, user)
    assert [record.pending_embedding for record in stored(results)] == [False, True], "it is stored first"
    assert all(result.seconds.keys() == {record.trigger_id for record in result.stored} for result in results)
    assert healing.heal_pending(large, user_id=user.user_id).records == 1
