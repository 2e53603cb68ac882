"""Commands that make anew what was made of stored memories: ``reembed`` and ``resummarize``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import AnyUserSlug, claims_of, opened, record_id_of
from neurigraph_pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from neurigraph_pipelines.ingestion.reembed import Reembedded
    from neurigraph_pipelines.ingestion.resummarize import Resummarized

commands = typer.Typer()

_Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], help="A day (UTC), itself included.")]
_NOT_ALL = 1


@commands.command()
def reembed(since: _Day = None, until: _Day = None, user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Embed what has no vectors of the configured model: all records, or those stored on some days.

    A user's searches switch to the model once all of the user's records have its vectors. Interrupted, it goes on
    from there when it is started again.
    """
    from neurigraph_pipelines.ingestion.reembed import reembed as backfill

    output = Output(as_json)
    first, end = _moments(since, until)
    with opened() as installation:
        user_id = claims_of(installation, user).user_id if user is not None else None
        with output.progress() as progress:
            task = progress.add_task("embedding", total=None)
            done = backfill(
                installation.context, first, end, user_id, on_done=lambda count: progress.advance(task, count)
            )
    output.result(asdict(done), lambda: _reembedded(done))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


@commands.command()
def resummarize(
    records: Annotated[
        list[str] | None,
        typer.Argument(metavar="RECORD_ID…", help="Only these memories of the user.", show_default=False),
    ] = None,
    user: AnyUserSlug = None,
    since: _Day = None,
    until: _Day = None,
    again: Annotated[bool, typer.Option("--again", help="Those too whose words are of this model already.")] = False,
    also_revised: Annotated[
        bool, typer.Option("--also-revised", help="Those too whose words somebody revised; their words go.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say how many.")] = False,
    as_json: Json = False,
) -> None:
    """Have the configured language model write titles, summaries and keywords anew, from the stored transcripts.

    What they were can still be read. Interrupted, it goes on from there when it is started again.
    """
    from neurigraph_pipelines.ingestion.resummarize import Wanted
    from neurigraph_pipelines.ingestion.resummarize import resummarize as backfill

    if user is None and since is None and until is None:
        raise InvalidInputError("say which memories: those of a --user, or those stored --since or --until a day")
    if records and (user is None or since is not None or until is not None):
        raise InvalidInputError("name memories together with their --user, and without days")
    output = Output(as_json)
    first, end = _moments(since, until)
    record_ids = [record_id_of(identifier) for identifier in records] if records else None
    with opened() as installation:
        user_id = claims_of(installation, user).user_id if user is not None else None
        with output.progress() as progress:
            task = progress.add_task("summarising", total=None)
            done = backfill(
                installation.context,
                first,
                end,
                user_id,
                record_ids,
                wanted=Wanted(again, also_revised),
                dry_run=dry_run,
                on_done=lambda count: progress.advance(task, count),
            )
    output.result(asdict(done), lambda: _resummarized(done, dry_run))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


def _moments(since: datetime | None, until: datetime | None) -> tuple[datetime | None, datetime]:
    """The first moment of a range of days, None for the beginning, and the first after it."""
    first = since.replace(tzinfo=UTC) if since is not None else None
    # A day beyond tomorrow does not exist yet; the clock of a database may be a little ahead of ours.
    last = until.replace(tzinfo=UTC) if until is not None else datetime.now(UTC)
    try:
        return first, last + timedelta(days=1)
    except OverflowError:
        raise InvalidInputError(f"--until is {last:%Y-%m-%d}: the calendar ends there") from None


def _resummarized(done: Resummarized, dry_run: bool) -> Any:
    from neurigraph_pipelines.cli import views

    told = [
        f"{done.records:,} records would be summarised by {done.model}; "
        if dry_run
        else f"{done.records:,} records summarised by {done.model}, {done.unchanged:,} came out as they were; "
    ]
    told[0] += f"{done.complete:,} had its words already, {done.revised:,} have those of somebody who revised them."
    told += [f"{record_id} bears the words that it had: {error}" for record_id, error in done.failed]
    return views.lines(*told)


def _reembedded(done: Reembedded) -> Any:
    from neurigraph_pipelines.cli import views

    told = [
        f"{done.records:,} records with {done.passages:,} passages embedded by {done.model}; "
        f"{done.complete:,} had its vectors already."
    ]
    told += [
        f"user {move.user_id}: {f'{move.missing:,} records to go' if move.missing else f'searches use {done.model}'}"
        for move in done.moves
    ]
    told += [f"no vectors of {record_id}: {error}" for record_id, error in done.failed]
    return views.lines(*told)
