"""Leases on uploads: the process that reads a file holds it, and renews that while it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.leases import renewed
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import Database, Transaction

LEASE_SECONDS = 25.0
"""Seconds after which another process reads the file of one that died; a file may take longer to read."""

_QUERIES = statements("uploads")


class LeasedUpload(NamedTuple):
    """An upload that a process has leased, to read it."""

    source_id: UUID
    user_id: UUID
    file_name: str
    size_bytes: int
    staging_key: str
    attempts: int
    is_document: bool
    is_posted: bool
    received_through: str


@contextmanager
def kept(database: Database, upload: LeasedUpload) -> Iterator[None]:
    """Renew the lease on an upload in a thread while the block runs."""

    def renew() -> None:
        with database.pipeline() as tx:
            _renew(tx, upload)

    with renewed(LEASE_SECONDS, renew):
        yield


def require_held(tx: Transaction, upload: LeasedUpload) -> None:
    """Require that no other process has leased an upload since, and renew the lease.

    Raises:
        TransientError: Another process has.
    """
    if not _renew(tx, upload):
        raise TransientError("another process reads this file by now")


def _renew(tx: Transaction, upload: LeasedUpload) -> bool:
    values = {"source_id": upload.source_id, "attempts": upload.attempts, "lease_seconds": LEASE_SECONDS}
    return tx.execute(_QUERIES["renew_upload"], values).fetchone() is not None
