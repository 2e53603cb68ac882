"""A backup of an installation while everything runs: database and objects of one moment, and Dagster's database."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import neurigraph_pipelines
from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.runtime.stack.backup.folder import DUMPS, OBJECT_LIST, VERSION, BackupFolder
from neurigraph_pipelines.runtime.stack.backup.snapshot import QUERIES, Copied, consistent_snapshot
from neurigraph_pipelines.views.scalars import WireObject
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.dagster_database import dagster_database, found_database
from resources.postgres.dump import dump


@dataclass(frozen=True, slots=True)
class BackupListener:
    """Receives the progress: names of stages, and numbers of bytes just read."""

    on_stage: Callable[[str], None]
    on_bytes: Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Backup:
    """A complete backup.

    Attributes:
        objects: Number of objects that belong to it.
        new_objects: Number of objects that it added to the folder.
        lost: Keys of objects that were missing or damaged in the object store.
        removed: Ids of older backups that were removed.
    """

    backup_id: str
    database_bytes: int
    objects: int
    object_bytes: int
    new_objects: int
    lost: tuple[str, ...]
    removed: tuple[str, ...] = ()


def back_up(installation: Installation, folder: BackupFolder, keep: int | None, listener: BackupListener) -> Backup:
    """Add a backup to a folder. Whatever kills this, the folder's complete backups stay complete.

    Args:
        keep: Number of newest backups to keep, this one included; None keeps all.

    Raises:
        ConflictError: Another backup to the folder is running, or the folder holds something else.
        ConfigurationError: The folder has another key.
        StorageError: A disk, the object store or the dump failed; there is no new backup.
        TransientError: Too much was forgotten meanwhile; there is no new backup.
    """
    _require_key(installation, folder)
    url = installation.administrator_url
    with folder.writing():
        listener.on_stage("objects")
        started_at = datetime.now(UTC)
        with consistent_snapshot(url, installation.objects, folder, listener.on_bytes) as (tx, copied):
            backup_id = f"{started_at:%Y-%m-%dT%H-%M-%S.%fZ}-{secrets.token_hex(2)}"
            target = folder.begin(backup_id)
            (exported,) = tx.execute(QUERIES["export_snapshot"])
            description = _description(tx, copied)
            dumps = {"database": dump(url, exported["name"])}
            if found_database(tx, dagster_database(url)):  # and first, so that it is hardly younger than the snapshot
                dumps = {"dagster": dump(installation.dagster_address), **dumps}
            written = {}
            for part, chunks in dumps.items():
                listener.on_stage(part)
                written[part] = folder.write(target, DUMPS[part], chunks, listener.on_bytes)
        listener.on_stage("manifest")
        written["object_list"] = folder.write(target, OBJECT_LIST, _lines(copied), lambda _: None)
        files = {part: asdict(file) for part, file in written.items()}
        manifest = {**description, "backup_id": backup_id, **files}
        folder.write_manifest(target, manifest)
        listener.on_stage("completing")
        folder.complete(target, (folder.name_of(content.sha256) for content in copied.objects.values()))
        listener.on_stage("removing old backups")
        removed = _remove_old(folder, keep)
    return Backup(
        backup_id,
        written["database"].size_bytes,
        len(copied.objects),
        sum(content.size_bytes for content in copied.objects.values()),
        copied.new,
        tuple(copied.lost),
        removed,
    )


def _require_key(installation: Installation, folder: BackupFolder) -> None:
    """Raise ConfigurationError if a backup in plain would hold objects that are encrypted at rest."""
    if installation.settings.objects.encryption and not folder.is_encrypted:
        raise ConfigurationError(
            "raw files are encrypted here (NEURIGRAPH_ENCRYPTION), and a backup holds their content: encrypt it with "
            "--key, as docs/backup.md says"
        )


def _description(tx: Transaction, copied: Copied) -> WireObject:
    return {
        "version": VERSION,
        "neurigraph": neurigraph_pipelines.__version__,
        "created_at": datetime.now(UTC),
        "shared_ddl": SHIPPED.newest,
        "node_ddl": SHIPPED.newest,
        "postgres": tx.info.server_version,
        "roles": tx.execute(QUERIES["roles"].format()).fetchall(),
        "objects": len(copied.objects),
        "object_bytes": sum(content.size_bytes for content in copied.objects.values()),
        "lost_objects": copied.lost,
    }


def _lines(copied: Copied) -> Iterator[bytes]:
    for key, content in copied.objects.items():
        yield json.dumps([key, content.sha256, content.size_bytes]).encode() + b"\n"


def _remove_old(folder: BackupFolder, keep: int | None) -> tuple[str, ...]:
    old = folder.backups()[:-keep] if keep is not None else []
    for backup_id in old:
        folder.remove(backup_id)
    if old:
        folder.sweep()
    return tuple(old)
