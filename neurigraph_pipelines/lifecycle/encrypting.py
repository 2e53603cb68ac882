"""Encrypting the objects that were stored before encryption was switched on."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.object_keys import ACTIVE, DURABLE, record_of
from neurigraph_pipelines.lifecycle.orphans import keys_in_use
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import AbsentObjectError
from neurigraph_pipelines.model.ports import Database, EncryptedStore

_QUERIES = statements("lifecycle")


@dataclass(slots=True)
class EncryptionReport:
    """The result of encrypting older objects.

    Attributes:
        encrypted: Number of objects that were encrypted already.
        written: Number of objects that were encrypted now.
        plain: Number of objects that remain as they are.
    """

    encrypted: int = 0
    written: int = 0
    plain: int = 0


def encrypt_stored(
    context: Context, objects: EncryptedStore, *, limit: int = 10_000, dry_run: bool = False
) -> EncryptionReport:
    """Rewrite unencrypted objects encrypted. A repeated call continues at the place of the interruption.

    Args:
        objects: The object store, which must encrypt its objects.
        limit: Most objects that are written.
        dry_run: Count them, and write nothing.

    Raises:
        ConfigurationError: The master key is missing or another one.
    """
    report = EncryptionReport()
    for prefix in (DURABLE, ACTIVE):
        for key in objects.keys(prefix):
            record_id = record_of(key)
            if record_id is None:
                continue  # of another program
            try:
                encrypted = objects.is_encrypted(key)
            except AbsentObjectError:
                continue  # removed meanwhile
            if encrypted:
                report.encrypted += 1
            elif not dry_run and report.written < limit and _encrypt(context.database, objects, key, record_id):
                report.written += 1
            else:
                report.plain += 1
    return report


def _encrypt(database: Database, objects: EncryptedStore, key: str, record_id: UUID) -> bool:
    """Write an object again, unless no row names it: its row, locked, keeps it from being removed meanwhile."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["lock_objects"], {"record_id": record_id})
        if key not in keys_in_use(tx, _QUERIES["lock_files_of_records"], [record_id]):
            return False
        try:
            objects.put(key, objects.get(key))
        except AbsentObjectError:
            return False
        return True
