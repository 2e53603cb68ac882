"""Changes that wait for a person, as steps of a walk: "what changed" is answered before anybody approved it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.walks import Step, Walk
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.views.kinds import EndKind

RELATION = "updates"
FORWARD, BACKWARD = "may replace", "may be replaced by"

_QUERIES = statements("walks")


class _OpenChange(NamedTuple):
    """An update that waits for a person: a row of the query ``open_changes``."""

    later_id: UUID
    earlier_id: UUID
    confidence: float
    later: str
    earlier: str
    later_at: datetime
    earlier_at: datetime


def with_open_changes(context: Context, found: Walk) -> Walk:
    """Return a walk with the facts that its facts may replace, or may be replaced by."""
    first: dict[UUID, int] = {}
    for step in found.steps:
        first.setdefault(step.memory_id, step.step)
    values = {"ids": list(first)}
    rows = ask_rows(context.database, context.claims, _QUERIES["open_changes"], _OpenChange, values)
    steps = list(found.steps)
    for row in rows:
        is_forward = row.later_id in first
        parent = steps[first[row.later_id if is_forward else row.earlier_id] - 1]
        if (row.earlier_id if is_forward else row.later_id) not in first:
            steps.append(_step(row, parent, len(steps) + 1, is_forward=is_forward))
            first[steps[-1].memory_id] = len(steps)
        elif parent.hops == 0 and steps[first[row.earlier_id] - 1].hops == 0:
            place = first[row.earlier_id] - 1
            steps.append(_step(row, parent, len(steps) + 1, is_forward=True))
            steps[place] = steps[place]._replace(is_wanted=False)
            first[row.earlier_id] = len(steps)
    return Walk(steps)


def _step(row: _OpenChange, parent: Step, number: int, *, is_forward: bool) -> Step:
    return Step(
        step=number,
        parent=parent.step,
        hops=parent.hops + 1,
        kind=EndKind.FACT,
        memory_id=row.earlier_id if is_forward else row.later_id,
        link_id=None,
        relation=RELATION,
        is_forward=is_forward,
        words=FORWARD if is_forward else BACKWARD,
        strength=row.confidence,
        score=parent.score * row.confidence,
        label=row.earlier if is_forward else row.later,
        said_at=row.earlier_at if is_forward else row.later_at,
        is_wanted=True,
        is_cut=False,
        is_late=False,
    )
