"""Search after revisions: vectors, superseded records, and the past."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.graph.history import pipeline_author
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.reembed import reembed
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import MICROSECOND, Memory, Remember
from tests.support.memories import WordEmbedder, converse, explained, ingest, new_user, rows, stored
from tests.support.vectors import NamedEmbedder


def ask(memory: Memory, question: Question) -> Found:
    return search(memory.here.acting_for(memory.claims).using(embedder=memory.embedder), question)


def found(memory: Memory, question: Question) -> list[str]:
    return sorted(hit.title for hit in ask(memory, question).hits)


def centroid(memory: Memory) -> tuple[int, list[float]]:
    """How many vectors the centroid of a memory's node is the mean of, and that mean."""
    query = "SELECT embedded_count, centroid FROM neurigraph.graph_index WHERE node_id = %s"
    (row,) = rows(memory.here, query, memory.place["node_id"])
    return row["embedded_count"], [] if row["centroid"] is None else row["centroid"].to_list()


# Vectors


def test_revised_record_is_found_by_new_words(memory: Memory, remember: Remember) -> None:
    other = remember("a steel bridge").row()
    memory.revise(Revision(title="Anchor", summary="The anchor chain", entities=["Ancora"]))
    row = memory.row()
    assert "ancora" in row["tsv"]
    assert "walnut" not in row["tsv"]
    best = ask(memory, Question("anchor chain", explain=True)).hits[0]
    assert best.title == "Anchor"
    assert explained(best)["summary_dense"] > 0.9
    count, mean = centroid(memory)
    assert count == 2
    assert np.allclose(mean, (row["embedding"].to_numpy() + other["embedding"].to_numpy()) / 2, atol=1e-6)
    memory.revise(Revision(topics=["ships"]))
    assert memory.row()["embedding"] == row["embedding"]


def test_unembedded_summary_is_pending(here: Installation, context: Context, memory: Memory) -> None:
    down = Memory(here, WordEmbedder(fault=TransientError("down")), memory.claims, memory.record_id)
    delta = down.revise(Revision(summary="The anchor chain"))
    assert delta.after == {"summary": "The anchor chain", "embedding_model": None}
    assert memory.at()["embedding_pending"]
    assert centroid(memory) == (0, [])
    assert found(memory, Question("anchor")) == ["#Notes the walnut desk"]
    heal_pending(context, user_id=memory.claims.user_id)
    row = memory.row()
    assert (row["embedding_pending"], row["embedding_model"]) == (False, "words")
    assert centroid(memory)[0] == 1
    assert memory.operations == ["embed", "revise", "create"]
    assert memory.deltas[0].authored_by == pipeline_author("words")
    assert memory.deltas[0].before == {"embedding_model": None}
    assert (row["embedding"].to_numpy() == centroid(memory)[1]).all()


def test_pending_record_is_embedded_as_revised(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "#Notes the walnut desk")
    down = context.using(embedder=WordEmbedder(fault=TransientError("down")))
    (record,) = stored(ingest(down, user))
    memory = Memory(here, context.embedder, claims, record.record_id)
    memory.revise(Revision(summary="The anchor chain"))
    assert memory.row()["embedding_pending"]
    heal_pending(context, user_id=user.user_id)
    assert memory.operations == ["embed", "revise", "create"]
    assert explained(ask(memory, Question("the anchor chain", explain=True)).hits[0])["summary_dense"] > 0.9


class RevisedMeanwhile(NamedEmbedder):
    """Another model; while it works, somebody revises what it was given."""

    def __init__(self, memory: Memory) -> None:
        super().__init__("another")
        self.memory: Memory | None = memory

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        if self.memory is not None and kind == "document":
            memory, self.memory = self.memory, None
            memory.revise(Revision(summary="The anchor chain"))
        return super().embed(texts, kind)


def test_stale_vectors_are_not_written(here: Installation, context: Context, memory: Memory) -> None:
    embedder = RevisedMeanwhile(memory)
    moving = context.using(embedder=embedder)
    until = datetime.now(UTC) + timedelta(days=1)
    done = reembed(moving, None, until, memory.claims.user_id)
    assert [(record_id, "revised while" in reason) for record_id, reason in done.failed] == [(memory.record_id, True)]
    assert memory.row()["embedding_model"] == "words"
    reembed(moving, None, until, memory.claims.user_id)
    assert memory.row()["embedding_model"] == "another"
    assert memory.deltas[0].before == {"embedding_model": "words"}
    assert memory.deltas[0].after == {"embedding_model": "another"}
    assert memory.operations == ["embed", "revise", "create"]


# Superseded records


def test_superseded_record_is_not_searched(memory: Memory, remember: Remember) -> None:
    newer = remember("the oak desk")
    desks = ["#Notes the oak desk", "#Notes the walnut desk"]
    question = Question("which desk")
    assert found(memory, question) == desks
    delta = memory.supersede(newer.record_id)
    assert (delta.operation, delta.before) == ("supersede", {"superseded_by": None})
    assert memory.at()["superseded_by"] == str(newer.record_id)
    answer = ask(memory, question)
    assert [hit.record_id for hit in answer.hits] == [newer.record_id]
    assert {message.record_id for message in answer.messages} == {newer.record_id}
    assert answer.hits[0].superseded is None

    everything = replace(question, include_superseded=True)
    assert {hit.title: hit.superseded for hit in ask(memory, everything).hits} == dict(
        zip(desks, (False, True), strict=True)
    )
    assert found(memory, replace(question, at=delta.changed_at - MICROSECOND)) == desks
    assert found(memory, replace(question, at=delta.changed_at)) == desks[:1]

    undone = memory.supersede(None)
    assert (undone.operation, undone.after) == ("restore", {"superseded_by": None})
    assert found(memory, question) == desks
    assert found(memory, replace(question, at=undone.changed_at)) == desks
    assert found(memory, replace(question, at=undone.changed_at - MICROSECOND)) == desks[:1]
    again = ask(memory, replace(everything, at=undone.changed_at - MICROSECOND))
    assert {hit.title: hit.superseded for hit in again.hits} == dict(zip(desks, (False, True), strict=True))


def test_superseding_has_no_cycles(memory: Memory, remember: Remember) -> None:
    second, third = remember("the oak desk"), remember("the beech desk")
    with pytest.raises(InvalidInputError, match="cannot supersede itself"):
        memory.supersede(memory.record_id)
    memory.supersede(second.record_id)
    second.supersede(third.record_id)
    with pytest.raises(ConflictError, match="superseded by this one"):
        third.supersede(memory.record_id)
    memory.supersede(third.record_id)  # from one to another
    assert memory.deltas[0].before == {"superseded_by": str(second.record_id)}
    assert len(memory.row()["superseded"]) == 1


def test_concurrent_mutual_superseding(memory: Memory, remember: Remember) -> None:
    other = remember("the oak desk")

    def attempt(pair: tuple[Memory, Memory]) -> bool:
        try:
            pair[0].supersede(pair[1].record_id)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, [(memory, other), (other, memory)])) == [False, True]


def test_foreign_record_cannot_supersede(here: Installation, context: Context, memory: Memory) -> None:
    user, claims = new_user(here)
    converse(here, claims, "#Notes the oak desk")
    (theirs,) = stored(ingest(context, user))
    with pytest.raises(NotFoundError, match=r"^not found$"):
        memory.supersede(theirs.record_id)
    assert memory.operations == ["create"]


# Searching the past


def test_search_at_past_shows_old_text(memory: Memory) -> None:
    (first,) = memory.deltas
    second = memory.revise(Revision(title="The desk", summary="Still of walnut"))
    memory.revise(Revision(title="The anchor", summary="An anchor, not a desk"))
    question = Question("walnut desk")
    (then,) = ask(memory, replace(question, at=second.changed_at)).hits
    assert (then.title, then.summary) == ("The desk", "Still of walnut")
    (before,) = ask(memory, replace(question, at=first.changed_at)).hits
    assert before.title == "#Notes the walnut desk"
    (now,) = ask(memory, question).hits
    assert now.title == "The anchor"
