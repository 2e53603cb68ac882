"""The command that archives what has expired: ``archive sweep``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import typer

from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    DryRun,
    opened,
    user_id_of,
)
from neurigraph_pipelines.lifecycle import archive
from neurigraph_pipelines.lifecycle.archive import Expiry

commands = typer.Typer()

_NOT_ALL = 1


@commands.command("sweep")
def sweep(user: AnyUserSlug = None, dry_run: DryRun = False, as_json: Json = False) -> None:
    """Promote memories read often, and archive expired ones, as the asset `expired_records` does every hour."""
    output = Output(as_json)
    with opened() as installation, output.progress() as progress:
        user_id = user_id_of(installation, user)
        task = progress.add_task("archiving", total=None)
        report = archive.sweep(
            installation.context,
            user_id=user_id,
            dry_run=dry_run,
            on_done=lambda count: progress.advance(task, count),
        )
    output.result({"dry_run": dry_run, **asdict(report)}, _lines(*_swept(report, dry_run)))
    if report.failed:
        raise typer.Exit(_NOT_ALL)


def _swept(report: Expiry, dry_run: bool) -> list[str]:
    would = "Would promote" if dry_run else "Promoted"
    said = [f"{would} {_memories(report.promoted)}, {'archive' if dry_run else 'archived'} {report.archived:,}."]
    return said + [f"Not now, of user {user_id}: {why}" for user_id, why in report.failed]


def _memories(number: int) -> str:
    return counted(number, "memory", "memories")


def _lines(*texts: str) -> Callable[[], Any]:
    def layout() -> Any:
        return layouts.lines(*texts)

    return layout
