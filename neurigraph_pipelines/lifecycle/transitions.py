"""State transitions of a file, each one statement in the caller's transaction.

Every transition checks the previous state and sets its cause. Triggers on the manifest reject any other transition, and
append each one to ``compression_state_log``. ``rehydration`` and ``dormancy`` move the bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import row_of, typed
from neurigraph_pipelines.database.pipelined import pipelined
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.model.errors import NotFoundError, require_found
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.settings import Settings

_QUERIES = statements("lifecycle")


@dataclass(frozen=True, slots=True)
class FileLocation:
    """The location of a file's row: its node and the node's schema."""

    file_id: UUID
    node_id: UUID
    schema_name: str

    @property
    def schema(self) -> sql.Identifier:
        """The node's schema as an identifier for SQL composition."""
        return sql.Identifier(self.schema_name)


def locate(tx: Transaction, file_id: UUID) -> FileLocation:
    """Return the location of a file's row.

    Raises:
        NotFoundError: There is no such file, or the transaction's role may not see it.
    """
    row = require_found(tx.execute(_QUERIES["locate_file"], {"file_id": file_id}).fetchone())
    return FileLocation(**row)


def manifest_of(tx: Transaction, location: FileLocation) -> Manifest:
    """Return a file's row.

    Raises:
        NotFoundError: The file is gone, or the transaction's role may not see it.
    """
    return _row(tx, _QUERIES["manifest"], location)


def touch(tx: Transaction, settings: Settings, location: FileLocation) -> Manifest:
    """Reset the dormancy clocks of a file, its record and its node.

    Args:
        tx: A transaction of the pipeline, as in all functions below. This function makes its commit asynchronous, so it
            must not contain changes that have to survive a crash.

    Returns:
        The file's row, as it was before.

    Raises:
        NotFoundError: The file is gone.
    """
    require_node(tx, location.node_id)
    with pipelined(tx):  # one round trip
        tx.execute(_QUERIES["disable_synchronous_commit"])
        locked = tx.execute(_QUERIES["lock_file"].format(schema=location.schema), {"file_id": location.file_id})
        tx.execute(
            _QUERIES["touch_file"],
            {
                "file_id": location.file_id,
                "node_id": location.node_id,
                "schema_name": location.schema_name,
                "ttl_seconds": settings.lifecycle.recompress_ttl_minutes * 60,
            },
        )
    if not (manifests := typed(locked, Manifest)):
        raise NotFoundError
    return manifests[0]


def begin_rehydration(
    tx: Transaction, settings: Settings, location: FileLocation, holder: UUID, cause: CompressionCause
) -> Manifest | None:
    """Change a file from dormant to rehydrating and lease it; only one of concurrent callers succeeds.

    Args:
        holder: The holder of the lease. Only the holder can take the next steps until the lease expires.

    Returns:
        The file's row; None if the file is not dormant.
    """
    require_node(tx, location.node_id)
    _set_cause(tx, cause)
    return row_of(
        tx,
        _QUERIES["lease_file"].format(schema=location.schema),
        Manifest,
        {"file_id": location.file_id, "holder": holder, "lease_seconds": settings.lifecycle.rehydration_lease_seconds},
    )


def renew_lease(tx: Transaction, settings: Settings, location: FileLocation, holder: UUID) -> None:
    """Extend the lease of a rehydration, if the holder still has it."""
    tx.execute(
        _QUERIES["renew_lease"].format(schema=location.schema),
        {"file_id": location.file_id, "holder": holder, "lease_seconds": settings.lifecycle.rehydration_lease_seconds},
    )


def activate(
    tx: Transaction,
    settings: Settings,
    location: FileLocation,
    holder: UUID,
    content_sha256: bytes,
    cause: CompressionCause,
) -> Manifest | None:
    """Change a file from rehydrating to active for ``recompress_ttl_minutes``; None if the holder lost the lease."""
    _set_cause(tx, cause)
    return row_of(
        tx,
        _QUERIES["activate"].format(schema=location.schema),
        Manifest,
        {
            "file_id": location.file_id,
            "holder": holder,
            "content_sha256": content_sha256,
            "ttl_seconds": settings.lifecycle.recompress_ttl_minutes * 60,
        },
    )


def give_up(tx: Transaction, location: FileLocation, holder: UUID, reason: str, cause: CompressionCause) -> bool:
    """Change a file from rehydrating back to dormant; False if the holder lost the lease."""
    _set_cause(tx, cause)
    done = tx.execute(
        _QUERIES["fail_rehydration"].format(schema=location.schema),
        {"file_id": location.file_id, "holder": holder, "reason": reason},
    )
    return done.rowcount > 0


def make_dormant(tx: Transaction, schema: sql.Identifier, file_ids: Sequence[UUID], cause: CompressionCause) -> None:
    """Change files from active to dormant. The transaction has locked their rows, and their working copies are gone."""
    _set_cause(tx, cause)
    tx.execute(_QUERIES["make_dormant"].format(schema=schema), {"file_ids": list(file_ids)})


def note_failure(tx: Transaction, schema: sql.Identifier, file_id: UUID, reason: str, cause: CompressionCause) -> None:
    """Record why a file cannot be read. Repeated failures with the same reason are logged once."""
    _set_cause(tx, cause)
    tx.execute(_QUERIES["note_failure"].format(schema=schema), {"file_id": file_id, "reason": reason})


def lock(tx: Transaction, location: FileLocation) -> Manifest:
    """Lock a file's row, so that its state does not change until the transaction ends.

    Raises:
        NotFoundError: The file is gone.
    """
    return _row(tx, _QUERIES["lock_file"], location)


def _row(tx: Transaction, query: sql.SQL, location: FileLocation) -> Manifest:
    return require_found(row_of(tx, query.format(schema=location.schema), Manifest, {"file_id": location.file_id}))


def transcript_of(tx: Transaction, schema: sql.Identifier, record_id: UUID) -> Manifest | None:
    """Return the row of a record's transcript; None if it has none."""
    return row_of(tx, _QUERIES["transcript"].format(schema=schema), Manifest, {"record_id": record_id})


def _set_cause(tx: Transaction, cause: CompressionCause) -> None:
    tx.execute(_QUERIES["set_cause"], {"cause": cause.value})
