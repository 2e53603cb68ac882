"""Commands that make parts of stored memories again, as schedules do: facts, vectors, words, places and digests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, DryRun, argument, opened, option, positional, user_id_of
from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.ingestion.record_locations import storage_times
from neurigraph_pipelines.ingestion.reembed import Reembedded
from neurigraph_pipelines.ingestion.reembed import reembed as embed_again
from neurigraph_pipelines.ingestion.resummarize import Resummarized, WantedSummaries
from neurigraph_pipelines.ingestion.resummarize import resummarize as summarize_again
from neurigraph_pipelines.knowledge import digesting
from neurigraph_pipelines.knowledge.reading import FactsRead, choose_days, read_again
from neurigraph_pipelines.lifecycle import archive as archiving
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
archive = typer.Typer()
digests = typer.Typer()

_CountOnly = Annotated[bool, option("Only count the memories.", "--dry-run")]
_Again = Annotated[bool, option("Include memories that this model has worked on before.", "--again")]

_DAY = ["%Y-%m-%d"]
Since = Annotated[datetime | None, option("Only memories stored on this day (UTC) or later.", formats=_DAY)]
Until = Annotated[datetime | None, option("Only memories stored on this day (UTC) or earlier.", formats=_DAY)]
_NOT_ALL = 1


@contextmanager
def _working(label: str, user: str | None) -> Iterator[tuple[Installation, UUID | None, Callable[[int], None]]]:
    """Give the installation, the id of the user, and the function that advances the progress bar."""
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with output.progress() as progress:
            task = progress.add_task(label, total=None)
            yield installation, user_id, lambda count: progress.advance(task, count)


def _end(failed: Sequence[object]) -> None:
    """End with an exit code that says whether anything failed."""
    if failed:
        raise typer.Exit(_NOT_ALL)


@archive.command("sweep")
def sweep_archive(user: AnyUserSlug = None, dry_run: DryRun = False) -> None:
    """Promote memories read often, and archive expired ones, as the asset `expired_records` does every hour."""
    with _working("archiving", user) as (here, user_id, advance):
        done = archiving.sweep(here.context, user_id=user_id, dry_run=dry_run, on_done=advance)
    would, archived = ("Would promote", "archive") if dry_run else ("Promoted", "archived")
    output.said(
        {"dry_run": dry_run, **asdict(done)},
        f"{would} {counted(done.promoted, 'memory', 'memories')}, {archived} {done.archived:,}.",
        *(f"Not now, of user {failed_id}: {why}" for failed_id, why in done.failed),
    )
    _end(done.failed)


@digests.command("sweep")
def sweep_digests(user: AnyUserSlug = None) -> None:
    """Put the windows into words whose memories changed, as the asset `node_digests` does at night."""
    with _working("digests", user) as (here, user_id, advance):
        done = digesting.sweep(here.context, user_id=user_id, on_done=advance)
    output.said(
        {"windows": done.windows, "written": done.written, "changed": done.changed, "failed": len(done.failed)},
        f"Wrote {counted(done.written, 'digest')}; {counted(len(done.failed), 'window')} failed.",
    )
    _end(done.failed)


@commands.command()
def reprofile(user: AnyUserSlug = None) -> None:
    """Rebuild the profiles of nodes that are missing or stale, as happens every night.

    If the command is interrupted, run it again to continue.
    """
    with _working("profiling", user) as (here, user_id, advance):
        done = rebuild_profiles(here.database, user_id=user_id, on_done=advance)
    more = "; run the command again for the rest" if done.limit_reached else ""
    output.said(asdict(done), f"{counted(done.profiles, 'profile')} of {counted(done.nodes, 'node')} rebuilt{more}")


@commands.command()
def reembed(since: Since = None, until: Until = None, user: AnyUserSlug = None) -> None:
    """Embed records that have no vectors of the configured model: all records, or the records of a range of days.

    A user's searches switch to the model once all of the user's records have its vectors. If the command is
    interrupted, run it again to continue.
    """
    days = _moments(since, until)
    with _working("embedding", user) as (here, user_id, advance):
        done = embed_again(here.context, *days, user_id, on_done=advance)
    output.said({**asdict(done), "days": dict(done.days)}, *_reembedded(done))
    _end(done.failed)


@commands.command()
def resummarize(
    records: Annotated[list[str] | None, positional("Only these memories of the user.", "RECORD_ID…")] = None,
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: _Again = False,
    also_revised: Annotated[
        bool, option("Include memories that somebody revised; this replaces their text.", "--also-revised")
    ] = False,
    keywords_only: Annotated[
        bool, option("Rewrite keywords, and leave titles and summaries as they are.", "--keywords-only")
    ] = False,
    dry_run: _CountOnly = False,
) -> None:
    """Rewrite titles, summaries and keywords with the configured language model, from the stored transcripts.

    The history keeps the old ones. If the command is interrupted, run it again to continue.
    """
    _require_choice(user, since, until)
    if records and (user is None or since is not None or until is not None):
        raise InvalidInputError("give the ids of memories together with --user, and without --since and --until")
    days = _moments(since, until)
    wanted = WantedSummaries(again, also_revised, keywords_only)
    with _working("summarising", user) as (here, user_id, advance):
        chosen = _ids(here, records) or None
        done = summarize_again(here.context, *days, user_id, chosen, wanted=wanted, dry_run=dry_run, on_done=advance)
    output.said(asdict(done), *_resummarized(done, dry_run))
    _end(done.failed)


@commands.command()
def refile(
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: _Again = False,
    dry_run: Annotated[bool, option("Only show what would move, and what would be split.", "--dry-run")] = False,
) -> None:
    """File memories again by today's rules, or by another model: move and split memories where these say so.

    Memories that somebody moved, revised, pinned or put into quarantine stay. If the command is interrupted, run it
    again to continue.
    """
    _require_choice(user, since, until)
    days = _moments(since, until)
    with _working("filing", user) as (here, user_id, advance):
        done = file_again(here.context, *days, user_id, again=again, dry_run=dry_run, on_done=advance)
    moved = [one._asdict() for one in done.moved]
    split = [{**one._asdict(), "parts": [part._asdict() for part in one.parts]} for one in done.split]
    output.said({**asdict(done), "moved": moved, "split": split}, *_refiled(done, dry_run))
    _end(done.failed)


@commands.command()
def refact(
    records: Annotated[list[str] | None, positional("Only these memories.", "RECORD_ID…")] = None,
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: _Again = False,
    dry_run: _CountOnly = False,
) -> None:
    """Read memories for facts with the configured language model, from the stored transcripts.

    What is found replaces what was found before. If the command is interrupted, run it again to continue.
    """
    is_chosen = user is not None or since is not None or until is not None
    if records and is_chosen:
        raise InvalidInputError("give ids of memories, or --user, --since and --until")
    if not records:
        _require_choice(user, since, until)
    days = _moments(since, until)
    with _working("reading", user) as (here, user_id, advance):
        chosen = _ids(here, records)
        if len(storage_times(here.database, chosen)) < len(set(chosen)):
            raise NotFoundError("a memory with one of these ids does not exist: `neurigraph memory list` lists them")
        chosen = chosen or choose_days(here.context, *days, user_id, again=again)
        done = FactsRead(here.context.language_model.name, records=len(chosen))
        if not dry_run:
            done = read_again(here.context, chosen, on_done=advance)
    output.said(asdict(done), *_read(done, dry_run))
    _end(done.failed)


def _require_choice(user: str | None, since: datetime | None, until: datetime | None) -> None:
    if user is None and since is None and until is None:
        raise InvalidInputError("give --user, --since or --until to choose memories")


def _ids(here: Installation, records: list[str] | None) -> list[UUID]:
    return [id_of(here.database, None, "record", argument(one)) for one in records or ()]


def _moments(since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime]:
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


def _resummarized(done: Resummarized, dry_run: bool) -> Iterator[str]:
    told = "to be summarised" if dry_run else "summarised"
    unchanged = "" if dry_run else f", {done.unchanged:,} of them unchanged"
    yield (
        f"{counted(done.records, 'record')} {told} by {done.model}{unchanged}; {done.complete:,} were summarised by it "
        f"before, {done.revised:,} were revised by somebody and kept."
    )
    yield from (f"{record_id} failed and keeps its text: {error}" for record_id, error in done.failed)


def _refiled(done: FiledAgain, dry_run: bool) -> Iterator[str]:
    yield (
        f"{counted(len(done.moved), 'record')} {'to be moved' if dry_run else 'moved'} and {len(done.split):,} "
        f"{'to be split' if dry_run else 'split'} by {done.model}; {done.stayed:,} stayed, {done.complete:,} were "
        f"filed again before, {done.by_hand:,} were decided by somebody and kept."
    )
    yield from (f"{one.record_id}  {one.from_path} → {one.to_path}" for one in done.moved)
    for one in done.split:
        yield f"{one.record_id}  {one.from_path}, of {len(one.parts)} subjects:"
        for part in one.parts:
            kept = "stays" if part.record_id == one.record_id else f"{part.record_id}"
            yield f"  {part.first_message}–{part.last_message} → {part.to_path} ({kept}): {part.words}"
    yield from (f"{record_id}  of several subjects, stays whole: {reason}" for record_id, reason in done.whole)
    yield from (f"{record_id} failed and stays: {error}" for record_id, error in done.failed)


def _reembedded(done: Reembedded) -> Iterator[str]:
    yield (
        f"{counted(done.records, 'record')} with {counted(done.passages, 'passage')} embedded by {done.model}; "
        f"{done.complete:,} had its vectors already."
    )
    for move in done.moves:
        left = f"{counted(move.missing, 'record')} left" if move.missing else f"searches use {done.model}"
        yield f"user {move.user_id}: {left}"
    yield from (f"no vectors for {record_id}: {error}" for record_id, error in done.failed)


def _read(done: Any, dry_run: bool) -> Iterator[str]:
    memories = counted(done.records, "memory", "memories")
    if dry_run:
        yield f"{memories} would be read with {done.extractor}"
        return
    yield f"{memories} read with {done.extractor}, {counted(done.facts, 'fact')}"
    if done.dropped:
        yield f"{done.dropped:,} dropped: the messages do not have their names or figures"
    yield from (f"{record_id}: {reason}" for record_id, reason in done.failed)
