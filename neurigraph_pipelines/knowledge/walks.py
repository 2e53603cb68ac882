"""Walks from facts along links, versions and verdicts: the call of the database, and the paths in words.

Which facts a question begins at, and which fields are shown, belongs in ``fact_queries``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.links import own_words
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.views.fact_queries import WalkedEnd, WalkedLink
from neurigraph_pipelines.views.kinds import EndKind

PATIENCE_SECONDS = 2.0
"""Time after which a walk goes no level further."""

MOST_SEEDS = 200
"""Most facts that a walk begins at."""

_LABEL = 160
_QUERIES = statements("walks")


@dataclass(frozen=True, slots=True)
class Route:
    """How a walk goes.

    Attributes:
        depth: Most steps from a fact.
        forwards: Relations that are followed from their start; None for all.
        backwards: Relations that are followed from their end; None for all.
        min_strength: Weaker links are not followed.
        at: Only facts that were known at this moment; None for now.
        valid_at: Only facts and links that held at this moment in the world; None for links that hold now.
        with_archived: Also over facts that were retracted.
        wanted: Conditions of the facts that are shown: ``impact``, ``who``, ``after``, ``before``.
    """

    depth: int
    forwards: Sequence[str] | None = None
    backwards: Sequence[str] | None = None
    min_strength: float = 0.3
    at: datetime | None = None
    valid_at: datetime | None = None
    with_archived: bool = False
    wanted: Mapping[str, object] = field(default_factory=dict)


class Step(NamedTuple):
    """A memory that a walk reached: a row of ``neurigraph.walk_facts``.

    Attributes:
        step: Its place in the walk, from 1.
        parent: The place of the step before it; None where a path begins, and the link to it is empty, too.
    """

    step: int
    parent: int | None
    hops: int
    kind: EndKind
    memory_id: UUID
    link_id: UUID | None
    relation: str
    is_forward: bool
    words: str | None
    strength: float
    score: float
    label: str | None
    said_at: datetime
    is_wanted: bool
    is_cut: bool
    is_late: bool


@dataclass(frozen=True, slots=True)
class Walk:
    """The result of a walk.

    Attributes:
        steps: In the order of the walk.
    """

    steps: Sequence[Step]

    @property
    def notes(self) -> list[str]:
        """The parts that the walk left out, one sentence each."""
        notes = []
        if any(step.is_cut for step in self.steps):
            notes.append("more than 200 memories lie one step further: only the strongest were followed")
        if any(step.is_late for step in self.steps):
            notes.append(f"the walk took more than {PATIENCE_SECONDS:g} seconds and ended early: ask for fewer hops")
        return notes

    def joined(self, other: Walk) -> Walk:
        """Return both walks as one."""
        before = len(self.steps)
        moved = [
            step._replace(step=step.step + before, parent=step.parent and step.parent + before) for step in other.steps
        ]
        return Walk([*self.steps, *moved])

    def path(self, step: Step) -> list[Step]:
        """Return the steps from the fact where a path begins to this one."""
        path = [step]
        while path[-1].parent is not None:
            path.append(self.steps[path[-1].parent - 1])
        return path[::-1]


@measured("search.walk")
def walk(context: Context, seeds: Sequence[tuple[UUID, float]], route: Route) -> Walk:
    """Walk from some facts, each with its score, to the facts that the caller sees from there."""
    if not seeds:
        return Walk([])
    moments = {"at": route.at, "valid_at": route.valid_at}
    asked = {
        "seeds": [{"fact_id": str(fact_id), "score": score} for fact_id, score in seeds[:MOST_SEEDS]],
        "depth": route.depth,
        "forwards": route.forwards,
        "backwards": route.backwards,
        "min_strength": route.min_strength,
        "with_archived": route.with_archived,
        "patience": PATIENCE_SECONDS,
        "who": [],
        **{name: moment and moment.isoformat() for name, moment in moments.items()},
        **route.wanted,
    }
    return Walk(
        ask_rows(context.database, context.claims, _QUERIES["walk"], Step, {"asked": json.dumps(asked)}, binary=True)
    )


def described(path: Sequence[Step]) -> str:
    """Return a path in words: “A” was caused by “B”, which supports “C”."""
    parts = [named(path[0])]
    for place, step in enumerate(path[1:]):
        parts.append(
            f"{', which' if place else ''} {step.words or own_words(step.relation, step.is_forward)} {named(step)}"
        )
    return "".join(parts) + "."


def named(step: Step) -> str:
    """Return a memory as a path names it: a fact in quotation marks, with its day."""
    if step.kind == "fact":
        text = str(step.label).rstrip(". ")
        text = text if len(text) <= _LABEL else f"{text[:_LABEL]}…"
        return f"“{text}” ({step.said_at:%Y-%m-%d})"
    if step.kind == "record":
        return f"a memory in {step.label} ({step.said_at:%Y-%m-%d})"
    return f"{step.label or 'a source'}"


def place_of(step: Step) -> WalkedEnd:
    """Return a memory of a path."""
    return WalkedEnd(kind=step.kind, id=step.memory_id, label=step.label)


def link_of(parent: Step, step: Step) -> WalkedLink:
    """Return the link that led from one memory to the next, in the direction in which it is stated."""
    ends = (parent.memory_id, step.memory_id)
    start, end = ends if step.is_forward else ends[::-1]
    return WalkedLink(link_id=step.link_id, from_id=start, to_id=end, relation=step.relation, strength=step.strength)
