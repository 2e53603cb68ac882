"""Versions of sources: a changed source replaces the version before, once all of the new version is stored.

Versions have one external id, and each is a source of its own. Notes have their own versions (``note_records``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.model import SegmentRef, SourceKind
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import utc

_HISTORY = statements("history")
_QUERIES = statements("source_versions")


def version_after(
    tx: Transaction, user_id: UUID, kind: SourceKind, replaces: UUID, external_id: str | None
) -> tuple[str, UUID | None]:
    """Return the external id of the next version of a source, and the version after it if there is one already.

    The source is locked: only one caller makes its next version.

    Args:
        tx: A transaction of the caller.
        replaces: The source.
        external_id: The external id that the caller states for the new version.

    Raises:
        NotFoundError: The caller did not hand in such a source of this kind.
        InvalidInputError: The source has another external id.
    """
    values = {"user_id": user_id, "kind": kind.value, "source_id": replaces}
    row = require_found(tx.execute(_QUERIES["lock_replaced"], values).fetchone())
    if external_id is not None and external_id != row["external_id"]:
        raise InvalidInputError("a version has the external id of the source that it replaces: leave it out")
    newest = tx.execute(_QUERIES["version_after"], {"source_id": replaces}).fetchone()
    return row["external_id"], newest["source_id"] if newest is not None else None


def require_newer(updated_at: datetime | None, newest: datetime | None) -> None:
    """Require that a version is not older than the newest one, if both say when they changed.

    A file of a drop place, or of a feed, is what lies there now, whatever its time.
    """
    if updated_at is not None and newest is not None and utc(updated_at) < newest:
        raise ConflictError(
            f"this version was last changed on {utc(updated_at).isoformat()}, the newest one on {newest.isoformat()}: "
            "state what it replaces, or leave out when it changed, to make it the newest nevertheless"
        )


class _Record(NamedTuple):
    record_id: UUID
    schema: sql.Identifier
    first_message: int
    statements: frozenset[int]


def lock_versions(tx: Transaction, source_ids: Sequence[UUID]) -> Callable[[], Counter[UUID]]:
    """Lock all versions of sources, in order, until the transaction ends; the result waits for the number of each.

    Commits of two versions take turns, and no next version is opened meanwhile.
    """
    locked = tx.execute(_QUERIES["lock_versions"], {"source_ids": list(source_ids)})
    return lambda: Counter(row["source_id"] for row in locked)


def settle_source(tx: Transaction, ref: SegmentRef) -> None:
    """Supersede the memories of all versions before the newest that is stored whole.

    Until then the version before stays, so that no text is missing meanwhile. Each memory is superseded by the one
    with most passages of the same text; one without any, by the one at its place in the document.

    Args:
        tx: The transaction of a commit, which has locked the versions and noted the segment as stored.
    """
    versions = tx.execute(_QUERIES["versions"], {"source_id": ref.source_id}).fetchall()
    newest = next((row for row in versions if row["is_whole"]), None)
    if newest is None:
        return
    earlier = [row["source_id"] for row in versions if row["version"] < newest["version"]]
    by = _records(tx, ref, [newest["source_id"]]) if earlier else []
    if not by:
        return
    authored(tx, author_of(ref))
    for record in _records(tx, ref, earlier):
        supersede(tx, record.schema, record.record_id, _successor(record, by).record_id)


def _records(tx: Transaction, ref: SegmentRef, source_ids: Sequence[UUID]) -> list[_Record]:
    """Return the current memories of some sources, in the order of their texts."""
    values = {"user_id": ref.user_id, "source_ids": list(source_ids)}
    found: list[_Record] = []
    for node in tx.execute(_QUERIES["nodes_of_versions"], values).fetchall():
        schema = sql.Identifier(node["schema_name"])
        rows = tx.execute(_QUERIES["statements"].format(schema=schema), {"record_ids": node["record_ids"]})
        found += _of_node(schema, rows)
    return sorted(found, key=lambda one: (one.first_message, one.record_id))


def _of_node(schema: sql.Identifier, rows: Iterable[DictRow]) -> Iterator[_Record]:
    from neurigraph_pipelines.text.search_segments import SearchSegment  # imports numpy

    for row in rows:
        said = SearchSegment.read(row["content"]).rows["statement"].tolist() if row["content"] is not None else ()
        yield _Record(row["record_id"], schema, row["first_message"], frozenset(filter(None, said)))


def _successor(record: _Record, among: Sequence[_Record]) -> _Record:
    """Return the memory with most of the words of an older memory; if there is none, the memory at its place.

    Args:
        among: In the order of their texts.
    """

    def shared(one: _Record) -> int:
        return len(one.statements & record.statements)

    best = max(among, key=shared)
    if shared(best):
        return best
    before = [one for one in among if one.first_message <= record.first_message]
    return before[-1] if before else among[0]


def supersede(tx: Transaction, schema: sql.Identifier, record_id: UUID, by: UUID) -> None:
    """Mark a memory as replaced by another one."""
    tx.execute(_HISTORY["set_superseded"].format(schema=schema), {"record_id": record_id, "by": by})


def author_of(ref: SegmentRef) -> str:
    """Return who handed in a segment, as the log of changes calls them."""
    return f"persona:{ref.persona_id}" if ref.persona_id is not None else f"user:{ref.user_id}"
