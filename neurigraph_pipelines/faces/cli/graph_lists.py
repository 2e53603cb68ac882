"""Commands that list nodes and records, page by page: ``nodes`` and ``records``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    Cursor,
    Limit,
    UserSlug,
    argument,
    claims_of,
    filter_option,
    moment,
    node_id_of,
    opened,
)
from neurigraph_pipelines.model import ContentType

commands = typer.Typer()


_Source = Annotated[
    str | None, filter_option("Only from this conversation, event, upload or note, by id or external id.", "ID")
]
_Superseded = Annotated[
    bool | None, typer.Option("--superseded/--current", help="Whether newer memories replace them. Default: both.")
]


@commands.command()
def nodes(
    user: UserSlug,
    path: Annotated[str | None, filter_option("The node at this path, such as Family/Dave.")] = None,
    name: Annotated[str | None, filter_option("Nodes with this name or alias.")] = None,
    below: Annotated[str | None, filter_option("Nodes directly below this one, by path or id.", "NODE")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List nodes, parents before their children; without filters, the pages hold the whole graph."""
    from neurigraph_pipelines.graph.node_lists import NodeFilter, list_nodes

    with opened() as installation:
        claims = claims_of(installation, user)
        parent = None if below is None else node_id_of(installation, claims, below)
        wanted = NodeFilter(path and argument(path), name and argument(name), parent)
        page = list_nodes(installation.database, installation.cursors, claims, wanted, limit=limit, cursor=cursor)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.nodes(page.items, page.next_cursor)

    Output(as_json).result(page.shown("nodes"), view)


@commands.command()
def records(
    user: UserSlug,
    node: Annotated[str | None, filter_option("Only in this node or below it, by path or id.", "NODE")] = None,
    below: Annotated[bool, typer.Option("--below/--not-below", help="Whether nodes below --node count.")] = True,
    source: _Source = None,
    created_after: Annotated[str | None, filter_option("Stored at this time or later.", "TIME")] = None,
    created_before: Annotated[str | None, filter_option("Stored before this time.", "TIME")] = None,
    occurred_after: Annotated[str | None, filter_option("Of events at this time or later.", "TIME")] = None,
    occurred_before: Annotated[str | None, filter_option("Of events before this time.", "TIME")] = None,
    content_type: Annotated[ContentType | None, filter_option("Only of this kind of content.")] = None,
    superseded: _Superseded = None,
    entity: Annotated[str | None, filter_option("Only with this entity; case is ignored.")] = None,
    topic: Annotated[str | None, filter_option("Only with this topic; case is ignored.")] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List memories of the whole graph, the last stored first."""
    from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
    from neurigraph_pipelines.inbox.privacy import find_source

    with opened() as installation:
        claims = claims_of(installation, user)
        wanted = RecordFilter(
            None if node is None else node_id_of(installation, claims, node),
            below,
            None if source is None else find_source(installation.database, claims, argument(source)),
            moment("--created-after", created_after),
            moment("--created-before", created_before),
            moment("--occurred-after", occurred_after),
            moment("--occurred-before", occurred_before),
            content_type,
            superseded,
            entity and argument(entity),
            topic and argument(topic),
        )
        page = list_records(installation.database, installation.cursors, claims, wanted, limit=limit, cursor=cursor)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.records(page.items, page.next_cursor)

    Output(as_json).result(page.shown("records"), view)
