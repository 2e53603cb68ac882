"""Commands about segments and files whose processing failed: ``source failure list`` and ``replay``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, argument, claims_of, opened, user_id_of
from neurigraph_pipelines.ingestion import failures as domain
from neurigraph_pipelines.ingestion.failures import list_failures
from neurigraph_pipelines.model.errors import InvalidInputError

commands = typer.Typer()


@commands.command("list")
def failures(
    user: AnyUserSlug = None,
    replayed: Annotated[bool, typer.Option("--replayed", help="Include failures that were replayed.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of failures, newest first.")] = 50,
    as_json: Json = False,
) -> None:
    """List segments that could not be stored and files that could not be read, with the reason."""
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with installation.database.pipeline() as tx:
            found = list_failures(tx, user_id, with_replayed=replayed, limit=limit)

    Output(as_json).result({"failures": found}, lambda: layouts.failures(found))


@commands.command()
def replay(
    failure_ids: Annotated[
        list[str] | None, typer.Argument(metavar="FAILURE_ID…", help="Ids from `neurigraph source failure list`.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Replay all open failures.")] = False,
    user: AnyUserSlug = None,
    as_json: Json = False,
) -> None:
    """Put failed segments and files back into the queue with all their attempts. Repeating it changes nothing."""
    if bool(failure_ids) == everything:
        raise InvalidInputError("give the ids of the failures to replay, or --all")
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True) if user is not None else None
        user_id = None if claims is None else claims.user_id
        ids = [id_of(installation.database, claims, "failure", argument(text)) for text in failure_ids or ()]
        named = None if everything else ids
        done = domain.replay(installation.database, named, user_id)

    def layout() -> Any:
        if not done:
            return layouts.lines("Nothing to replay.")
        lines = [f"{each.failure_id}  {each.outcome.replace('_', ' ')}" for each in done]
        return layouts.lines(*lines, "`neurigraph up` stores them automatically, `neurigraph ingest` at once.")

    Output(as_json).result({"replays": done}, layout)
