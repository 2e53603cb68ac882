"""Commands that change a graph: ``move``, ``rename``, ``move-node``, ``merge`` and ``split``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import (
    UserSlug,
    argument,
    claims_of,
    moment,
    node_id_of,
    opened,
    record_id_of,
)
from neurigraph_pipelines.model import ConceptKind

if TYPE_CHECKING:
    from neurigraph_pipelines.graph.changes import GraphChange

commands = typer.Typer()

_PLACE = "PATH_OR_ID"
_Node = Annotated[str, typer.Argument(metavar=_PLACE, help="Such as Family/Dave.", show_default=False)]
_DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and change nothing.")]


@commands.command()
def move(
    identifiers: Annotated[
        list[str], typer.Argument(metavar="RECORD_ID...", help="As search shows them.", show_default=False)
    ],
    user: UserSlug,
    to: Annotated[str, typer.Option(metavar=_PLACE, help="The node to lie in.", show_default=False)],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Let records lie in another node, all of them or none; their files and their history stay theirs."""
    from neurigraph_pipelines.graph.moving import move_records

    with opened() as installation:
        claims = claims_of(installation, user)
        record_ids = [record_id_of(identifier) for identifier in identifiers]
        target = node_id_of(installation, claims, to)
        _say(move_records(installation.database, claims, record_ids, target, dry_run=dry_run), as_json)


@commands.command()
def rename(
    node: _Node,
    name: Annotated[str, typer.Argument(help="The name from now on.", show_default=False)],
    user: UserSlug,
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Give a node another name; it goes on being found by the one it had."""
    from neurigraph_pipelines.graph.reshaping import rename_node

    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = node_id_of(installation, claims, node)
        _say(rename_node(installation.database, claims, node_id, argument(name), dry_run=dry_run), as_json)


@commands.command()
def move_node(
    node: _Node,
    user: UserSlug,
    under: Annotated[str, typer.Option(metavar=_PLACE, help="The node to lie below.", show_default=False)],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Let a node, with all that lies below it, lie below another one."""
    from neurigraph_pipelines.graph import reshaping

    with opened() as installation:
        claims = claims_of(installation, user)
        places = [node_id_of(installation, claims, place) for place in (node, under)]
        _say(reshaping.move_node(installation.database, claims, *places, dry_run=dry_run), as_json)


@commands.command()
def merge(
    node: _Node,
    user: UserSlug,
    into: Annotated[str, typer.Option(metavar=_PLACE, help="The node that takes it over.", show_default=False)],
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Let a node take over the records, children, edges and names of another, which is gone then.

    Children that bear the same name become one in the same way. Grants of nodes that go end.
    """
    from neurigraph_pipelines.graph.reshaping import merge_nodes

    with opened() as installation:
        claims = claims_of(installation, user)
        places = [node_id_of(installation, claims, place) for place in (node, into)]
        _say(merge_nodes(installation.database, claims, *places, dry_run=dry_run), as_json)


@commands.command()
def split(
    node: _Node,
    name: Annotated[str, typer.Argument(help="Of the new node.", show_default=False)],
    user: UserSlug,
    record: Annotated[
        list[str] | None, typer.Option(metavar="RECORD_ID", help="These records; may be repeated.", show_default=False)
    ] = None,
    keyword: Annotated[str | None, typer.Option(help="Records with this keyword.", show_default=False)] = None,
    after: Annotated[
        str | None, typer.Option(metavar="TIME", help="What happened then or later.", show_default=False)
    ] = None,
    before: Annotated[
        str | None, typer.Option(metavar="TIME", help="What happened before then.", show_default=False)
    ] = None,
    beside: Annotated[bool, typer.Option("--beside", help="Beside the node; else below it.")] = False,
    kind: Annotated[ConceptKind, typer.Option(help="What the new node stands for.")] = ConceptKind.TOPIC,
    dry_run: _DryRun = False,
    as_json: Json = False,
) -> None:
    """Let some records of a node have a node of their own: those of which all that is said is true."""
    from neurigraph_pipelines.graph.moving import Chosen, split_node

    chosen = Chosen(
        [record_id_of(identifier) for identifier in record] if record else None,
        None if keyword is None else argument(keyword),
        moment("--after", after),
        moment("--before", before),
    )
    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = node_id_of(installation, claims, node)
        change = split_node(
            installation.database, claims, node_id, argument(name), chosen, beside=beside, kind=kind, dry_run=dry_run
        )
        _say(change, as_json)


def _say(change: GraphChange, as_json: bool) -> None:
    def view() -> Any:
        from neurigraph_pipelines.cli import views

        told = {
            "records moved": change.records,
            "nodes moved": change.nodes_moved,
            "nodes removed": change.nodes_removed,
            "grants ended": change.grants_ended,
        }
        return views.fields(
            {
                "node": change.node_path,
                "node id": change.node_id,
                **{name: number or None for name, number in told.items()},
                "dry run": "nothing was changed" if change.dry_run else None,
            }
        )

    Output(as_json).result(asdict(change), view)
