"""The verification of backups: every byte is read and compared with its checksum."""

from __future__ import annotations

from dataclasses import dataclass, field

from neurigraph_pipelines.exchange.portability.stream import Hashed
from neurigraph_pipelines.model.errors import DamagedObjectError, StorageError
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener
from neurigraph_pipelines.runtime.stack.backup.folder import DUMPS, BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import listed_objects


@dataclass(slots=True)
class Checked:
    """The result of a verification.

    Attributes:
        backups: Ids of the backups that were read.
        damaged: Damaged or missing parts; a restore of the backups that need them fails.
    """

    backups: list[str] = field(default_factory=list)
    objects: int = 0
    bytes_read: int = 0
    damaged: list[str] = field(default_factory=list)


def check(folder: BackupFolder, backup_id: str | None, listener: BackupListener) -> Checked:
    """Read one backup or all, and compare every byte with its checksum.

    Raises:
        InvalidInputError: There is no such backup.
        ConfigurationError: The folder's secret key is missing.
    """
    folder.open()
    report = Checked()
    seen: set[str] = set()

    def on_bytes(more: int) -> None:
        report.bytes_read += more
        listener.on_bytes(more)

    for chosen in folder.backups() if backup_id is None else [folder.find(backup_id)]:
        listener.on_stage(chosen)
        report.backups.append(chosen)
        try:
            manifest = folder.manifest(chosen)
            wanted = dict(listed_objects(folder, chosen, manifest))
            for part in DUMPS.keys() & manifest.keys():
                if Hashed(folder.read(chosen, DUMPS[part]), on_bytes).read() != manifest[part]["sha256"]:
                    raise DamagedObjectError(f"its {DUMPS[part]} is damaged")
        except StorageError as error:
            report.damaged.append(f"backup {chosen}: {error}")
            continue
        for key, content in wanted.items():
            if content.sha256 in seen:
                continue
            seen.add(content.sha256)
            report.objects += 1
            try:
                Hashed(folder.read_object(content.sha256), on_bytes).read()
            except StorageError as error:
                report.damaged.append(f"object {key}: {error}")
        try:
            folder.names(chosen)  # a restore does not need it, but the removal of old backups does
        except StorageError as error:
            report.damaged.append(f"backup {chosen}: {error}")
    return report
