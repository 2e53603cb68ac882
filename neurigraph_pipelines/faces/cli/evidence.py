"""Commands about evidence: ``mentions``, ``evidence`` and ``alias``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

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
    parse_id,
)
from neurigraph_pipelines.model import AliasType, MentionRole, Stance
from neurigraph_pipelines.model.errors import InvalidInputError

if TYPE_CHECKING:
    from neurigraph_pipelines.views.base import View

commands = typer.Typer()

_NodeOrNone = Annotated[
    str | None, typer.Argument(metavar="PATH_OR_ID", help="For example Family/Dave.", show_default=False)
]
_Type = Annotated[
    AliasType | None, typer.Option("--type", help="What kind it is. Default: a name to add, any to find or remove.")
]

_Node = Annotated[str, typer.Argument(metavar="PATH_OR_ID", help="For example Family/Dave.", show_default=False)]


@commands.command()
def mentions(
    node: _Node,
    user: UserSlug,
    role: Annotated[MentionRole | None, typer.Option(help="Only in this role.", show_default=False)] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the memories that speak of a node, the last stored first."""
    from neurigraph_pipelines.graph.mention_lists import page_of_mentions

    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = node_id_of(installation, claims, node)
        page = page_of_mentions(
            installation.database, installation.cursors, claims, node_id, role, limit=limit, cursor=cursor
        )

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        columns = ("record_id", "role", "alias", "node_path", "title")
        return views.page([_row(one, columns) for one in page.items], page.next_cursor)

    Output(as_json).result(page.shown("mentions"), view)


@commands.command()
def evidence(
    edge: Annotated[str, typer.Argument(metavar="EDGE_ID", help="From `neurigraph node --json`.", show_default=False)],
    user: UserSlug,
    say: Annotated[
        Stance | None, typer.Option(help="State by hand that it holds, has ended, or never was.", show_default=False)
    ] = None,
    valid_from: Annotated[str | None, filter_option("With --say: since when it holds, or does not.", "TIME")] = None,
    valid_until: Annotated[str | None, filter_option("With --say: until when. Default of an end: now.", "TIME")] = None,
    take_back: Annotated[
        str | None, typer.Option(metavar="EVIDENCE_ID", help="Take back a statement made by hand.", show_default=False)
    ] = None,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List the evidence of an edge, the newest first; state evidence by hand, or take such a statement back."""
    from neurigraph_pipelines.graph.edge_statements import EdgeStatement, state_evidence, take_back_evidence
    from neurigraph_pipelines.graph.mention_lists import edge_of, page_of_evidence

    edge_id = parse_id(edge, "edge", "node --json")
    if say is None and (valid_from or valid_until):
        raise InvalidInputError("a time needs --say: say what began or ended then")
    with opened() as installation:
        claims = claims_of(installation, user)
        if take_back is not None:
            gone = parse_id(take_back, "evidence", "evidence --json")
            take_back_evidence(installation.database, claims, edge_id, gone)
        if say is not None:
            said = EdgeStatement(say, moment("--valid-from", valid_from), moment("--valid-until", valid_until))
            state_evidence(installation.database, claims, edge_id, said)
        found = edge_of(installation.database, claims, edge_id)
        page = page_of_evidence(
            installation.database, installation.cursors, claims, edge_id, limit=limit, cursor=cursor
        )

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        columns = ("evidence_id", "record_id", "stance", "weight", "statements", "detected_by", "title")
        return views.page([_row(one, columns) for one in page.items], page.next_cursor)

    Output(as_json).result({"edge": found, **page.shown("evidence")}, view)


@commands.command()
def alias(
    user: UserSlug,
    node: _NodeOrNone = None,
    add: Annotated[str | None, typer.Option(metavar="VALUE", help="A name or an id to add.")] = None,
    remove: Annotated[str | None, typer.Option(metavar="VALUE", help="A name or an id to remove.")] = None,
    value: Annotated[str | None, typer.Option(help="Find the nodes that have this name or id.")] = None,
    alias_type: _Type = None,
    verified: Annotated[bool, typer.Option("--verified", help="Say that you vouch for what you add.")] = False,
    limit: Limit = 20,
    cursor: Cursor = None,
    as_json: Json = False,
) -> None:
    """List, add or remove other names and ids of a node, or find the nodes that have one."""
    from neurigraph_pipelines.graph import aliases
    from neurigraph_pipelines.graph.mention_lists import page_of_aliases

    if (node is None) == (value is None) or (node is None and (add or remove)):
        raise InvalidInputError("name a node, to list, add or remove its names, or give --value to find nodes")
    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = None if node is None else node_id_of(installation, claims, node)
        database = installation.database
        if node_id is not None and add is not None:
            kind = alias_type or AliasType.NAME
            aliases.give_alias(database, claims, node_id, kind, argument(add), verified=verified)
        if node_id is not None and remove is not None:
            aliases.remove_alias(database, claims, node_id, argument(remove), alias_type)
        page = page_of_aliases(
            database,
            installation.cursors,
            claims,
            node_id=node_id,
            value=value and argument(value),
            alias_type=alias_type if value else None,
            limit=limit,
            cursor=cursor,
        )

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        columns = ("node_path", "type", "value", "verified", "mention_count")
        return views.page([_row(one, columns) for one in page.items], page.next_cursor)

    Output(as_json).result(page.shown("aliases"), view)


def _row(found: View, columns: tuple[str, ...]) -> dict[str, object]:
    return {name: "" if (value := getattr(found, name)) is None else value for name in columns}
