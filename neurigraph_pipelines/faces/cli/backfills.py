"""Commands that make parts of stored memories again: ``reembed``, ``resummarize`` and ``refile``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, argument, opened, user_id_of
from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.ingestion.reembed import Reembedded
from neurigraph_pipelines.ingestion.reembed import reembed as embed_again
from neurigraph_pipelines.ingestion.resummarize import Resummarized, WantedSummaries
from neurigraph_pipelines.ingestion.resummarize import resummarize as summarize_again
from neurigraph_pipelines.model.errors import InvalidInputError

commands = typer.Typer()

_CountOnly = Annotated[bool, typer.Option("--dry-run", help="Only count the memories.")]

_DAY = ["%Y-%m-%d"]
Since = Annotated[datetime | None, typer.Option(formats=_DAY, help="Only memories stored on this day (UTC) or later.")]
Until = Annotated[
    datetime | None, typer.Option(formats=_DAY, help="Only memories stored on this day (UTC) or earlier.")
]
NOT_ALL = 1


@commands.command()
def reembed(since: Since = None, until: Until = None, user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Embed records that have no vectors of the configured model: all records, or those stored in a range of days.

    A user's searches switch to the model once all of the user's records have its vectors. If the command is
    interrupted, run it again to continue.
    """
    output = Output(as_json)
    first, end = moments(since, until)
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with output.progress() as progress:
            task = progress.add_task("embedding", total=None)
            done = embed_again(
                installation.context, first, end, user_id, on_done=lambda count: progress.advance(task, count)
            )
    output.result({**asdict(done), "days": dict(done.days)}, lambda: _reembedded(done))
    if done.failed:
        raise typer.Exit(NOT_ALL)


@commands.command()
def resummarize(
    records: Annotated[
        list[str] | None,
        typer.Argument(metavar="RECORD_ID…", help="Only these memories of the user.", show_default=False),
    ] = None,
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: Annotated[bool, typer.Option("--again", help="Include memories with a summary of this model.")] = False,
    also_revised: Annotated[
        bool, typer.Option("--also-revised", help="Include memories that somebody revised; this replaces their text.")
    ] = False,
    keywords_only: Annotated[
        bool, typer.Option("--keywords-only", help="Rewrite keywords, and leave titles and summaries as they are.")
    ] = False,
    dry_run: _CountOnly = False,
    as_json: Json = False,
) -> None:
    """Rewrite titles, summaries and keywords with the configured language model, from the stored transcripts.

    The history keeps the old ones. If the command is interrupted, run it again to continue.
    """
    if user is None and since is None and until is None:
        raise InvalidInputError("give --user, --since or --until to choose memories")
    if records and (user is None or since is not None or until is not None):
        raise InvalidInputError("give the ids of memories together with --user, and without --since and --until")
    output = Output(as_json)
    first, end = moments(since, until)
    with opened() as installation:
        record_ids = [id_of(installation.database, None, "record", argument(one)) for one in records or ()] or None
        user_id = user_id_of(installation, user)
        with output.progress() as progress:
            task = progress.add_task("summarising", total=None)
            done = summarize_again(
                installation.context,
                first,
                end,
                user_id,
                record_ids,
                wanted=WantedSummaries(again, also_revised, keywords_only),
                dry_run=dry_run,
                on_done=lambda count: progress.advance(task, count),
            )
    output.result(asdict(done), lambda: _resummarized(done, dry_run))
    if done.failed:
        raise typer.Exit(NOT_ALL)


@commands.command()
def refile(
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: Annotated[bool, typer.Option("--again", help="Include memories that this model has filed again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would move.")] = False,
    as_json: Json = False,
) -> None:
    """File memories again by today's rules, or by another model, and move those that belong elsewhere.

    Memories that somebody moved, revised, pinned or put into quarantine stay. If the command is interrupted, run it
    again to continue.
    """
    if user is None and since is None and until is None:
        raise InvalidInputError("give --user, --since or --until to choose memories")
    output = Output(as_json)
    first, end = moments(since, until)
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with output.progress() as progress:
            task = progress.add_task("filing", total=None)
            done = file_again(
                installation.context,
                first,
                end,
                user_id,
                again=again,
                dry_run=dry_run,
                on_done=lambda count: progress.advance(task, count),
            )
    moves = {name: [one._asdict() for one in getattr(done, name)] for name in ("moved", "several")}
    output.result({**asdict(done), **moves}, lambda: _refiled(done, dry_run))
    if done.failed:
        raise typer.Exit(NOT_ALL)


def moments(since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime]:
    """Return the first moment of a range of days (None for the beginning), and the first moment after it."""
    first = since.replace(tzinfo=UTC) if since is not None else None
    # The default includes tomorrow, because the clock of the database may be slightly ahead of this machine's.
    last = until.replace(tzinfo=UTC) if until is not None else datetime.now(UTC)
    try:
        return first, last + timedelta(days=1)
    except OverflowError:
        raise InvalidInputError(
            f"--until is {last:%Y-%m-%d}, the last day of the calendar: give an earlier day"
        ) from None


def _resummarized(done: Resummarized, dry_run: bool) -> Any:
    summary = (
        f"{counted(done.records, 'record')} to be summarised by {done.model}; "
        if dry_run
        else f"{counted(done.records, 'record')} summarised by {done.model}, {done.unchanged:,} of them unchanged; "
    )
    summary += f"{done.complete:,} were summarised by it before, {done.revised:,} were revised by somebody and kept."
    return layouts.lines(
        summary, *(f"{record_id} failed and keeps its text: {error}" for record_id, error in done.failed)
    )


def _refiled(done: FiledAgain, dry_run: bool) -> Any:
    return layouts.lines(
        f"{counted(len(done.moved), 'record')} {'to be moved' if dry_run else 'moved'} by {done.model}; "
        f"{done.stayed:,} stayed, {done.complete:,} were filed again before, {done.by_hand:,} were decided by somebody "
        "and kept.",
        *(f"{one.record_id}  {one.from_path} → {one.to_paths[0]}" for one in done.moved),
        *(f"{one.record_id}  stays at {one.from_path}: of {', '.join(one.to_paths)}" for one in done.several),
        *(f"{record_id} failed and stays: {error}" for record_id, error in done.failed),
    )


def _reembedded(done: Reembedded) -> Any:
    lines = [
        f"{counted(done.records, 'record')} with {counted(done.passages, 'passage')} embedded by {done.model}; "
        f"{done.complete:,} had its vectors already."
    ]
    lines += [
        f"user {move.user_id}: "
        + (f"{counted(move.missing, 'record')} left" if move.missing else f"searches use {done.model}")
        for move in done.moves
    ]
    lines += [f"no vectors for {record_id}: {error}" for record_id, error in done.failed]
    return layouts.lines(*lines)
