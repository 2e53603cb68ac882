"""The command about vectors: ``reembed``."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import AnyUserSlug, claims_of, opened

if TYPE_CHECKING:
    from neurigraph_pipelines.ingestion.reembed import Reembedded

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
    first = since.replace(tzinfo=UTC) if since is not None else None
    # A day beyond tomorrow does not exist yet; the clock of a database may be a little ahead of ours.
    last = until.replace(tzinfo=UTC) if until is not None else datetime.now(UTC) + timedelta(days=1)
    with opened() as installation:
        user_id = claims_of(installation, user).user_id if user is not None else None
        with output.progress() as progress:
            task = progress.add_task("embedding", total=None)
            done = backfill(
                installation.adapters,
                first,
                last + timedelta(days=1) if until is not None else last,
                user_id,
                on_done=lambda count: progress.advance(task, count),
            )
    output.result(asdict(done), lambda: _view(done))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


def _view(done: Reembedded) -> Any:
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
