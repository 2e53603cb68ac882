"""Commands that change a graph: ``move``, ``rename``, ``move-node``, ``merge`` and ``split``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output
from neurigraph_pipelines.faces.cli.session import (
    DryRun,
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
    from neurigraph_pipelines.views.graph import GraphChange

commands = typer.Typer()

_PATH_OR_ID = "PATH_OR_ID"
_Node = Annotated[str, typer.Argument(metavar=_PATH_OR_ID, help="For example Family/Dave.", show_default=False)]


@commands.command()
def move(
    identifiers: Annotated[
        list[str], typer.Argument(metavar="RECORD_ID...", help="Ids from `neurigraph search`.", show_default=False)
    ],
    user: UserSlug,
    to: Annotated[str, typer.Option(metavar=_PATH_OR_ID, help="The node to move them to.", show_default=False)],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move records to another node, with their files and their history. Either all are moved or none."""
    from neurigraph_pipelines.graph.moving import move_records

    with opened() as installation:
        claims = claims_of(installation, user)
        record_ids = [record_id_of(identifier) for identifier in identifiers]
        target = node_id_of(installation, claims, to)
        _show(move_records(installation.database, claims, record_ids, target, dry_run=dry_run), as_json)


@commands.command()
def rename(
    node: _Node,
    name: Annotated[str, typer.Argument(help="The new name.", show_default=False)],
    user: UserSlug,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Rename a node. Its old name stays as an alias."""
    from neurigraph_pipelines.graph.reshaping import rename_node

    with opened() as installation:
        claims = claims_of(installation, user)
        node_id = node_id_of(installation, claims, node)
        _show(rename_node(installation.database, claims, node_id, argument(name), dry_run=dry_run), as_json)


@commands.command()
def move_node(
    node: _Node,
    user: UserSlug,
    under: Annotated[str, typer.Option(metavar=_PATH_OR_ID, help="The new parent node.", show_default=False)],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move a node, with all nodes below it, below another node."""
    from neurigraph_pipelines.graph import reshaping

    with opened() as installation:
        claims = claims_of(installation, user)
        node_ids = [node_id_of(installation, claims, place) for place in (node, under)]
        _show(reshaping.move_node(installation.database, claims, *node_ids, dry_run=dry_run), as_json)


@commands.command()
def merge(
    node: _Node,
    user: UserSlug,
    into: Annotated[str, typer.Option(metavar=_PATH_OR_ID, help="The node to merge it into.", show_default=False)],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move the records, children, edges and names of a node into another node, and remove it.

    Children with the same name are merged in the same way. Grants of removed nodes end.
    """
    from neurigraph_pipelines.graph.reshaping import merge_nodes

    with opened() as installation:
        claims = claims_of(installation, user)
        node_ids = [node_id_of(installation, claims, place) for place in (node, into)]
        _show(merge_nodes(installation.database, claims, *node_ids, dry_run=dry_run), as_json)


@commands.command()
def split(
    node: _Node,
    name: Annotated[str, typer.Argument(help="Name of the new node.", show_default=False)],
    user: UserSlug,
    record: Annotated[
        list[str] | None,
        typer.Option(metavar="RECORD_ID", help="A record to move; may be repeated.", show_default=False),
    ] = None,
    keyword: Annotated[str | None, typer.Option(help="Move records with this keyword.", show_default=False)] = None,
    after: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Move records of events at this time or later.", show_default=False),
    ] = None,
    before: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Move records of events before this time.", show_default=False),
    ] = None,
    beside: Annotated[
        bool, typer.Option("--beside", help="Create the new node beside this one instead of below it.")
    ] = False,
    kind: Annotated[ConceptKind, typer.Option(help="Kind of the new node.")] = ConceptKind.TOPIC,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move the records of a node that meet all the given conditions to a new node."""
    from neurigraph_pipelines.graph.moving import RecordFilter, split_node

    chosen = RecordFilter(
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
        _show(change, as_json)


def _show(change: GraphChange, as_json: bool) -> None:
    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        counts = {
            "records moved": change.records,
            "nodes moved": change.nodes_moved,
            "nodes removed": change.nodes_removed,
            "grants ended": change.grants_ended,
        }
        return views.fields(
            {
                "node": change.node_path,
                "node id": change.node_id,
                **{name: number or None for name, number in counts.items()},
                "dry run": "nothing was changed" if change.dry_run else None,
            }
        )

    Output(as_json).result(change, view)
