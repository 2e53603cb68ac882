"""Commands about sources: ``source list`` and ``source show``."""

from __future__ import annotations

import time
from typing import Annotated, Any
from uuid import UUID

import typer

from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import Cursor, Limit, UserSlug, argument, claims_of, moment, opened
from neurigraph_pipelines.inbox.privacy import find_source
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.model import SETTLED, Claims, Progress, SourceKind
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.views.sources import SourceState
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()

_State = Annotated[Progress | None, typer.Option(help="Only sources in this state.", show_default=False)]
_ExternalId = Annotated[str | None, typer.Option(help="Only the source with this id.", show_default=False)]
_Title = Annotated[str | None, typer.Option(help="Only sources with all of these words in the title.")]
_After = Annotated[str | None, typer.Option(metavar="TIME", help="Received at this time or later.")]
_Before = Annotated[str | None, typer.Option(metavar="TIME", help="Received before this time.")]
_StartedAfter = Annotated[str | None, typer.Option(metavar="TIME", help="Started at this time or later.")]
_StartedBefore = Annotated[str | None, typer.Option(metavar="TIME", help="Started before this time.")]

_PAUSE_SECONDS = 0.5


@commands.command("list")
def listed(
    kind: Annotated[SourceKind, typer.Argument(help="What to list.", show_default=False)],
    user: UserSlug,
    state: _State = None,
    external_id: _ExternalId = None,
    title: _Title = None,
    received_after: _After = None,
    received_before: _Before = None,
    started_after: _StartedAfter = None,
    started_before: _StartedBefore = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List sources of one kind with their states, the last received first."""
    wanted = SourceFilter(
        state,
        external_id and argument(external_id),
        title and argument(title),
        moment("--received-after", received_after),
        moment("--received-before", received_before),
        moment("--started-after", started_after),
        moment("--started-before", started_before),
    )
    with opened() as installation:
        claims = claims_of(installation, user)
        page = list_sources(
            installation.database, installation.cursors, claims, kind, wanted, limit=limit, cursor=cursor
        )

    Output(as_json).result(page.shown(f"{kind}s"), lambda: layouts.sources(page.items, page.next_cursor))


@commands.command("show")
def progress(
    source: Annotated[
        str,
        typer.Argument(help="Id or external id of a conversation, event, upload or note.", show_default=False),
    ],
    user: UserSlug,
    wait: Annotated[float, typer.Option(min=0, max=86_400, help="Seconds to wait until it is stored or failed.")] = 0.0,
    as_json: Json = False,
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

    Output(as_json).result(found, layout)


def _get(installation: Installation, claims: Claims, source_id: UUID) -> SourceState:
    for kind in SourceKind:
        try:
            return get_source(installation.database, claims, kind, source_id)
        except NotFoundError:
            continue
    raise NotFoundError(f"there is no conversation, event, upload or note {source_id}")
