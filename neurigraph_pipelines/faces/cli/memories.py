"""Commands about single memories: ``record``, ``history``, ``diff``, ``revise`` and ``supersede``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import UserSlug, argument, claims_of, moment, opened, parse_id, record_id_of
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from neurigraph_pipelines.access.guards import Guard
    from neurigraph_pipelines.views.memories import Memory

commands = typer.Typer()

_RecordId = Annotated[str, typer.Argument(metavar="RECORD_ID", help="Id from `neurigraph search`.", show_default=False)]
_ExpectedDelta = Annotated[
    str | None,
    typer.Option(metavar="DELTA_ID", help="Change the memory only if this is its newest delta.", show_default=False),
]
_Keywords = Annotated[
    list[str] | None, typer.Option(help="Replaces all existing ones; may be repeated.", show_default=False)
]
_TIME = "TIME"


@commands.command()
def record(
    identifier: _RecordId,
    user: UserSlug,
    at: Annotated[
        str | None, typer.Option(metavar=_TIME, help="Show the version of this moment.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Show one memory, in its present version or the version of a moment."""
    from neurigraph_pipelines.graph.history import record_at

    with opened() as installation:
        claims = claims_of(installation, user)
        with _named(identifier):
            found = record_at(installation.database, claims, record_id_of(identifier), moment("--at", at))
    _show(found, as_json)


@commands.command()
def history(
    identifier: _RecordId,
    user: UserSlug,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum number of changes.")] = 50,
    as_json: Json = False,
) -> None:
    """Show all changes of a memory, newest first: old values, new values and author."""
    from neurigraph_pipelines.graph.history import history as history_of

    with opened() as installation:
        claims = claims_of(installation, user)
        with _named(identifier):
            found = history_of(installation.database, claims, record_id_of(identifier), limit=limit)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.deltas(found)

    Output(as_json).result({"deltas": found}, view)


@commands.command()
def diff(
    identifier: _RecordId,
    user: UserSlug,
    w1: Annotated[str, typer.Argument(metavar="FROM_TIME", help="For example 2025-06-01.", show_default=False)],
    w2: Annotated[str | None, typer.Argument(metavar="TO_TIME", help="Default: now.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Show the fields of a memory that differ between two moments."""
    from neurigraph_pipelines.graph import history

    first, last = moment("FROM_TIME", w1), moment("TO_TIME", w2)
    assert first is not None
    with opened() as installation:
        claims = claims_of(installation, user)
        with _named(identifier):
            found = history.diff(installation.database, claims, record_id_of(identifier), first, last)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.changes(found)

    Output(as_json).result(found, view)


@commands.command()
def revise(
    identifier: _RecordId,
    user: UserSlug,
    title: Annotated[str | None, typer.Option(show_default=False)] = None,
    summary: Annotated[str | None, typer.Option(show_default=False)] = None,
    entity: _Keywords = None,
    topic: _Keywords = None,
    date: _Keywords = None,
    relationship: _Keywords = None,
    expected_delta: _ExpectedDelta = None,
    as_json: Json = False,
) -> None:
    """Change the title, summary or keywords of a memory. The history keeps the old values."""
    from neurigraph_pipelines.graph.history import record_at
    from neurigraph_pipelines.ingestion import revision

    wanted = revision.Revision(
        *(None if text is None else argument(text) for text in (title, summary)),
        *([argument(word) for word in words] if words else None for words in (entity, topic, date, relationship)),
    )
    with opened() as installation:
        claims, record_id = claims_of(installation, user), record_id_of(identifier)
        guard = _unchanged_since(record_id, expected_delta)
        with _named(identifier):
            revision.revise(
                installation.acting_for(claims),
                record_id,
                wanted,
                guard,
            )
            found = record_at(installation.database, claims, record_id)
    _show(found, as_json)


@commands.command()
def supersede(
    identifier: _RecordId,
    user: UserSlug,
    by: Annotated[str | None, typer.Option(metavar="RECORD_ID", help="The newer memory.", show_default=False)] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Undo the replacement.")] = False,
    expected_delta: _ExpectedDelta = None,
    as_json: Json = False,
) -> None:
    """Mark a memory as replaced by a newer one. The old memory is kept and left out of searches."""
    from neurigraph_pipelines.graph.history import record_at
    from neurigraph_pipelines.ingestion import revision

    if (by is None) is not undo:
        raise InvalidInputError("give the newer memory with --by, or --undo")
    with opened() as installation:
        claims, record_id = claims_of(installation, user), record_id_of(identifier)
        newer = None if by is None else record_id_of(by)
        with _named(identifier if by is None else f"{identifier} or {by}"):
            revision.supersede(
                installation.database, claims, record_id, newer, _unchanged_since(record_id, expected_delta)
            )
            found = record_at(installation.database, claims, record_id)
    _show(found, as_json)


@contextmanager
def _named(identifier: str) -> Iterator[None]:
    """Name the record in a ``NotFoundError``."""
    try:
        yield
    except NotFoundError:
        raise NotFoundError(f"there is no record {identifier}") from None


def _unchanged_since(record_id: UUID, delta: str | None) -> Guard:
    """Return a guard that lets a change pass only if a delta is the record's newest one."""
    from neurigraph_pipelines.access.guards import FREE, Unchanged

    return FREE if delta is None else Unchanged("record", record_id, [parse_id(delta, "delta", "history").hex])


def _show(found: Memory, as_json: bool) -> None:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.memory(found)

    Output(as_json).result(found, view)
