"""Commands that run everything on one machine: ``up``, ``service``, ``demo``, and Dagster's processes."""

from __future__ import annotations

import os
import signal
from typing import Annotated, Any, Literal

import typer

from neurigraph_pipelines.faces.cli import layouts, leaving, output
from neurigraph_pipelines.faces.cli.session import installed, opened, option, positional
from neurigraph_pipelines.faces.cli.signals import one_signal
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.dagster_home import dagster_home
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.runtime.stack.services import installed_program, launchd_agent, systemd_unit
from neurigraph_pipelines.settings.sources import ENV_FILE
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.views.fact_queries import QueriedFacts
from neurigraph_pipelines.views.graph import TreeNode

commands = typer.Typer()
administration = typer.Typer()


@commands.command()
def up() -> None:
    """Run everything until interrupted, and restart processes that die: Postgres, Dagster, the HTTP API."""
    with one_signal(), opened() as installation:
        for line in leaving.sentences(leaving.report(installation)):
            output.note(line)
        output.note("Starting. This takes a few seconds.")
        with LocalStack(installation, with_api=True, report=output.note) as stack:
            assert stack.api is not None
            urls = {"dagster_ui": stack.ui_url, "api": stack.api.url, "logs": str(installation.home / "logs")}

            def layout() -> Any:
                texts = (
                    f"Dagster's UI:  {urls['dagster_ui']}",
                    f"Page and API:  {urls['api']} (documentation of the API at {urls['api']}/docs)",
                    f"Logs:          {urls['logs']}",
                    "Processes that die are restarted. Ctrl-C stops everything.",
                )
                return layouts.unbroken(*texts)

            output.result(urls, layout)
            while True:
                signal.pause()


@administration.command()
def service(
    manager: Annotated[Literal["systemd", "launchd"], positional("The program that starts services on this machine.")],
) -> None:
    """Print the file that lets systemd (Linux) or launchd (macOS) keep `neurigraph up` running.

    Put settings into `settings.env` of the home folder: the file may be read by every account.
    """
    with installed() as installation:
        home = installation.home
    (home / "logs").mkdir(exist_ok=True, mode=0o700)  # launchd makes no folders
    variables = {"NEURIGRAPH_HOME": str(home), **({ENV_FILE: os.environ[ENV_FILE]} if ENV_FILE in os.environ else {})}
    text = {"systemd": systemd_unit, "launchd": launchd_agent}[manager](
        installed_program("neurigraph"), home, variables
    )
    output.data({"manager": manager, "text": text})
    if not output.is_json():
        typer.echo(text, nl=False)


@commands.command()
def demo() -> None:
    """Ingest sample conversations with Dagster, show the tree, answers, a block for a prompt, and reasons, and stop."""
    from neurigraph_pipelines.runtime.stack import demo as demonstration

    answers: list[object] = []
    trees: list[TreeNode] = []
    blocks: list[object] = []
    walks: list[object] = []

    def show_tree(root: TreeNode) -> None:
        trees.append(root)
        output.show(lambda: layouts.tree(root))

    def show_reply(question: str, reply: Reply) -> None:
        answers.append({"question": question, **reply.model_dump(mode="json")})
        output.show(lambda: layouts.lines("", f"» {question}", ""))
        output.show(lambda: layouts.reply(reply, demonstration.USER))

    def show_block(message: str, block: str) -> None:
        blocks.append({"message": message, "block": block})
        output.show(lambda: layouts.lines("", f"» For a prompt: {message}", "", *block.splitlines()))

    def show_walk(question: str, found: QueriedFacts) -> None:
        walks.append({"question": question, **found.model_dump(mode="json")})
        output.show(lambda: layouts.lines("", f"» {question} ({demonstration.STORY})", ""))
        output.show(lambda: layouts.walked(found))

    with one_signal(), installed() as installation, output.progress() as bar:
        task = bar.add_task("Dagster ingests", total=None)

        def progress(stored: int, total: int) -> None:
            bar.update(task, completed=stored, total=total, visible=stored < total)

        listener = demonstration.DemoListener(output.note, progress, show_tree, show_reply, show_block, show_walk)
        demonstration.run(installation, listener)
    output.data({"answers": answers, "blocks": blocks, "walks": walks, "tree": trees[-1]})


@administration.command()
def ui(
    host: Annotated[str | None, option("Address to listen on. Default: the setting ui_host.")] = None,
    port: Annotated[int | None, option("Port to listen on. Default: the setting ui_port.", min=1, max=65_535)] = None,
) -> None:
    """Serve Dagster's UI behind its token until interrupted, for running Dagster without `up`."""
    with opened() as installation:
        settings = installation.settings.ui
        host, port = host or settings.host, port or settings.port
        dagster = dagster_home(installation)
    url = dagster.ui_url(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    def layout() -> Any:
        return layouts.unbroken(f"Dagster's UI: {url}")

    output.result({"url": url}, layout)
    dagster.become(dagster.ui_command(host, port))


@administration.command()
def daemon() -> None:
    """Run Dagster's daemon until interrupted, for running Dagster without `up`."""
    with opened() as installation:
        dagster = dagster_home(installation)
    output.data({"dagster_home": str(dagster.folder)})
    dagster.become(dagster.daemon_command())


@administration.command(name="code-server")
def code_server(
    host: Annotated[str, typer.Option(help="Address to listen on. All who reach it can start runs.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = 4000,
) -> None:
    """Serve Dagster's definitions until interrupted, for daemons and UIs of other machines."""
    with opened() as installation:
        dagster = dagster_home(installation)
    output.data({"code_server": f"{host}:{port}"})
    dagster.become(dagster.code_server_command("-h", host, "-p", str(port)))


@administration.command()
def worker(
    runs: Annotated[int, typer.Option(min=1, max=1_000, help="Runs that this worker executes at once.")] = 2,
) -> None:
    """Execute runs that the setting broker_url hands out, until interrupted; runs under way end first."""
    with opened() as installation:
        if installation.settings.runs.broker_url is None:
            raise ConfigurationError("workers get their runs from a Redis: set NEURIGRAPH_BROKER_URL")
        dagster = dagster_home(installation)
    output.data({"runs": runs})
    dagster.become(dagster.worker_command(runs))
