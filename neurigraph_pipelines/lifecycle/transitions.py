"""The states of a file and the steps between them, each one statement of an open transaction.

Every step checks the state it leaves and says who caused it; the triggers of the manifest let no other step pass, and
append each to ``compression_state_log``. The bytes are moved by whoever takes the step: ``rehydration`` and
``dormancy``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

Manifest = dict[str, Any]
"""A row of ``file_manifest``."""

_QUERIES = statements("lifecycle")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Where a file's row stands."""

    file_id: UUID
    node_id: UUID
    schema_name: str

    @property
    def schema(self) -> sql.Identifier:
        """The node's schema, to be composed into a statement."""
        return sql.Identifier(self.schema_name)


def locate(tx: Transaction, file_id: UUID) -> FilePlace:
    """Where a file's row stands, for whoever asks.

    Raises:
        NotFoundError: There is none, or it is not visible.
    """
    row = tx.execute(_QUERIES["locate_file"], {"file_id": file_id}).fetchone()
    if row is None:
        raise NotFoundError
    return FilePlace(**row)


def manifest_of(tx: Transaction, place: FilePlace) -> Manifest:
    """A file's row, for whoever asks.

    Raises:
        NotFoundError: It is gone, or not visible.
    """
    manifest = tx.execute(_QUERIES["manifest"].format(schema=place.schema), {"file_id": place.file_id}).fetchone()
    if manifest is None:
        raise NotFoundError
    return manifest


def touch(tx: Transaction, settings: Settings, place: FilePlace) -> Manifest:
    """Reset the clocks of a file, its record and its node, bringing the node to the current DDL first.

    Args:
        tx: Of the pipeline, here and below; here with nothing in it that must survive a crash.

    Returns:
        Its row, as it was before.

    Raises:
        NotFoundError: The file is gone.
    """
    upgrade_node(tx, place.node_id, place.schema_name)
    with tx.pipeline():  # one way to the server and back
        tx.execute(_QUERIES["forget_on_crash"])
        locked = tx.execute(_QUERIES["lock_file"].format(schema=place.schema), {"file_id": place.file_id})
        tx.execute(
            _QUERIES["touch_file"],
            {
                "file_id": place.file_id,
                "node_id": place.node_id,
                "schema_name": place.schema_name,
                "ttl_seconds": settings.lifecycle.recompress_ttl_minutes * 60,
            },
        )
    manifest = locked.fetchone()
    if manifest is None:
        raise NotFoundError
    return manifest


def claim(
    tx: Transaction, settings: Settings, place: FilePlace, holder: UUID, cause: CompressionCause
) -> Manifest | None:
    """Dormant to rehydrating, for one of all who try; None for the others, and where there is nothing to do.

    Args:
        holder: Whoever claims it: the steps that follow are theirs until their lease runs out.
    """
    upgrade_node(tx, place.node_id, place.schema_name)
    _set_cause(tx, cause)
    return tx.execute(
        _QUERIES["claim"].format(schema=place.schema),
        {"file_id": place.file_id, "holder": holder, "lease_seconds": settings.lifecycle.rehydration_lease_seconds},
    ).fetchone()


def renew(tx: Transaction, settings: Settings, place: FilePlace, holder: UUID) -> None:
    """A sign of life: the lease begins anew, if it is still the holder's."""
    tx.execute(
        _QUERIES["renew"].format(schema=place.schema),
        {"file_id": place.file_id, "holder": holder, "lease_seconds": settings.lifecycle.rehydration_lease_seconds},
    )


def activate(
    tx: Transaction, settings: Settings, place: FilePlace, holder: UUID, content_sha256: bytes, cause: CompressionCause
) -> Manifest | None:
    """Rehydrating to active, until ``recompress_ttl_minutes`` from now; None where the lease has gone to somebody."""
    _set_cause(tx, cause)
    return tx.execute(
        _QUERIES["activate"].format(schema=place.schema),
        {
            "file_id": place.file_id,
            "holder": holder,
            "content_sha256": content_sha256,
            "ttl_seconds": settings.lifecycle.recompress_ttl_minutes * 60,
        },
    ).fetchone()


def give_up(tx: Transaction, place: FilePlace, holder: UUID, reason: str, cause: CompressionCause) -> bool:
    """Rehydrating back to dormant; False where the lease has gone to somebody else."""
    _set_cause(tx, cause)
    done = tx.execute(
        _QUERIES["give_up"].format(schema=place.schema),
        {"file_id": place.file_id, "holder": holder, "reason": reason},
    )
    return done.rowcount > 0


def make_dormant(tx: Transaction, schema: sql.Identifier, file_ids: Sequence[UUID], cause: CompressionCause) -> None:
    """Active to dormant, of files whose rows the transaction has locked and whose working copies are gone."""
    _set_cause(tx, cause)
    tx.execute(_QUERIES["make_dormant"].format(schema=schema), {"file_ids": list(file_ids)})


def note_failure(tx: Transaction, schema: sql.Identifier, file_id: UUID, reason: str, cause: CompressionCause) -> None:
    """Put on record why a file cannot be read: once in the log, however often it is found again."""
    _set_cause(tx, cause)
    tx.execute(_QUERIES["note_failure"].format(schema=schema), {"file_id": file_id, "reason": reason})


def lock(tx: Transaction, place: FilePlace) -> Manifest:
    """Keep a file in the state it is in for the rest of the transaction.

    Raises:
        NotFoundError: The file is gone.
    """
    manifest = tx.execute(_QUERIES["lock_file"].format(schema=place.schema), {"file_id": place.file_id}).fetchone()
    if manifest is None:
        raise NotFoundError
    return manifest


def _set_cause(tx: Transaction, cause: CompressionCause) -> None:
    tx.execute(_QUERIES["set_cause"], {"cause": cause.value})
