"""Commands that run everything on one machine: ``up``, ``demo`` and ``dagster-url``."""

from __future__ import annotations

import signal
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import installed, opened

if TYPE_CHECKING:
    from neurigraph_pipelines.graph.navigation import TreeNode
    from neurigraph_pipelines.retrieval.query.question import Answer

commands = typer.Typer()


@commands.command()
def up(as_json: Json = False) -> None:
    """Run everything until interrupted, and start again what dies: Postgres, Dagster, the HTTP API."""
    from neurigraph_pipelines.cli.signals import one_signal
    from neurigraph_pipelines.stack.processes import LocalStack

    output = Output(as_json)
    with one_signal(), opened() as installation:
        output.note("Starting. This takes a few seconds.")
        with LocalStack(installation, with_api=True, report=output.note) as stack:
            assert stack.api is not None
            urls = {"dagster_ui": stack.ui.url, "api": stack.api.url, "logs": str(installation.home / "logs")}

            def view() -> Any:
                from neurigraph_pipelines.cli import views

                return views.lines(
                    f"Dagster's UI:  {urls['dagster_ui']}",
                    f"The HTTP API:  {urls['api']} (documentation at {urls['api']}/docs)",
                    f"Logs:          {urls['logs']}",
                    "What dies is started again. Ctrl-C stops everything.",
                )

            output.result(urls, view)
            while True:
                signal.pause()


@commands.command()
def demo(as_json: Json = False) -> None:
    """Ingest sample conversations with Dagster, show the tree and the answers to three questions, and stop."""
    from neurigraph_pipelines.cli import views
    from neurigraph_pipelines.cli.signals import one_signal
    from neurigraph_pipelines.stack import demo as demonstration

    output = Output(as_json)
    shown: dict[str, Any] = {"answers": []}

    def show_tree(root: TreeNode) -> None:
        shown["tree"] = asdict(root)
        output.show(lambda: views.tree(root))

    def show_answer(question: str, answer: Answer) -> None:
        shown["answers"].append({"question": question, **asdict(answer)})
        output.show(lambda: views.lines("", f"» {question}", ""))
        output.show(lambda: views.answer(answer, demonstration.USER))

    with one_signal(), installed() as installation, output.progress() as bar:
        task = bar.add_task("Dagster ingests", total=None)

        def progress(stored: int, total: int) -> None:
            bar.update(task, completed=stored, total=total, visible=stored < total)

        demonstration.run(installation, demonstration.Listener(output.note, progress, show_tree, show_answer))
    output.data(shown)


@commands.command(name="dagster-url")
def dagster_url(as_json: Json = False) -> None:
    """Print the URL of Dagster's database, password included, for running Dagster yourself."""
    with opened() as installation:
        url = installation.dagster_url

    def view() -> Any:
        from rich.text import Text

        return Text(url, no_wrap=True, overflow="ignore")

    Output(as_json).result({"url": url}, view)
