"""Vaults of Markdown notes: the part of ``import`` for a folder or a zip of them; and the layout of an import."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from neurigraph_pipelines.exchange.portability.archive import is_export
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.exporting import FORMAT
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import next_step, opened
from neurigraph_pipelines.faces.cli.uploading import ensure_owner, find_owner
from neurigraph_pipelines.inbox.import_format import import_format
from neurigraph_pipelines.inbox.imports.vault import FORMAT as VAULT
from neurigraph_pipelines.inbox.imports.vault import MAX_NOTES, has_notes, is_vault
from neurigraph_pipelines.inbox.vaults import VaultReport, import_vault
from neurigraph_pipelines.inbox.zipped_vaults import is_zip_of_notes, note_lines, unpacked
from neurigraph_pipelines.model import Claims, ImportReport, Privacy, ReceivedThrough, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails

_NOTHING_ACCEPTED = 2
_MOST_SHOWN = 20


def format_of(file: Path) -> str:
    """Return the format of a file or a folder by its contents."""
    if is_vault(file):
        return VAULT
    try:
        return FORMAT if is_export(file) else import_format(file)
    except InvalidInputError:
        if has_notes(file) or is_zip_of_notes(file):
            return VAULT
        raise


def import_notes(
    folder: Path, form: str, user: str, privacy: Privacy | None, details: SourceDetails, dry_run: bool
) -> None:
    """Import the notes of a vault, or preview the import."""
    with opened() as installation:
        if dry_run:
            owner, created = find_owner(installation, user), False
        else:
            installation, owner, created = ensure_owner(installation, user)
        context = None
        if owner is None:
            output.note(f"the user {user} does not exist and would be created")
        else:
            context = installation.acting_for(Claims.of_user(owner.user_id, ReceivedThrough.IMPORT))
        with output.progress() as progress:
            task = progress.add_task(f"{'reading' if dry_run else 'importing'} {form}", total=None)
            with _unpacked(folder, installation.settings.ingestion.max_message_bytes) as (place, rejected):
                report = import_vault(
                    context,
                    installation.settings,
                    place,
                    privacy=privacy,
                    details=details,
                    form=form,
                    dry_run=dry_run,
                    on_note=lambda done, total: progress.update(task, completed=done, total=total),
                )
                report.rejected[:0] = rejected
    for item in report.rejected:
        output.note(f"rejected: {item.where}: {item.reason}")
    for item in report.noted:
        output.note(f"{item.where}: {item.reason}")
    for item in report.unresolved_first[:_MOST_SHOWN]:
        output.note(f"{item.where}: no note is called {item.reason!r}")
    data = {"user": user if owner is None else owner.slug, "user_created": created, "dry_run": dry_run}
    data |= {"file": str(folder), "format": form, "notes_seen": report.notes_seen, **asdict(report)}
    output.result(data, lambda: _view(report, dry_run))
    if report.rejected and not report.notes_seen:
        raise typer.Exit(_NOTHING_ACCEPTED)


@contextmanager
def _unpacked(vault: Path, longest: int) -> Iterator[tuple[Path, list[RejectedItem]]]:
    """Give the folder of a vault, unpacked if it is a zip, and the rejected entries of the zip."""
    lines = note_lines(vault, longest) if vault.is_file() else iter(())
    first = next(lines, None)
    if first is None:
        yield vault, []
        return
    with unpacked(str(first["vault"]), lines) as found:
        yield found


def _view(report: VaultReport, dry_run: bool) -> Any:
    text = (
        f"{counted(report.added, 'note')} {'would be ' if dry_run else ''}added, {report.changed:,} changed, "
        f"{report.known:,} already there; {counted(report.links, 'link')} between notes, "
        f"{report.unresolved:,} to notes that the vault lacks"
    )
    if report.moved:
        text += f", {counted(report.moved, 'note')} moved or renamed"
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
    return layouts.lines(text + ".", *([next_step()] if waits else []))


def import_view(report: ImportReport, dry_run: bool) -> Any:
    """Return the result of an import of conversations."""
    tokens = f" ({report.tokens_added:,} tokens)" if report.tokens_added else ""
    text = (
        f"{counted(report.messages_added, 'message')} {'would be ' if dry_run else ''}added{tokens} in "
        f"{counted(report.conversations_seen, 'conversation')}, {report.conversations_added:,} of them new; "
        f"{counted(report.messages_known, 'message')} already there"
    )
    if report.messages_repaired:
        text += f", {report.messages_repaired:,} had text repaired"
    if report.redacted:
        text += ", redacted: " + ", ".join(f"{count:,} × {kind}" for kind, count in sorted(report.redacted.items()))
    if report.rejected:
        text += f", {counted(len(report.rejected), 'item')} rejected"
    return layouts.lines(
        text + ".",
        *(f"Note: {note}." for note in report.notes),
        *([next_step()] if report.messages_added and not dry_run else []),
    )
