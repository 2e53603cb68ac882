"""Vaults of Markdown notes: the part of ``import`` for a folder."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from neurigraph_pipelines.cli.output import Output, counted
from neurigraph_pipelines.cli.session import next_step, opened
from neurigraph_pipelines.cli.uploading import ensure_owner, find_owner

if TYPE_CHECKING:
    from neurigraph_pipelines.ingestion.vaults import VaultReport
    from neurigraph_pipelines.model import Privacy
    from neurigraph_pipelines.model.sources import SourceDetails

_NOTHING_ACCEPTED = 2
_MOST_SHOWN = 20


def import_notes(
    folder: Path, user: str, output: Output, privacy: Privacy | None, details: SourceDetails, dry_run: bool
) -> None:
    """Import the notes of a vault, or say what that would do."""
    from neurigraph_pipelines.ingestion.imports.vault import FORMAT
    from neurigraph_pipelines.ingestion.vaults import import_vault
    from neurigraph_pipelines.model import Claims, ReceivedThrough

    with opened() as installation:
        if dry_run:
            owner, created = find_owner(installation, user), False
        else:
            installation, owner, created = ensure_owner(installation, user, output)
        context = None
        if owner is None:
            output.note(f"the user {user} does not exist and would be created")
        else:
            context = installation.acting_for(Claims.of_user(owner.user_id, ReceivedThrough.IMPORT))
        with output.progress() as progress:
            task = progress.add_task(f"{'reading' if dry_run else 'importing'} {FORMAT}", total=None)
            report = import_vault(
                context,
                installation.settings,
                folder,
                privacy=privacy,
                details=details,
                dry_run=dry_run,
                on_note=lambda done, total: progress.update(task, completed=done, total=total),
            )
    for item in report.rejected:
        output.note(f"rejected: {item.where}: {item.reason}")
    for item in report.noted:
        output.note(f"{item.where}: {item.reason}")
    for item in report.unresolved_first[:_MOST_SHOWN]:
        output.note(f"{item.where}: no note is called {item.reason!r}")
    data = {"user": user if owner is None else owner.slug, "user_created": created, "dry_run": dry_run}
    data |= {"file": str(folder), "format": FORMAT, "notes_seen": report.notes_seen, **asdict(report)}
    output.result(data, lambda: _view(report, dry_run))
    if report.rejected and not report.notes_seen:
        raise typer.Exit(_NOTHING_ACCEPTED)


def _view(report: VaultReport, dry_run: bool) -> Any:
    from neurigraph_pipelines.cli import views
    from neurigraph_pipelines.ingestion.imports.vault import MAX_NOTES

    text = (
        f"{counted(report.added, 'note')} {'would be ' if dry_run else ''}added, {report.changed:,} changed, "
        f"{report.known:,} already there; {counted(report.links, 'link')} between notes, "
        f"{report.unresolved:,} to no note of the vault"
    )
    if report.empty:
        text += f", {counted(report.empty, 'note')} without text"
    if report.undated:
        text += f", {counted(report.undated, 'note')} without a date, dated by the file"
    if report.others:
        text += f", {counted(report.others, 'other file')} not read"
    if report.beyond:
        text += f", {counted(report.beyond, 'note')} beyond the first {MAX_NOTES:,} not read"
    if report.redacted:
        text += ", redacted: " + ", ".join(f"{count:,} × {kind}" for kind, count in sorted(report.redacted.items()))
    if report.rejected:
        text += f", {counted(len(report.rejected), 'note')} rejected"
    waits = (report.added or report.changed) and not dry_run
    return views.lines(text + ".", *([next_step()] if waits else []))
