"""The ``export`` command, and the part of ``import`` that restores an export."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Annotated

import typer

from neurigraph_pipelines.exchange.portability.archive import new_archive, new_file, open_archive
from neurigraph_pipelines.exchange.portability.export import Exported, written, zipped
from neurigraph_pipelines.exchange.portability.restore import restore_user
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import argument, claims_of, opened, option, positional
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.wiring.installation import Installation
from resources.age_encryption import AgeKey, is_encrypted

_PIECE_BYTES = 1 << 20

commands = typer.Typer()

FORMAT = "neurigraph"
"""Name of the export format for ``import --format``."""


@commands.command("export")
def export_user(
    user: Annotated[str, typer.Argument(help="Slug of the user.", callback=note_user)],
    target: Annotated[Path, positional("A name ending in .zip creates a zip file, any other a folder.")],
    key: Annotated[
        Path | None, option("Encrypt it as one zip file for the age key, secret or public, in this file.")
    ] = None,
) -> None:
    """Export all data of a user: the rows of every table as JSON lines, and the stored files byte for byte.

    `neurigraph import TARGET --format neurigraph --user USER` restores it in another database. The target appears once
    it is complete, readable only by you. It contains no API keys.
    """
    report = Exported()
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True)
        write = _written if key is None else partial(_encrypted, key)
        with output.progress(in_bytes=True) as progress, closing(write(installation, claims, target, report)) as steps:
            task = progress.add_task("exporting", total=None)
            for more in steps:
                progress.advance(task, more)
    for lost in report.lost:
        output.note(f"missing or damaged in the object store: {lost}")
    data = {
        "user": report.slug,
        "target": str(target),
        "records": report.rows["metadata_records"],
        "objects": report.objects,
        "encrypted": key is not None,
        "bytes": report.size_bytes,
        "rows": dict(report.rows),
        "lost": report.lost,
    }

    output.said(
        data,
        f"Exported {counted(report.rows['metadata_records'], 'record')} and {counted(report.objects, 'file')} "
        f"of {report.slug} to {target} ({report.size_bytes:,} bytes before compression).",
    )


def _written(installation: Installation, claims: Claims, target: Path, report: Exported) -> Generator[int]:
    with (
        new_archive(target) as archive,
        written(installation.context, claims.user_id, report) as stream,
        closing(archive.write(stream)) as steps,
    ):
        yield from steps


def _encrypted(key: Path, installation: Installation, claims: Claims, target: Path, report: Exported) -> Generator[int]:
    pieces = AgeKey.read(key).encrypt(zipped(written(installation.context, claims.user_id, report)))
    with new_file(target) as file:
        for piece in pieces:
            yield file.write(piece)


def import_export(path: Path, user: str, key: Path | None) -> None:
    """Restore an export into this database, in which its user must not exist."""
    with (
        opened() as installation,
        _readable(path, key) as file,
        open_archive(file) as archive,
        output.progress(in_bytes=True) as progress,
    ):
        task = progress.add_task("restoring", total=2 * archive.size_bytes())
        restored = restore_user(
            installation.context,
            archive,
            argument(user),
            on_bytes=lambda more: progress.advance(task, more),
        )
    for lost in restored.lost:
        output.note(f"was missing or damaged before the export: {lost}")

    output.said(
        {"file": str(path), "format": FORMAT, **asdict(restored)},
        f"Restored {counted(restored.records, 'record')} in {counted(restored.nodes, 'node')} "
        f"and {counted(restored.objects, 'file')} of "
        f"{restored.slug}. An export contains no API keys: issue new ones with `neurigraph access key add`.",
    )


@contextmanager
def _readable(path: Path, key: Path | None) -> Iterator[Path]:
    """Give an export that can be read: an encrypted one as a file for the current user, which is removed afterwards."""
    if not is_encrypted(path):
        if key is not None:
            raise InvalidInputError(f"{path} is not encrypted: leave out --key")
        yield path
        return
    if key is None:
        raise InvalidInputError(f"{path} is encrypted with age: give the file of its secret key with --key")
    with path.open("rb") as encrypted, NamedTemporaryFile(suffix=".zip") as file:
        for piece in AgeKey.read(key).decrypt(iter(partial(encrypted.read, _PIECE_BYTES), b"")):
            file.write(piece)
        file.flush()
        yield Path(file.name)
