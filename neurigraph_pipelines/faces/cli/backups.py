"""The ``backup`` commands and ``restore``: a whole installation to a folder and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import installed, opened, option, positional
from neurigraph_pipelines.runtime.stack.backup.check import check
from neurigraph_pipelines.runtime.stack.backup.create import BackupListener, back_up
from neurigraph_pipelines.runtime.stack.backup.folder import BackupFolder
from neurigraph_pipelines.runtime.stack.backup.load import restore as restore_backup
from resources.age_encryption import AgeKey

commands = typer.Typer()

Folder = Annotated[Path, positional("The folder of the backups.")]
KeyFile = Annotated[
    Path | None, option("File with an age key. A public key encrypts; only the secret key decrypts.", "--key")
]
BackupId = Annotated[str | None, option("Id of a backup. Default: the newest.", "--backup")]


@commands.command("add")
def create(
    folder: Folder,
    key: KeyFile = None,
    keep: Annotated[int | None, option("Keep this many of the newest backups, and remove older ones.", min=1)] = None,
) -> None:
    """Back up the database and all stored files as of one moment, while everything runs.

    The folder may hold earlier backups: only new files are copied. Secrets, keys of providers and settings are not in a
    backup.
    """
    target = _folder(folder, key)
    with opened() as installation, _listening() as listener:
        done = back_up(installation, target, keep, listener)
    for lost in done.lost:
        output.note(f"missing or damaged in the object store: {lost}")

    output.said(
        {"folder": str(target.path), **asdict(done)},
        f"Backup {done.backup_id} is complete: the database ({done.database_bytes:,} bytes) and {done.objects:,} "
        f"files ({done.object_bytes:,} bytes), of which {done.new_objects:,} are new in {target.path}.",
        *(f"Removed backup {backup_id}." for backup_id in done.removed),
    )


@commands.command()
def verify(folder: Folder, key: KeyFile = None, backup: BackupId = None) -> None:
    """Read all backups of a folder, or one, and compare every byte with its checksum.

    Exits with 1 if something is damaged or missing.
    """
    with _listening() as listener:
        report = check(_folder(folder, key), backup, listener)

    def layout() -> Any:
        backups, files = counted(len(report.backups), "backup"), counted(report.objects, "file")
        read = f"{backups} and {files} ({report.bytes_read:,} bytes)"
        if not report.damaged:
            return layouts.lines(f"Read {read}: all are whole.")
        return layouts.lines(f"Read {read}. Damaged or missing:", *report.damaged)

    output.result(asdict(report), layout)
    if report.damaged:
        raise typer.Exit(1)


@commands.command("list")
def list_backups(folder: Folder, key: KeyFile = None) -> None:
    """List the complete backups of a folder, oldest first."""
    target = _folder(folder, key)
    target.open()
    found = target.backups()

    output.said({"backups": found}, *(found or [f"There is no complete backup in {target.path}."]))


@commands.command("new-key")
def new_key(file: Annotated[Path, positional("The new key file, readable only by you.")]) -> None:
    """Make a key for encrypted backups. Keep a copy elsewhere: without it a backup cannot be read.

    The printed public key, in a file of its own, suffices for making backups.
    """
    public = AgeKey.make(file)

    output.said({"file": str(file), "public_key": public}, f"The secret key is in {file}. The public key: {public}")


@commands.command()
def restore(
    folder: Folder,
    key: KeyFile = None,
    backup: BackupId = None,
    replace: Annotated[bool, option("Delete the memories that this installation holds.", "--replace")] = False,
) -> None:
    """Restore a backup into this installation, which must be empty and not running.

    The same questions get the same answers with the same scores. API keys stay valid; the installation's secrets are
    new.
    """
    with installed() as installation, _listening() as listener:
        done = restore_backup(installation, _folder(folder, key), backup, replace, listener)
        home = installation.home
    for lost in done.lost:
        output.note(f"was missing or damaged before the backup: {lost}")

    output.said(
        {"home": str(home), **asdict(done)},
        f"Restored backup {done.backup_id} to {home}: the database and {counted(done.objects, 'file')}, of which "
        f"{done.new_objects:,} were not there yet.",
    )


def _folder(path: Path, key: Path | None) -> BackupFolder:
    if key is None:
        return BackupFolder(path, None)
    return BackupFolder(path, AgeKey.read(key))


@contextmanager
def _listening() -> Iterator[BackupListener]:
    with output.progress(in_bytes=True) as progress:
        task = progress.add_task("reading", total=None)
        yield BackupListener(
            lambda stage: progress.update(task, description=stage), lambda more: progress.advance(task, more)
        )
