"""The nodes that a publisher grants to a peer, and their records in pages.

A peer is a third party. Every query runs with its claims, so row-level security decides what it gets, and what it may
not see is absent, also from counts and digests. ``pulling`` is the other side.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from psycopg import sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb
from pydantic import BaseModel

from neurigraph_pipelines.database.asking import views_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.peers.granted_rows import FileRow, RecordRow, SegmentRow, SourceRow
from neurigraph_pipelines.exchange.portability.export import Exported, granted, zipped
from neurigraph_pipelines.lifecycle.stored_bytes import VerifiedBytes
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    ForbiddenError,
    InvalidInputError,
    NotFoundError,
    require_found,
)
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.mirrors import OfferedNode, OfferedNodes, OfferedPart, OfferedRecord, OfferedRecords

NODES_AT_ONCE = 500
RECORDS_AT_ONCE = 100
"""Most records in one answer."""

PASSAGES_AT_ONCE = 2_000
BYTES_AT_ONCE = 4 << 20
"""An answer ends before the record with which it would have more passages or bytes of files; the first is always in."""

LISTED_AT_ONCE = 2_000
"""Most records that are listed by id; more are shown as digests by the next digits of their ids."""

_log = logging.getLogger(__name__)
_SENT = frozenset(["embedding", "file_pointer", "storage_path", "vectors"])
MAX_PREFIX = 6
_DIGITS = 2
_NO_NODE = UUID(int=0)
_QUERIES = statements("peer_offers")


def list_nodes(
    context: Context, *, since: UUID | None = None, horizon: UUID | None = None, after: UUID | None = None
) -> OfferedNodes:
    """Return a page of the nodes that the caller may read.

    The horizon is a transaction number below which every transaction had ended when the first page was read. Digests
    of the listing before are repeated for nodes that no transaction from there on changed, whatever the clock says.

    Args:
        context: Of a third party.
        since: The horizon of the pull before.
        horizon: Of the first page, for later ones.
        after: The last node of the page before.

    Raises:
        ForbiddenError: The caller is not a third party.
    """
    claims = require_peer(context.claims)
    with context.database.agent(claims) as tx:
        # First of all: what commits from here on is at or above the horizon.
        current = horizon if horizon is not None else _value(tx.execute(_QUERIES["open_horizon"]), "horizon")
        is_known = since is not None and _value(tx.execute(_QUERIES["knows_horizon"], {"horizon": since}), "known")
        recalled = {
            (row["node_id"], row["ids_digest"]): row["digest"]
            for row in tx.execute(_QUERIES["recalled"], {"horizon": since})
        }
        values = {"user_id": claims.user_id, "after": after or _NO_NODE, "limit": NODES_AT_ONCE + 1}
        rows = tx.execute(_QUERIES["nodes"], values).fetchall()
        page = rows[:NODES_AT_ONCE]
        nodes = [_listed(tx, row, recalled.get((row["node_id"], row["ids_digest"]))) for row in page]
        digests = {str(node.node_id): [row["ids_digest"], node.digest] for row, node in zip(page, nodes, strict=True)}
        tx.execute(_QUERIES["remember"], {"horizon": current, "listed": Jsonb(digests)})
    next_node = page[-1]["node_id"] if len(rows) > NODES_AT_ONCE else None
    return OfferedNodes(horizon=current, is_known=bool(is_known), nodes=nodes, next_node=next_node)


def _listed(tx: Transaction, row: DictRow, digest: str | None) -> OfferedNode:
    """Return a node with the digest of its records, from the listing before if nothing of it can have changed."""
    if digest is not None:
        return OfferedNode(**row, digest=digest)
    schema = sql.Identifier(row["schema_name"])
    query = _QUERIES["digest"].format(versions=_QUERIES["versions"].format(schema=schema))
    (found,) = tx.execute(query, {"prefix": "", "record_ids": None})
    return OfferedNode(**{**row, **found})


def list_records(context: Context, node_id: UUID, prefix: str = "") -> OfferedRecords:
    """Return the versions of a node's records whose ids begin with some digits, or digests of parts if they are many.

    Raises:
        NotFoundError: The node does not exist, or is hidden from the caller.
        ForbiddenError: The caller is not a third party.
    """
    claims = require_peer(context.claims)
    with context.database.agent(claims) as tx:
        versions = _QUERIES["versions"].format(schema=_schema_of(tx, node_id))
        values = {"prefix": prefix, "record_ids": None, "digits": len(prefix) + _DIGITS}
        (counted,) = tx.execute(_QUERIES["digest"].format(versions=versions), values)
        if counted["record_count"] > LISTED_AT_ONCE and len(prefix) < MAX_PREFIX:
            return OfferedRecords(
                parts=views_of(tx, _QUERIES["digests"].format(versions=versions), OfferedPart, values)
            )
        return OfferedRecords(records=views_of(tx, _QUERIES["listed"].format(versions=versions), OfferedRecord, values))


def read_records(
    context: Context, node_id: UUID, record_ids: Sequence[UUID], model: str | None = None
) -> VerifiedBytes:
    """Return the zip file of the stream of some records of a node: of the first of them by id that fit.

    A record of which a file is missing or damaged here is left out: `neurigraph admin verify` names it.

    Args:
        context: Of a third party.
        node_id: The node.
        record_ids: The records; absent ones are left out.
        model: The embedding model of the peer; vectors of other models are not sent.

    Raises:
        NotFoundError: The node does not exist, or is hidden from the caller, or a file was forgotten meanwhile.
        ForbiddenError: The caller is not a third party.
        InvalidInputError: There are too many ids.
        StorageError: The object store did not give a file.
    """
    claims = require_peer(context.claims)
    if len(record_ids) > RECORDS_AT_ONCE:
        raise InvalidInputError(f"ask for at most {RECORDS_AT_ONCE} records at once")
    with context.database.agent(claims) as tx:
        schema = _schema_of(tx, node_id)
        sizes = tx.execute(_QUERIES["sizes"].format(schema=schema), {"record_ids": list(record_ids)}).fetchall()
    forms: dict[str, type[BaseModel]] = {
        "sources": SourceRow,
        "records": RecordRow,
        "files": FileRow,
        "segments": SegmentRow,
    }
    columns = {name: _columns(form) for name, form in forms.items()}
    query = _QUERIES["granted"].format(schema=schema, versions=_QUERIES["versions"].format(schema=schema), **columns)
    values = {"prefix": "", "record_ids": _fitting(sizes), "model": model, "node_id": node_id}
    report = Exported()
    content = VerifiedBytes(zipped(granted(context, query, values, report)))
    if report.forgotten:
        raise NotFoundError
    if report.lost:
        lost = {"file_ids": [key.removeprefix("durable/").partition(".")[0] for key in report.lost]}
        with context.database.agent(claims) as tx:
            damaged = {row["record_id"] for row in tx.execute(_QUERIES["of_files"].format(schema=schema), lost)}
        _log.warning("a peer does not get %s records whose files are missing or damaged: see verify", len(damaged))
        return read_records(context, node_id, [one for one in record_ids if one not in damaged], model)
    return content


def _fitting(sizes: Sequence[DictRow]) -> list[UUID]:
    """Return the first records that fit into one answer."""
    chosen: list[UUID] = []
    passages = stored_bytes = 0
    for row in sizes:
        passages, stored_bytes = passages + row["passages"], stored_bytes + row["stored_bytes"]
        if chosen and (passages > PASSAGES_AT_ONCE or stored_bytes > BYTES_AT_ONCE):
            break
        chosen.append(row["record_id"])
    return chosen


def _columns(form: type[BaseModel]) -> sql.Composed:
    """Return the columns that a peer gets of a table; some of them have other values than in the table."""
    return sql.SQL(", ").join(sql.Identifier("sent" if name in _SENT else "r", name) for name in form.model_fields)


def require_peer(claims: Claims) -> Claims:
    """Require a third party, and return its claims.

    Raises:
        ForbiddenError: The caller is the owner of the graph or a persona.
    """
    if claims.role != "third_party":
        raise ForbiddenError(
            "only a third party mirrors nodes: issue a key with `neurigraph access key --third-party NAME`"
        )
    return claims


def _schema_of(tx: Transaction, node_id: UUID) -> sql.Identifier:
    row = require_found(tx.execute(_QUERIES["schema_of_node"], {"node_id": node_id}).fetchone())
    return sql.Identifier(row["schema_name"])


def _value(cursor: Any, name: str) -> Any:
    row = cursor.fetchone()
    assert row is not None
    return row[name]
