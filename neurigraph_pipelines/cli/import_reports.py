"""What ``import`` prints about the conversations of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from neurigraph_pipelines.cli.output import Output, counted
from neurigraph_pipelines.cli.session import next_step

if TYPE_CHECKING:
    from neurigraph_pipelines.model import ImportReport

_NOTHING_ACCEPTED = 2


def show_report(data: dict[str, Any], report: ImportReport, output: Output, estimated: bool) -> None:
    """Print what an import added, and end the command with an error if nothing of the file was accepted.

    Args:
        data: The report for programs.
        report: The report.
        output: Prints it.
        estimated: Whether tokens are estimated.
    """
    output.result(data, lambda: _import_view(report, estimated, data["dry_run"]))
    if report.rejected and not report.conversations_seen:
        raise typer.Exit(_NOTHING_ACCEPTED)


def _import_view(report: ImportReport, estimated: bool, dry_run: bool) -> Any:
    from neurigraph_pipelines.cli import views

    about = "about " if estimated else ""
    tokens = f" ({about}{report.tokens_added:,} tokens)" if report.tokens_added else ""
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
        text += f", {len(report.rejected):,} items rejected"
    return views.lines(
        text + ".",
        *(f"Note: {note}." for note in report.notes),
        *([next_step()] if report.messages_added and not dry_run else []),
    )
