"""One file by hand: look at its state, keep it awake, send it to sleep; and the state of a node's files.

What the faces call, as whoever asks. Opening is in ``retrieval.open``; what works by itself is in ``dormancy``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from neurigraph_pipelines.access import require_write
from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.graph.locks import retry_not_found
from neurigraph_pipelines.lifecycle import dormancy, transitions
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, totals_of
from neurigraph_pipelines.model import Claims, CompressionState
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.statements import statements

HISTORY_SHOWN = 20

_QUERIES = statements("lifecycle")


@dataclass(frozen=True, slots=True)
class StateChange:
    """One entry of a file's log: ``error`` says why, of what failed."""

    event: str
    triggered_by: str
    occurred_at: datetime
    error: str | None


@dataclass(frozen=True, slots=True)
class FileState:
    """Where a file stands in its life.

    Attributes:
        size_bytes: Of its content.
        stored_bytes: Of its durable object.
        recompress_after: When it goes back to sleep, while it is awake for having been opened.
        last_failure: Why it could not be read the last time, if it could not.
        history: The newest entries of its log, newest first; at most ``HISTORY_SHOWN``.
    """

    file_id: UUID
    record_id: UUID
    node_id: UUID
    file_name: str
    file_type: str
    state: CompressionState
    compression: str
    size_bytes: int
    stored_bytes: int
    last_accessed_at: datetime
    recompress_after: datetime | None
    last_failure: str | None
    history: tuple[StateChange, ...]


@dataclass(frozen=True, slots=True)
class NodeState:
    """Where the files of a node stand: the node is ``rehydrating`` when any is, else ``active`` when any is."""

    node_id: UUID
    state: CompressionState
    last_accessed_at: datetime
    next_recompress_at: datetime | None
    totals: StorageTotals


@retry_not_found
def file_state(database: Database, claims: Claims, file_id: UUID) -> FileState:
    """The state of a file; looking at it is no access.

    Raises:
        NotFoundError: No such file, or not visible to whoever asks; so everywhere below.
    """
    with database.agent(claims) as tx:
        place = transitions.locate(tx, file_id)
        manifest = transitions.manifest_of(tx, place)
        history = tx.execute(_QUERIES["history"], {"file_id": file_id, "limit": HISTORY_SHOWN}).fetchall()
    return FileState(
        file_id=file_id,
        record_id=manifest["record_id"],
        node_id=place.node_id,
        file_name=manifest["file_name"],
        file_type=manifest["file_type"],
        state=CompressionState(manifest["compression_state"]),
        compression=manifest["compression_format"],
        size_bytes=manifest["size_bytes"],
        stored_bytes=manifest["stored_bytes"],
        last_accessed_at=manifest["last_accessed_at"],
        recompress_after=manifest["recompress_after"],
        last_failure=manifest.get("last_failure"),  # a node of an older version has no such column yet
        history=tuple(
            StateChange(row["event_type"], row["triggered_by"], row["occurred_at"], row["error_detail"])
            for row in history
        ),
    )


def node_state(database: Database, claims: Claims, node_id: UUID) -> NodeState:
    """The state of a node's files, and what they occupy."""
    with database.agent(claims) as tx:
        shell: dict[str, Any] | None = tx.execute(_QUERIES["node_shell"], {"node_id": node_id}).fetchone()
        if shell is None:
            raise NotFoundError
        totals = totals_of(tx, [shell])[node_id]
    return NodeState(
        node_id,
        CompressionState(shell["compression_state"]),
        shell["last_accessed_at"],
        shell["next_recompress_at"],
        totals,
    )


@retry_not_found
def touch(context: Context, file_id: UUID) -> FileState:
    """Reset the dormancy clock of a file, as if it had been opened; a dormant one stays dormant.

    Whoever may read may do so, since opening does the same.
    """
    with context.database.agent(context.claims) as tx:
        place = transitions.locate(tx, file_id)
    with context.database.pipeline() as tx:
        transitions.touch(tx, context.settings, place)
    return file_state(context.database, context.claims, file_id)


@retry_not_found
def compress(context: Context, file_id: UUID) -> FileState:
    """Send a file to sleep now; nothing happens when it sleeps already.

    Raises:
        ForbiddenError: Whoever asks only reads the node: putting a file to sleep makes others wait.
        RehydratingError: It is being decompressed at this moment.
        LostObjectError: Its durable object is gone or damaged: logged as ``failed``, and the file stays awake.
        StorageError: The object store refused: the file stays awake.
        TransientError: The object store did not answer.
    """
    with context.database.agent(context.claims) as tx:
        place = transitions.locate(tx, file_id)
        require_write(tx, place.node_id)
    dormancy.compress(context, place)
    return file_state(context.database, context.claims, file_id)
