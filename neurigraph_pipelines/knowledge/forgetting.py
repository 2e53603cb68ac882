"""Forgetting facts at the time that somebody set: hidden at once, and erased with a receipt 30 days later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import row_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NeurigraphError, NotFoundError

MAX_FORGOTTEN = 1_000
"""Default limit of facts per run."""

KEPT_SECONDS = 30 * 86_400.0
"""How long a forgotten fact can be taken back before it is erased."""

_QUERIES = statements("forgotten_facts")


@dataclass(slots=True)
class Forgotten:
    """The result of a sweep: how many facts were hidden and erased, and which failed, with the reason."""

    hidden: int = 0
    erased: int = 0
    failed: list[tuple[UUID, str]] = field(default_factory=list)


def sweep(context: Context, limit: int = MAX_FORGOTTEN) -> Forgotten:
    """Mark the facts whose time has come, and erase the facts that were marked 30 days ago."""
    done = Forgotten()
    with context.database.pipeline() as tx:
        authored(tx, "pipeline:forget_after")
        done.hidden = len(tx.execute(_QUERIES["hide_due"], {"limit": limit}).fetchall())
    tried: list[UUID] = []
    while len(tried) < limit and (row := _next_to_erase(context, tried)) is not None:
        tried.append(row.fact_id)
        owner = Claims.of_user(row.user_id)
        try:
            forget(context.acting_for(owner), ErasureSubject(SubjectKind.FACT, row.fact_id), through="forget_after")
            done.erased += 1
        except NotFoundError:  # erased meanwhile
            continue
        except NeurigraphError as error:
            done.failed.append((row.fact_id, str(error)))
    return done


class _ToErase(NamedTuple):
    """A fact that has been forgotten long enough, with the owner who gets the receipt."""

    fact_id: UUID
    user_id: UUID


def _next_to_erase(context: Context, tried: Sequence[UUID]) -> _ToErase | None:
    """Return the fact to erase next: each is looked up when its turn comes, because its owner may take it back."""
    with context.database.pipeline() as tx:
        return row_of(tx, _QUERIES["to_erase"], _ToErase, {"seconds": KEPT_SECONDS, "tried": tried})
