"""Commands that bring the database to this version of the program."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import installed

if TYPE_CHECKING:
    from neurigraph_pipelines.database.migrations import MigrationsAhead
    from neurigraph_pipelines.graph.upgrades import NodesAhead

commands = typer.Typer()


@commands.command()
def migrate(as_json: Json = False) -> None:
    """Migrate the database to this version. With the embedded server every command does so automatically.

    Nodes of an earlier version stay usable, and `neurigraph upgrade` brings them up to date.
    """
    output = Output(as_json)
    with installed() as installation:
        report = installation.migrate(lambda name: output.note(f"applied {name}"))

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(
            f"The database is at migration {report.version}: {counted(len(report.applied), 'migration')} applied."
        )

    output.result(asdict(report), view)


@commands.command()
def upgrade(
    plan: Annotated[
        bool, typer.Option("--plan", help="Say what would be done and how long it takes, and change nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Migrate the database, and upgrade all nodes in batches, while searches and ingestion go on.

    It can be stopped at any time and run again. A node that is in use for long is left, and named at the end.
    """
    if plan:
        _show_plan(Output(as_json))
    else:
        _upgrade(Output(as_json))


def _upgrade(output: Output) -> None:
    from neurigraph_pipelines.graph.upgrades import outdated_versions, upgrade_all

    with installed() as installation:
        report = installation.migrate(lambda name: output.note(f"applied {name}"))
        outdated = sum(outdated_versions(installation.database).values())
        with output.progress() as progress:
            task = progress.add_task("nodes", total=outdated)
            done = upgrade_all(installation.database, lambda count: progress.advance(task, count))

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        left = f" {counted(done.left, 'node')} in use: run this again, or leave it to the next write." * bool(done.left)
        return views.lines(
            f"The database is at migration {report.version}: {counted(len(report.applied), 'migration')} applied, "
            f"{counted(done.nodes, 'node')} upgraded.{left}"
        )

    output.result({**asdict(report), "nodes": done.nodes, "nodes_left": done.left}, view)


def _show_plan(output: Output) -> None:
    from neurigraph_pipelines.database.migrations import migrations_ahead
    from neurigraph_pipelines.graph.upgrades import NodesAhead, nodes_ahead

    with installed() as installation:
        ahead = migrations_ahead(installation.administrator_url)
        nodes = nodes_ahead(installation.database) if ahead.version else NodesAhead({}, 0, 0.0)

    def view() -> Any:
        from neurigraph_pipelines.faces.cli import views

        return views.lines(*_plan_lines(ahead, nodes))

    output.result({**asdict(ahead), **asdict(nodes)}, view)


def _plan_lines(ahead: MigrationsAhead, nodes: NodesAhead) -> list[str]:
    from neurigraph_pipelines.database.statements import newest

    if not (ahead.missing or ahead.routines or nodes.nodes):
        return [f"Nothing to do: the database is at migration {ahead.version}, and all nodes are up to date."]
    lines = [f"The database is at migration {ahead.version} of {newest('shared')}."]
    if ahead.missing:
        lines.append(f"{counted(len(ahead.missing), 'migration')} to apply, each in one transaction:")
        lines += [f"  {name}" for name in ahead.missing]
    if ahead.routines:
        lines.append(f"{counted(len(ahead.routines), 'file')} of functions to replace, in one transaction.")
    for version, count in nodes.versions.items():
        lines.append(f"{counted(count, 'node')} to bring from version {version} to {newest('node')}, one by one.")
    if nodes.nodes and nodes.seconds is not None:
        lines.append(f"The nodes take about {nodes.seconds:,.1f} s, by {counted(nodes.sampled, 'node')} on trial.")
    elif nodes.nodes:
        lines.append("How long the nodes take is not known before the migrations, or while the nodes are in use.")
    return lines
