"""Commands about sources: ``source list``, ``show`` and ``edit``, and sources whose processing failed."""

from __future__ import annotations

import time
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.access.short_ids import id_of
from neurigraph_pipelines.database.paging import Page
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.result_layouts import listed
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    Cursor,
    Limit,
    UserSlug,
    argument,
    claims_of,
    opened,
    option,
    positional,
    user_id_of,
)
from neurigraph_pipelines.faces.cli.taken import fields_of, stated_by, with_options
from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.inbox import privacy as privacies
from neurigraph_pipelines.inbox.privacy import find_source
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.ingestion import failures as failing
from neurigraph_pipelines.model import SETTLED, Claims, Privacy, SourceKind
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.views.sources import Source, SourceState
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
failures = typer.Typer()

_FILTERS = fields_of(SourceFilter, {"external_id": "--external-id"})
_PAUSE_SECONDS = 0.5


@commands.command("list")
@with_options(_FILTERS)
def list_of_kind(
    user: UserSlug,
    kind: Annotated[SourceKind | None, positional("What to list. Default: the newest of each kind.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    **stated: Any,
) -> None:
    """List sources with their states, the last received first."""
    if cursor and kind is None:
        raise InvalidInputError("a cursor goes on with one kind: name the kind before --cursor")
    pages = {}
    with opened() as installation:
        call = Call(installation, claims_of(installation, user), "cli")
        wanted = stated_by(SourceFilter, _FILTERS, stated, call)
        for one in SourceKind if kind is None else (kind,):
            pages[one] = list_sources(call.listing(limit, cursor), one, wanted)
    if kind is not None:
        page = pages[kind]
        output.result(page.shown(f"{kind}s"), lambda: listed(page.items, page.next_cursor))
        return
    output.result(
        {f"{one}s": page.items for one, page in pages.items()},
        lambda: layouts.stacked(*(part for one, page in pages.items() for part in _of_kind(one, page))),
    )


def _of_kind(kind: SourceKind, page: Page[Source]) -> list[Any]:
    """Return the part of a list of all kinds that has one of them; of a kind without sources, a line."""
    if not page.items:
        return [layouts.lines(f"No {kind}s.")]
    more = [f"More: neurigraph source list {kind}"] if page.next_cursor else []
    return [layouts.lines(f"{kind}s".capitalize()), listed(page.items, None), layouts.lines(*more, "")]


@commands.command("show")
def progress(
    source: Annotated[str, positional("Id or external id of a conversation, event, upload or note.")],
    user: UserSlug,
    wait: Annotated[float, typer.Option(min=0, max=86_400, help="Seconds to wait until it is stored or failed.")] = 0.0,
) -> None:
    """Show how far a conversation, an event, an upload or a note is, and the memories that it became."""
    with opened() as installation:
        claims = claims_of(installation, user)
        source_id = find_source(installation.database, claims, argument(source))
        until = time.monotonic() + wait
        found = _get(installation, claims, source_id)
        while found.state not in SETTLED and time.monotonic() < until:
            time.sleep(_PAUSE_SECONDS)
            found = _get(installation, claims, source_id)

    def layout() -> Any:
        records = [f"neurigraph memory show {record_id} --user {user}" for record_id in found.record_ids]
        facts = {name.replace("_", " "): value for name, value in found if name != "record_ids"}
        return layouts.stacked(layouts.fields(facts), layouts.lines(*records))

    output.result(found, layout)


def _get(installation: Installation, claims: Claims, source_id: UUID) -> SourceState:
    for kind in SourceKind:
        try:
            return get_source(installation.database, claims, kind, source_id)
        except NotFoundError:
            continue
    raise NotFoundError(f"there is no conversation, event, upload or note {source_id}")


@commands.command("edit")
def set_privacy(
    source: Annotated[str, positional("Id or external id of a conversation, event, upload or note.")],
    privacy: Annotated[Privacy, positional("private: only the owner sees it. shared: everybody who sees its nodes.")],
    user: UserSlug,
) -> None:
    """Make a conversation, an event, an upload or a note private, or share it again, with all memories from it.

    Only the owner of the graph sees a private source, even if others may read its nodes.
    """
    with opened() as installation:
        claims = claims_of(installation, user)
        source_id = find_source(installation.database, claims, argument(source))
        privacies.set_privacy(installation.database, claims, source_id, privacy)

    output.said({"source_id": source_id, "privacy": privacy}, f"{source} and all memories from it are now {privacy}.")


@failures.command("list")
def list_failed(
    user: AnyUserSlug = None,
    replayed: Annotated[bool, option("Include failures that were replayed.", "--replayed")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Maximum number of failures, newest first.")] = 50,
) -> None:
    """List segments that could not be stored and files that could not be read, with the reason."""
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with installation.database.pipeline() as tx:
            found = failing.list_failures(tx, user_id, with_replayed=replayed, limit=limit)

    output.result({"failures": found}, lambda: layouts.failures(found))


@failures.command()
def replay(
    failure_ids: Annotated[
        list[str] | None, typer.Argument(metavar="FAILURE_ID…", help="Ids from `neurigraph source failure list`.")
    ] = None,
    everything: Annotated[bool, option("Replay all open failures.", "--all")] = False,
    user: AnyUserSlug = None,
) -> None:
    """Put failed segments and files back into the queue with all their attempts. Repeating it changes nothing."""
    if bool(failure_ids) == everything:
        raise InvalidInputError("give the ids of the failures to replay, or --all")
    with opened() as installation:
        claims = claims_of(installation, user, whole_graph=True) if user is not None else None
        user_id = None if claims is None else claims.user_id
        ids = [id_of(installation.database, claims, "failure", argument(text)) for text in failure_ids or ()]
        named = None if everything else ids
        done = failing.replay(installation.database, named, user_id)

    def layout() -> Any:
        if not done:
            return layouts.lines("Nothing to replay.")
        lines = [f"{each.failure_id}  {each.outcome.replace('_', ' ')}" for each in done]
        return layouts.lines(*lines, "`neurigraph up` stores them automatically, `neurigraph ingest` at once.")

    output.result({"replays": done}, layout)
