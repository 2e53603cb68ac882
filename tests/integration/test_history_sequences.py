"""Random sequences of changes with a jumping clock: every past state stays readable."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.graph.history import EVOLVING
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.reembed import reembed
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import MICROSECOND, Memory
from tests.support.memories import converse, ingest, new_user, stored
from tests.support.vectors import NamedEmbedder

pytestmark = pytest.mark.slow

# A path is of the nodes, and theirs to change; a tier is not in the record's row.
FIELDS = [field for field in EVOLVING if field not in ("node_path", "tier")]
AUTHORS = ("the owner", "an assistant")
MODELS = ("one", "two")

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20).filter(str.strip)
keywords = st.none() | st.lists(words, max_size=3)


@dataclass(frozen=True, slots=True)
class Jump:
    """Shift the server's clock ahead."""

    by: timedelta


@dataclass(frozen=True, slots=True)
class Supersede:
    by: int | None


@dataclass(frozen=True, slots=True)
class Move:
    to: int


@dataclass(frozen=True, slots=True)
class Embed:
    """The installation's embedder is now this one, and a backfill and a healing run."""

    model: str


revisions = st.builds(
    Revision, title=words, summary=st.none() | words, entities=keywords, topics=keywords, dates=keywords
)
steps = st.lists(
    st.tuples(
        st.sampled_from(AUTHORS),
        st.one_of(
            revisions,
            revisions,
            st.builds(Supersede, st.none() | st.integers(0, 1)),
            st.builds(Move, st.integers(0, 1)),
            st.builds(Embed, st.sampled_from(MODELS)),
            st.builds(Jump, st.timedeltas(timedelta(days=-30), timedelta(days=30))),
        ),
    ),
    max_size=12,
)


class Story:
    """A memory with two others beside it, changed step by step, and every state that it was in."""

    def __init__(self, here: Installation, context: Context) -> None:
        user, claims = new_user(here)
        self.here, self.user = here, user
        self.context = context.using(embedder=NamedEmbedder(MODELS[0], 16))
        for text in ("#Notes the walnut desk", "#Work the oak desk", "#Work the beech desk"):
            converse(here, claims, text)
        records = sorted(stored(ingest(self.context, user)), key=lambda record: record.title)
        self.memory, *self.others = (Memory(here, self.context.embedder, claims, r.record_id) for r in records)
        self.nodes = [memory.place["node_id"] for memory in (self.memory, self.others[0])]
        self.states = [(self.memory.deltas[0].changed_at, self.state())]
        self.authors = [self.memory.deltas[0].authored_by]

    def state(self) -> dict[str, Any]:
        """Return the current state of the record from its row."""
        row = {name.removeprefix("kw_"): value for name, value in self.memory.row().items()}
        return {
            field: str(row[field]) if "_id" in field or field == "superseded_by" else row[field] for field in FIELDS
        }

    def step(self, author: str, change: object) -> None:
        if isinstance(change, Jump):
            self.memory.clock_jumps(change.by)
            self.states = [(w - change.by, state) for w, state in self.states]
            return
        before = self.state()
        author_of_change = f"user:{author}"
        self.memory.claims = Claims(author, "user", self.user.user_id)
        if isinstance(change, Revision):
            self.memory.revise(change)
        elif isinstance(change, Supersede):
            self.memory.supersede(None if change.by is None else self.others[change.by].record_id)
        elif isinstance(change, Move):
            move_records(self.here.database, self.memory.claims, [self.memory.record_id], self.nodes[change.to])
        elif isinstance(change, Embed):
            embedder = NamedEmbedder(change.model, 16)
            self.context, self.memory.embedder = self.context.using(embedder=embedder), embedder
            reembed(self.context, None, datetime(2200, 1, 1, tzinfo=UTC), self.user.user_id)
            heal_pending(self.context, user_id=self.user.user_id)
            author_of_change = f"pipeline:{change.model}"
        if self.state() != before:
            self.states.append((self.memory.deltas[0].changed_at, self.state()))
            self.authors.append(author_of_change)

    def recorded(self, moment: datetime) -> dict[str, Any]:
        found = self.memory.at(moment)
        return {field: str(found[field]) if field == "superseded_by" else found[field] for field in FIELDS}


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps)
def test_every_past_state_is_readable(
    here: Installation, context: Context, chosen: Sequence[tuple[str, object]]
) -> None:
    story = Story(here, context)
    for author, change in chosen:
        story.step(author, change)
    deltas = story.memory.deltas[::-1]
    assert [delta.authored_by for delta in deltas] == story.authors
    assert (
        [delta.changed_at for delta in deltas] == [w for w, _ in story.states] == sorted({w for w, _ in story.states})
    )
    assert [delta.previous_delta_id for delta in deltas] == [None, *(delta.delta_id for delta in deltas[:-1])]
    for number, (w, state) in enumerate(story.states):
        assert story.recorded(w) == state
        if number:
            assert story.recorded(w - MICROSECOND) == story.states[number - 1][1]
        else:
            with pytest.raises(NotFoundError):
                story.memory.at(w - MICROSECOND)
    assert story.recorded(datetime(2400, 1, 1, tzinfo=UTC)) == story.state()
    assert verify(here.context, user_id=story.user.user_id).findings == []


def test_concurrent_changes_lose_nothing(here: Installation, context: Context) -> None:
    story = Story(here, context)
    memory, owner = story.memory, story.memory.claims
    stop = threading.Event()

    def revisions() -> int:
        for number in range(40):
            memory.revise(Revision(title=f"title {number}", summary=f"the desk number {number}"))
        return 40

    def supersessions() -> int:
        for number in range(20):
            memory.supersede(story.others[0].record_id if number % 2 == 0 else None)
        return 20

    def moves() -> int:
        for number in range(20):
            move_records(here.database, owner, [memory.record_id], story.nodes[1 - number % 2])
        return 20

    def commits() -> int:
        while not stop.is_set():
            converse(here, owner, "#Notes one more desk", "#Work and a chair")
            ingest(story.context, story.user)
        return 0

    def searches() -> int:
        while not stop.is_set():
            search(here.acting_for(owner).using(embedder=story.context.embedder), Question("desk"))
            assert memory.at()["record_id"] == str(memory.record_id)
        return 0

    with ThreadPoolExecutor(5) as pool:
        changing = [pool.submit(work) for work in (revisions, supersessions, moves)]
        beside = [pool.submit(work) for work in (commits, searches)]
        changes = sum(work.result() for work in changing)
        stop.set()
        assert [work.result() for work in beside] == [0, 0]
    deltas = memory.deltas[::-1]
    assert len(deltas) == 1 + changes
    assert [delta.previous_delta_id for delta in deltas] == [None, *(delta.delta_id for delta in deltas[:-1])]
    assert memory.at()["title"] == "title 39"
    assert memory.place["node_id"] == story.nodes[0]
    assert memory.row()["superseded_by"] is None
    assert verify(here.context, user_id=story.user.user_id).findings == []
