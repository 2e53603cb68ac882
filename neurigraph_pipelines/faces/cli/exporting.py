"""The ``export`` command, and the part of ``import`` that restores an export."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import argument, claims_of, note_user, opened

commands = typer.Typer()

FORMAT = "neurigraph"
"""Name of the export format for ``import --format``."""


@commands.command("export")
def export_user(
    user: Annotated[str, typer.Argument(help="Slug of the user.", callback=note_user)],
    target: Annotated[Path, typer.Argument(help="A name ending in .zip creates a zip file, any other a folder.")],
    as_json: Json = False,
) -> None:
    """Export all data of a user: the rows of every table as JSON lines, and the stored files byte for byte.

    `neurigraph import TARGET --format neurigraph --user USER` restores it in another database. The target appears once
    it is complete, readable only by you. It contains no API keys.
    """
    from neurigraph_pipelines.exchange.portability.archive import new_archive
    from neurigraph_pipelines.exchange.portability.export import Exported, export_user

    output, report = Output(as_json), Exported()
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True)
        with (
            new_archive(target) as archive,
            output.progress(in_bytes=True) as progress,
            closing(export_user(installation.context, claims.user_id, archive, report)) as steps,
        ):
            task = progress.add_task("exporting", total=None)
            for more in steps:
                progress.advance(task, more)
    for key in report.lost:
        output.note(f"missing or damaged in the object store: {key}")
    data = {
        "user": report.slug,
        "target": str(target),
        "records": report.rows["metadata_records"],
        "objects": report.objects,
        "bytes": report.size_bytes,
        "rows": dict(report.rows),
        "lost": report.lost,
    }

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(
            f"Exported {counted(report.rows['metadata_records'], 'record')} and {counted(report.objects, 'file')} "
            f"of {report.slug} to {target} ({report.size_bytes:,} bytes before compression)."
        )

    output.result(data, view)


def import_export(path: Path, user: str, output: Output) -> None:
    """Restore an export into this database, in which its user must not exist."""
    from neurigraph_pipelines.exchange.portability.archive import open_archive
    from neurigraph_pipelines.exchange.portability.restore import restore_user

    with opened() as installation, open_archive(path) as archive, output.progress(in_bytes=True) as progress:
        task = progress.add_task("restoring", total=2 * archive.size_bytes())
        restored = restore_user(
            installation.context,
            archive,
            argument(user),
            on_bytes=lambda more: progress.advance(task, more),
        )
    for key in restored.lost:
        output.note(f"was missing or damaged before the export: {key}")

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(
            f"Restored {counted(restored.records, 'record')} in {counted(restored.nodes, 'node')} "
            f"and {counted(restored.objects, 'file')} of "
            f"{restored.slug}. An export contains no API keys: issue new ones with `neurigraph keys add`."
        )

    output.result({"file": str(path), "format": FORMAT, **asdict(restored)}, view)
