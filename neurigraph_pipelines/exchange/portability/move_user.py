"""Moves of users between two databases: copied by a stream, switched by one transaction, and healed by the next run.

One transaction of the database that a user leaves locks everything of the user, so that writers wait, and at its end
erases the rows. Between, the stream is restored in the other database as a copy that nobody reaches. So the user is in
exactly one database at any time, and whatever dies, the next run sees which one: as long as the first database has the
user, a copy is removed and made again; once it has not, the copy is completed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID, uuid4

from psycopg import errors, sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.portability.export import written
from neurigraph_pipelines.exchange.portability.restore import Restored, restore_user
from neurigraph_pipelines.exchange.portability.tables import SECRETS, SHARED, tables_of
from neurigraph_pipelines.graph.locks import PATIENCE_SECONDS, lock_graph_exclusive
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, forget
from neurigraph_pipelines.lifecycle.erasure.journal import destroy_keys, objects_of_user
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind, erasure
from neurigraph_pipelines.lifecycle.erasure.rows import RowsEraser
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, ConflictError, NotFoundError, TransientError
from neurigraph_pipelines.model.ports import Transaction

THROUGH = "move"
"""The occasion that receipts of the erasures of a move name."""

_ATTEMPT_MILLISECONDS, _PAUSE_SECONDS = 250, 0.05
_NODES = 1_000_000
_QUERIES = statements("moves")
_ERASURE = statements("erasure")
_GRAPH = statements("graph_changes")
_PORTABILITY = statements("portability")


@dataclass(frozen=True, slots=True)
class Moved:
    """The result of a move.

    Attributes:
        healed: Whether an earlier run had copied the user, and this one completed it.
        seconds: How long writers of the user waited.
    """

    user_id: UUID
    slug: str
    nodes: int = 0
    records: int = 0
    objects: int = 0
    healed: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class _Place:
    user_id: UUID
    is_arriving: bool


def move_user(
    source: Context, target: Context, slug: str, *, dry_run: bool = False, on_bytes: Callable[[int], None]
) -> Moved:
    """Move a user from one database and object store to another, or complete the move of an earlier run.

    Args:
        source: Where the user is, unless an earlier run was killed.
        target: Another installation, with the same schema.
        dry_run: Only check that the user can be moved.
        on_bytes: Called with the number of bytes just copied.

    Raises:
        NotFoundError: Neither database has the user.
        ConflictError: The target has the user already, the user shares a graph, or mirrors another installation.
        ConfigurationError: Both are one database, or the target cannot take the user.
        TransientError: The user's nodes were read or written all the time; the user stays.
        StorageError: An object store rejected a request; the user stays, or the next run completes the move.
    """
    require_two(source, target)
    here, there = _place(source, slug), _place(target, slug)
    if here is None:
        if there is None:
            raise NotFoundError(f"there is no user {slug!r}")
        if not dry_run:
            _complete(source, target, slug, there.user_id)
        return Moved(there.user_id, slug, healed=True)
    if there is not None and not there.is_arriving:
        raise ConflictError(f"the other installation has a user {slug!r} already")
    _require_movable(source, here.user_id)
    if dry_run:
        return Moved(here.user_id, slug)
    if there is not None:
        _forget_copy(target, there.user_id)
    restored, seconds = _switch(source, target, slug, here.user_id, on_bytes)
    _complete(source, target, slug, here.user_id)
    return Moved(here.user_id, slug, restored.nodes, restored.records, restored.objects, False, seconds)


def _switch(
    source: Context, target: Context, slug: str, user_id: UUID, on_bytes: Callable[[int], None]
) -> tuple[Restored, float]:
    """Copy a user while writers wait, and erase the rows where the copy was made, in one transaction."""
    with source.database.owner() as tx:
        _lock(tx, user_id)
        began = time.monotonic()
        with written(source, user_id, secrets=True) as stream:
            restored = restore_user(target, stream, slug, on_bytes, arriving=True)
        _erase(source, tx, user_id, slug)
    return restored, time.monotonic() - began


def _lock(tx: Transaction, user_id: UUID) -> None:
    """Lock everything of a user against changes; readers go on.

    Raises:
        NotFoundError: The user is gone.
        TransientError: Others kept writing.
    """
    lock_graph_exclusive(tx, user_id)
    until = time.monotonic() + PATIENCE_SECONDS
    tables = [table for table in tables_of(tx, SHARED) if table.is_of_users]
    while True:
        try:
            with tx.transaction():
                tx.execute(_GRAPH["limit_waits"], {"milliseconds": _ATTEMPT_MILLISECONDS})
                for table in tables:
                    tx.execute(_QUERIES["lock_rows"].format(table=table.identifier), {"user_id": user_id})
                for node in tx.execute(_PORTABILITY["nodes"], {"user_id": user_id}).fetchall():
                    tx.execute(_QUERIES["lock_node"].format(schema=sql.Identifier(node["schema_name"])))
            break
        except (errors.LockNotAvailable, errors.DeadlockDetected):
            if time.monotonic() > until:
                raise TransientError(
                    "this user is being written to all the time: try again in a moment", retry_after=5.0
                ) from None
            time.sleep(_PAUSE_SECONDS)
    tx.execute(_GRAPH["limit_waits"], {"milliseconds": 0})


def _erase(source: Context, tx: Transaction, user_id: UUID, slug: str) -> None:
    """Erase the rows of a user, as forgetting does, and note the objects that go with them."""
    values = {"user_id": user_id, "kind": SubjectKind.USER, "subject_id": user_id, "through": THROUGH}
    opened = tx.execute(_ERASURE["open_erasure"], values).fetchone()
    if opened is None:
        raise ConflictError(f"the user {slug!r} is being forgotten")
    eraser = RowsEraser(tx, erasure(tx, opened["erasure_id"]))
    eraser.inbox()
    eraser.nodes(None, _NODES)
    eraser.user(list(objects_of_user(source.objects, slug)))
    tx.execute(_ERASURE["set_rows_erased"], {"erasure_id": opened["erasure_id"]})


def _complete(source: Context, target: Context, slug: str, user_id: UUID) -> None:
    """Let callers reach the copy, and remove the objects of erased rows."""
    with target.database.owner() as tx:
        for name in SECRETS:
            table = sql.Identifier(SHARED, name)
            tx.execute(_QUERIES["write_kept"].format(table=table), {"user_id": user_id, "name": name})
        tx.execute(_QUERIES["settle"], {"user_id": user_id})
    destroy_keys(source.objects, slug)
    finish_erasures(source)


def _forget_copy(target: Context, user_id: UUID) -> None:
    acting = target.acting_for(Claims.of_user(user_id))
    if forget(acting, ErasureSubject(SubjectKind.USER, user_id), through=THROUGH).finished_at is None:
        raise TransientError("an unfinished copy of the user could not be removed: repeat the move")


def _place(context: Context, slug: str) -> _Place | None:
    with context.database.owner() as tx:
        row = tx.execute(_QUERIES["place"], {"slug": slug}).fetchone()
    return _Place(**row) if row is not None else None


def require_two(source: Context, target: Context) -> None:
    """Require two databases and two object stores: an erasure in one must not reach the other."""
    ours, theirs = ((one.settings.home.expanduser().resolve(), one.settings.database.url) for one in (source, target))
    if ours[0] == theirs[0] or (ours[1] is not None and ours[1] == theirs[1]):
        raise ConfigurationError("both are one installation: name the home folder of another")
    probe = f"moves/{uuid4()}"
    target.objects.put(probe, [b"moves"])
    try:
        is_shared = source.objects.exists(probe)
    finally:
        target.objects.delete(probe)
    if is_shared:
        raise ConfigurationError("both installations have one object store: give each a NEURIGRAPH_OBJECTS_URL")


def _require_movable(source: Context, user_id: UUID) -> None:
    with source.database.owner() as tx:
        (ties,) = tx.execute(_QUERIES["ties"], {"user_id": user_id})
    if ties["shares"]:
        raise ConflictError("this user is an organization, or was a member of one, whose users share one database")
    if ties["mirrors"]:
        raise ConflictError("this user mirrors another installation: remove the peer first")
