"""The command ``admin refact``, which reads memories again for facts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.backfills import NOT_ALL, Since, Until, moments
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    argument,
    opened,
    user_id_of,
)
from neurigraph_pipelines.ingestion.record_locations import storage_times
from neurigraph_pipelines.knowledge.reading import FactsRead, choose_days, read_again
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError

commands = typer.Typer()


@commands.command()
def refact(
    records: Annotated[
        list[str] | None,
        typer.Argument(metavar="RECORD_ID…", help="Only these memories.", show_default=False),
    ] = None,
    user: AnyUserSlug = None,
    since: Since = None,
    until: Until = None,
    again: Annotated[
        bool, typer.Option("--again", help="Include memories in which this model found facts already.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count the memories.")] = False,
    as_json: Json = False,
) -> None:
    """Read memories for facts with the configured language model, from the stored transcripts.

    What is found replaces what was found before. If the command is interrupted, run it again to continue.
    """
    if records and (user is not None or since is not None or until is not None):
        raise InvalidInputError("give ids of memories, or --user, --since and --until")
    if not records and user is None and since is None and until is None:
        raise InvalidInputError("give --user, --since or --until to choose memories")
    output = Output(as_json)
    first, end = moments(since, until)
    with opened() as installation:
        context = installation.context
        if records:
            chosen = [id_of(installation.database, None, "record", argument(one)) for one in records]
            if len(storage_times(installation.database, chosen)) < len(set(chosen)):
                raise NotFoundError(
                    "a memory with one of these ids does not exist: `neurigraph memory list` lists them"
                )
        else:
            user_id = user_id_of(installation, user)
            chosen = choose_days(context, first, end, user_id, again=again)
        done = FactsRead(context.language_model.name, records=len(chosen))
        if not dry_run:
            with output.progress() as progress:
                task = progress.add_task("reading", total=len(chosen))
                done = read_again(context, chosen, on_done=lambda count: progress.advance(task, count))
    output.result(asdict(done), lambda: _read(done, dry_run=dry_run))
    if done.failed:
        raise typer.Exit(NOT_ALL)


def _read(done: Any, *, dry_run: bool) -> RenderableType:
    if dry_run:
        return layouts.lines(f"{counted(done.records, 'memory', 'memories')} would be read with {done.extractor}")
    lines = [
        f"{counted(done.records, 'memory', 'memories')} read with {done.extractor}, {counted(done.facts, 'fact')}",
        *([f"{done.dropped:,} dropped: the messages do not have their names or figures"] if done.dropped else []),
        *(f"{record_id}: {reason}" for record_id, reason in done.failed),
    ]
    return layouts.lines(*lines)
