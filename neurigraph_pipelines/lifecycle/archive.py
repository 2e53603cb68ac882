"""The archive: records that are out of every default read, and can be brought back with their tier.

An archived record is hidden by the mark that quarantine sets (``quarantined``), so every read leaves it out by the one
condition that it has. A record is marked while a quarantine holds it or the archive does.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.asking import rows_of, views_of
from neurigraph_pipelines.database.paging import Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of, authored
from neurigraph_pipelines.graph.locks import lock_graph_exclusive, lock_graph_shared, lock_rows
from neurigraph_pipelines.graph.shell import rebuild_followers
from neurigraph_pipelines.graph.witnesses import Followers, followers_of
from neurigraph_pipelines.lifecycle.retention import MAX_REASON, promote_records
from neurigraph_pipelines.model import MAX_LAYER_DEPTH
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.retention import Archived

MAX_ARCHIVED = 100
"""Most records of one request."""

EXPIRED = "its time was over"
"""The reason of records that a sweep archives."""

_AT_ONCE = 100
_PROMOTER, _SWEEPER = "pipeline:promotion", "pipeline:expiry"
_QUERIES, _QUARANTINE = statements("retention"), statements("quarantine")


class _OfUser(NamedTuple):
    """A record with its owner."""

    record_id: UUID
    user_id: UUID


class _Placed(NamedTuple):
    """A record with its node."""

    record_id: UUID
    node_id: UUID


class _InArchive(NamedTuple):
    """A record of the archive."""

    record_id: UUID
    node_id: UUID
    is_being_erased: bool
    is_quarantined: bool


@dataclass(slots=True)
class Expiry:
    """The result of a sweep, or of its dry run.

    Attributes:
        record_ids: The records that were archived, or would be.
        failed: Users whose records stay for now, with the reason.
        finished: False if the limit was reached; the next run continues.
    """

    promoted: int = 0
    archived: int = 0
    record_ids: list[UUID] = field(default_factory=list)
    failed: list[tuple[UUID, str]] = field(default_factory=list)
    finished: bool = True


def archive(context: Context, record_ids: Sequence[UUID], reason: str, *, guard: Guard = FREE) -> list[UUID]:
    """Put records out of every default read, all or none; return the records that were not in the archive before.

    What one of them had superseded is current again, as if it were in quarantine.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: There are too many of them, or the reason is empty or too long.
        NotFoundError: One of them does not exist, or is in quarantine.
        TransientError: Others keep writing to these nodes; nothing was changed.
    """
    claims = context.claims
    require_owner(claims)
    reason = clean_text(reason, "repair")[0].strip()
    if not 1 <= len(reason) <= MAX_REASON:
        raise InvalidInputError(f"the reason of an archived memory has 1 to {MAX_REASON} characters")
    wanted = _wanted(record_ids)
    with context.database.owner() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        known = {row.record_id for row in _rows_in_archive(tx, claims.user_id, wanted)}
        authored(tx, author_of(claims), claims)
        fresh = [one for one in wanted if one not in known]
        done = _archive(tx, claims.user_id, slug, fresh, reason, author_of(claims), only_due=False)
        if len(done) < len(fresh):
            missing = next(one for one in fresh if one not in set(done))
            raise NotFoundError(f"there is no record {missing}")
    return done


def restore(context: Context, record_ids: Sequence[UUID], *, guard: Guard = FREE) -> list[UUID]:
    """Bring records back with the tiers that they had, all or none. One that expires begins a life again.

    Returns:
        The records that were brought back. One that a quarantine holds is hidden until that is released.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: There are too many of them.
        NotFoundError: One of them is not in the archive, or is being erased.
        TransientError: Others keep writing to these nodes; nothing was changed.
    """
    claims = context.claims
    require_owner(claims)
    wanted = _wanted(record_ids)
    with context.database.owner() as tx:
        slug = lock_graph_exclusive(tx, claims.user_id)
        guard.admit(tx)
        rows = _rows_in_archive(tx, claims.user_id, wanted)
        found = {row.record_id for row in rows if not row.is_being_erased}
        missing = next((one for one in wanted if one not in found), None)
        if missing is not None:
            raise NotFoundError(f"there is no record {missing} in the archive")
        authored(tx, author_of(claims), claims)
        tx.execute(_QUERIES["restore"], {"record_ids": wanted, "author": author_of(claims)})
        _show(tx, slug, [row for row in rows if not row.is_quarantined])
    return wanted


def sweep(
    context: Context,
    *,
    limit: int = 10_000,
    user_id: UUID | None = None,
    overdue_seconds: float = 0.0,
    dry_run: bool = False,
    on_done: Callable[[int], None] | None = None,
) -> Expiry:
    """Promote records that were read often, and archive records whose time is over. Nothing is erased.

    Each transaction archives some records of one user completely, so the sweep can stop anywhere.

    Args:
        limit: Most records of one run.
        user_id: Only this user's records.
        overdue_seconds: Only records whose time has been over for this long.
        dry_run: Count, and change nothing.
        on_done: Called with the number of records that were just archived.
    """
    values = {"user_id": user_id, "limit": limit, "overdue_seconds": overdue_seconds}
    with context.database.pipeline() as tx:
        often_read = rows_of(tx, _QUERIES["promotable"], _OfUser, values)
    report = Expiry(len(often_read) if dry_run else _promote(context, often_read))
    with context.database.pipeline() as tx:
        due = rows_of(tx, _QUERIES["due"], _OfUser, values)
    report.finished = max(len(due), len(often_read)) < limit
    spared = {row.record_id for row in often_read} if dry_run else set()
    for owner, some in _by_user(row for row in due if row.record_id not in spared):
        done = some if dry_run else _archive_due(context, owner, some, report)
        report.record_ids += done
        report.archived += len(done)
        if on_done is not None:
            on_done(len(done))
    return report


def wrongly_shown(context: Context, limit: int = 1_000) -> list[UUID]:
    """Return records of the archive that reads do not leave out."""
    with context.database.pipeline() as tx:
        return [row["record_id"] for row in tx.execute(_QUERIES["wrongly_shown"], {"limit": limit})]


def page_of_archive(asked: Listing) -> Page[Archived]:
    """Return a page of the archive of the caller's graph, the last archived first.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The cursor is not one of this list.
    """
    require_owner(asked.claims)

    def read(place: dict[str, object]) -> list[Archived]:
        # The policies hide archived records from faces. The query names the user.
        with asked.database.owner() as tx:
            return views_of(tx, _QUERIES["archived"], Archived, {"user_id": asked.claims.user_id, **place})

    return asked.by_time("archive", {}, read, lambda one: (one.archived_at, one.record_id))


def _wanted(record_ids: Sequence[UUID]) -> list[UUID]:
    wanted = list(dict.fromkeys(record_ids))
    if not 1 <= len(wanted) <= MAX_ARCHIVED:
        raise InvalidInputError(f"name 1 to {MAX_ARCHIVED} records, not {len(wanted):,}")
    return wanted


def _rows_in_archive(tx: Transaction, user_id: UUID, record_ids: Sequence[UUID]) -> list[_InArchive]:
    values = {"record_ids": list(record_ids), "user_id": user_id}
    return rows_of(tx, _QUERIES["lock_for_restore"], _InArchive, values)


def _promote(context: Context, rows: Sequence[_OfUser]) -> int:
    promoted = 0
    for owner, some in _by_user(rows):
        with context.database.pipeline() as tx:
            lock_graph_shared(tx, owner)
            authored(tx, _PROMOTER)
            promoted += promote_records(tx, context.settings, some, _PROMOTER)
    return promoted


def _by_user(rows: Iterable[_OfUser]) -> Iterator[tuple[UUID, list[UUID]]]:
    """Yield the records of one user at a time, some at once."""
    of_user = attrgetter("user_id")
    for owner, group in groupby(sorted(rows, key=of_user), key=of_user):
        record_ids = [row.record_id for row in group]
        for start in range(0, len(record_ids), _AT_ONCE):
            yield owner, record_ids[start : start + _AT_ONCE]


def _archive_due(context: Context, user_id: UUID, record_ids: Sequence[UUID], report: Expiry) -> list[UUID]:
    """Archive records of one user that are still due; note why if that is not possible now."""
    try:
        with context.database.owner() as tx:
            slug = lock_graph_exclusive(tx, user_id)
            authored(tx, _SWEEPER)
            return _archive(tx, user_id, slug, record_ids, EXPIRED, _SWEEPER, only_due=True)
    except NotFoundError:  # the user was erased meanwhile
        return []
    except NeurigraphError as error:
        report.failed.append((user_id, str(error)))
        return []


def _archive(
    tx: Transaction,
    user_id: UUID,
    slug: str,
    record_ids: Sequence[UUID],
    reason: str,
    author: str,
    *,
    only_due: bool,
) -> list[UUID]:
    """Archive records with everything that is counted from them; the caller has locked the graph exclusively."""
    # Accesses that wait for these rows come too late, and those before are counted.
    tx.execute(_QUERIES["lock_retention"], {"record_ids": list(record_ids)})
    values = {"record_ids": list(record_ids), "user_id": user_id, "only_due": only_due}
    rows = rows_of(tx, _QUERIES["lock_for_archive"], _Placed, values)
    if not rows:
        return []
    _lock_nodes(tx, {row.node_id for row in rows})
    chosen = [row.record_id for row in rows]
    followers = followers_of(tx, chosen)
    tx.execute(_QUERIES["archive"], {"record_ids": chosen, "user_id": user_id, "author": author, "reason": reason})
    tx.execute(_QUARANTINE["set_quarantined"], {"record_ids": chosen, "hidden": True})
    for layer in range(MAX_LAYER_DEPTH, 0, -1):
        tx.execute(_QUARANTINE["hide_nodes"], {"user_id": user_id, "record_ids": chosen, "layer": layer})
    # A node's definition stays true when a record fades, so it stays.
    rebuild_followers(tx, Followers(followers.node_ids), slug, keep_defined=True)
    return chosen


def _show(tx: Transaction, slug: str, rows: Sequence[_InArchive]) -> None:
    """Show records again that nothing else hides."""
    if not rows:
        return
    _lock_nodes(tx, {row.node_id for row in rows})
    chosen = [row.record_id for row in rows]
    tx.execute(_QUARANTINE["set_quarantined"], {"record_ids": chosen, "hidden": False})
    followers = followers_of(tx, chosen)
    nodes = followers.node_ids | {row.node_id for row in rows}
    tx.execute(_QUARANTINE["show_nodes"], {"node_ids": list(nodes)})
    rebuild_followers(tx, Followers(frozenset(nodes)), slug, keep_defined=True)


def _lock_nodes(tx: Transaction, node_ids: Collection[UUID]) -> None:
    # Files need no lock: hiding a record changes none, and waits for nobody who reads one.
    lock_rows(tx, {}, node_ids)
