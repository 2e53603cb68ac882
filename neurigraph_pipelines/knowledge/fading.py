"""Fading: facts of low impact that nobody needed for long are archived, each with a delta; none is erased.

``confirm`` brings one back, as it does with a fact that was taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.facts import days_until
from neurigraph_pipelines.views.kinds import Impact

FADED = 0.05
"""The remaining weight at which a fact is archived; a fact of low impact reaches it after 389 days."""

AUTHOR = "pipeline:decay"
_SECONDS = days_until(Impact.LOW, FADED) * 86_400
_AT_ONCE = 500
_QUERIES = statements("fading")


@dataclass(slots=True)
class Faded:
    """The result of a sweep, or of its dry run: the facts that were archived, or would be.

    Attributes:
        finished: False if the limit was reached; the next run continues.
    """

    fact_ids: list[UUID] = field(default_factory=list)
    finished: bool = True


def sweep(
    context: Context,
    *,
    limit: int = 10_000,
    user_id: UUID | None = None,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> Faded:
    """Archive facts that faded: of low impact, not pinned, needed by no other, and neither used nor confirmed for long.

    Args:
        limit: Most facts of one run.
        user_id: Only this user's facts.
        dry_run: Find them, and change nothing.
        on_done: Called with the number of facts that were just archived.
    """
    with context.database.owner() as tx:  # asks the nodes when their memories were opened
        values = {"user_id": user_id, "limit": limit, "seconds": _SECONDS}
        due = tx.execute(_QUERIES["faded"], values).fetchall()
    report = Faded(finished=len(due) < limit)
    of_user = itemgetter("user_id")
    for owner, rows in groupby(sorted(due, key=of_user), key=of_user):
        fact_ids = [row["fact_id"] for row in rows]
        for start in range(0, len(fact_ids), _AT_ONCE):
            some = fact_ids[start : start + _AT_ONCE]
            done = some if dry_run else _fade(context, owner, some)
            report.fact_ids += done
            if on_done is not None:
                on_done(len(done))
    return report


def wrongly_faded(context: Context, limit: int = 1_000) -> list[UUID]:
    """Return facts that faded although they matter or are pinned."""
    with context.database.pipeline() as tx:
        return [row["fact_id"] for row in tx.execute(_QUERIES["wrongly_faded"], {"limit": limit})]


def _fade(context: Context, user_id: UUID, fact_ids: list[UUID]) -> list[UUID]:
    with context.database.pipeline() as tx:
        lock_facts(tx, user_id)
        authored(tx, AUTHOR)
        done = tx.execute(_QUERIES["fade"], {"fact_ids": fact_ids, "seconds": _SECONDS}).fetchall()
    return [row["fact_id"] for row in done]
