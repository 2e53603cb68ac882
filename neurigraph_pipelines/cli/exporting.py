"""The command that takes all of a user out, ``export``; and what ``import`` does with what it wrote."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import argument, claims_of, opened

commands = typer.Typer()

FORMAT = "neurigraph"
"""The format of an export, as ``import`` names it."""


@commands.command("export")
def export_user(
    user: Annotated[str, typer.Argument(help="Whose memory, by slug.")],
    target: Annotated[Path, typer.Argument(help="A name that ends in .zip makes a zip, any other a folder.")],
    as_json: Json = False,
) -> None:
    """Write all of a user into open files: the rows of every table as JSON lines, and the stored files as they lie.

    `neurigraph import TARGET --format neurigraph --user USER` puts it into another database. What is written is put in
    place once it is whole, readable by you alone. It holds no API keys.
    """
    from neurigraph_pipelines.portability.archive import new_archive
    from neurigraph_pipelines.portability.export import Exported, export_user

    output, report = Output(as_json), Exported()
    with opened() as installation:
        claims = claims_of(installation, user)
        with (
            new_archive(target) as archive,
            output.progress(in_bytes=True) as progress,
            closing(export_user(installation.context, claims.user_id, archive, report)) as steps,
        ):
            task = progress.add_task("exporting", total=None)
            for more in steps:
                progress.advance(task, more)
    for key in report.lost:
        output.note(f"gone or damaged in the object store: {key}")
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
        from neurigraph_pipelines.cli import views

        return views.lines(
            f"{data['records']:,} records and {report.objects:,} files of {report.slug} are in {target} "
            f"({report.size_bytes:,} bytes before they were packed)."
        )

    output.result(data, view)


def import_export(path: Path, user: str, output: Output) -> None:
    """Put an export into this database, which must not know its user."""
    from neurigraph_pipelines.portability.archive import open_archive
    from neurigraph_pipelines.portability.restore import restore_user

    with opened() as installation, open_archive(path) as archive, output.progress(in_bytes=True) as progress:
        task = progress.add_task("restoring", total=2 * archive.size_bytes())
        restored = restore_user(
            installation.context,
            archive,
            argument(user),
            on_bytes=lambda more: progress.advance(task, more),
        )
    for key in restored.lost:
        output.note(f"was gone or damaged before it was exported: {key}")

    def view() -> Any:
        from neurigraph_pipelines.cli import views

        return views.lines(
            f"{restored.records:,} records in {restored.nodes:,} nodes and {restored.objects:,} files of "
            f"{restored.slug} are here. An export holds no API keys: issue one where it is needed."
        )

    output.result({"file": str(path), "format": FORMAT, **asdict(restored)}, view)
