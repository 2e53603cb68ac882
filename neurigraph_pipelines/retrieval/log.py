"""The log of retrievals: who asked when, and which memories were returned.

Canaries are watched along with it, and accesses counted that extend the lives of memories.

Entries are written in the background after the answer: a search neither waits for them nor fails with them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Literal
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.retention import retention_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.caches import MOST_WATCHES, WATCH_SECONDS, caches_of
from neurigraph_pipelines.views.retention import Retention
from neurigraph_pipelines.views.scalars import Row

Operation = Literal["search", "ask", "open"]

MAX_LISTED = 1_000
_PURGED_AT_ONCE = 10_000
_SECONDS_PER_DAY = 86_400
_WATCHED, _EXPIRING = "is_watched", "expires"

_log = logging.getLogger(__name__)
_QUERIES = statements("retrievals")


@dataclass(frozen=True, slots=True)
class Retrieval:
    """One entry of the log.

    Attributes:
        role: ``user`` for the owner of the graph, ``persona`` or ``third_party``.
        subject_id: The owner's id, the persona's node, or the third party's name.
        question: Only if the settings ask for it.
    """

    asked_at: datetime
    operation: Operation
    role: str
    subject_id: str
    record_ids: tuple[UUID, ...]
    question: str | None


def note(context: Context, operation: Operation, record_ids: Iterable[str | UUID], question: str | None = None) -> None:
    """Note in the background that the caller retrieved some records.

    Accesses of records that expire are counted with it. Nothing is sent if the log is off and the graph is known to
    have neither such records nor canaries.
    """

    def noted() -> None:
        if not _is_due(context):
            return
        found = [UUID(one) for one in dict.fromkeys(map(str, record_ids))]
        if found:
            asked = question if context.settings.retrieval.retrieval_log_questions else None
            values: dict[str, object] = {"operation": operation, "record_ids": found, "question": asked}
            _send(context, operation, _QUERIES["note"], values)

    enriched("log of retrievals", noted, lambda: None)


def note_open(context: Context, file_id: UUID) -> None:
    """Note in the background that the caller opened a file or a message in it."""
    if _is_due(context):
        _send(context, "open", _QUERIES["note_open"], {"file_id": file_id})


def _is_due(context: Context) -> bool:
    """Return whether the log is on, or the graph may have canaries or records that expire."""
    if not context.is_noted:
        return False
    if context.settings.retrieval.retrieval_log_days > 0:
        return True
    caches, user_id = caches_of(context.database), context.claims.user_id
    return any(caches.watches.peek(bool, (watch, user_id)) is not False for watch in (_WATCHED, _EXPIRING))


def expiring(context: Context, record_ids: Iterable[str]) -> dict[str, Retention]:
    """Return the retention of records that are about to be shown, if anything in the graph may expire.

    Asked of the database in one statement, about a millisecond, and not at all in graphs where nothing expires.
    """

    def read() -> dict[str, Retention]:
        if caches_of(context.database).watches.peek(bool, (_EXPIRING, context.claims.user_id)) is False:
            return {}
        kept = retention_of(context.database, context.claims, [UUID(one) for one in record_ids])
        return {str(record_id): one for record_id, one in kept.items()}

    return enriched("retention", read, dict)


def remember_watches(database: Database, claims: Claims, row: Row) -> None:
    """Remember for a while whether a graph has canaries, and records that expire, as a row of a query says."""
    for watch in (_WATCHED, _EXPIRING):
        caches_of(database).watches.put((watch, claims.user_id), row[watch], MOST_WATCHES, seconds=WATCH_SECONDS)


def _send(context: Context, operation: Operation, query: sql.SQL | sql.Composed, parameters: dict[str, object]) -> None:
    database, claims = context.database, context.claims
    values = {**parameters, "is_logged": context.settings.retrieval.retrieval_log_days > 0}
    if not database.later(claims, query, values, partial(_watch, database, claims, operation)):
        _log.warning("a retrieval was not noted: too many statements are waiting")


def _watch(database: Database, claims: Claims, operation: str, rows: Sequence[Row]) -> None:
    """Report canaries that were retrieved, and remember whether there are any to watch."""
    for row in rows:
        remember_watches(database, claims, row)
        if row["canary"] is not None:
            _log.error(
                "canary retrieved: source %s, user %s, by %s %s, operation %s",
                *(row["canary"], claims.user_id, claims.role, claims.sub, operation),
            )


def list_retrievals(
    database: Database,
    claims: Claims,
    *,
    record_id: UUID | None = None,
    since: datetime | None = None,
    limit: int = MAX_LISTED,
) -> list[Retrieval]:
    """Return the entries of the log, newest first, of one record or of all.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    require_owner(claims)
    parameters = {"user_id": claims.user_id, "record_id": record_id, "since": since, "limit": limit}
    with database.agent(claims) as tx:
        rows = tx.execute(_QUERIES["list"], parameters).fetchall()
    return [Retrieval(**{**row, "record_ids": tuple(row["record_ids"])}) for row in rows]


def purge_retrievals(database: Database, days: int) -> int:
    """Remove entries that are older than so many days, of all users; return how many."""
    removed, parameters = 0, {"seconds": days * _SECONDS_PER_DAY, "limit": _PURGED_AT_ONCE}
    while True:
        with database.owner() as tx:
            done = tx.execute(_QUERIES["purge"], parameters).rowcount
        removed += done
        if done < _PURGED_AT_ONCE:
            return removed
