"""The command ``status``: what runs on this home folder, and whether it reads, writes and ingests."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from neurigraph_pipelines.cli.output import Json, Output
from neurigraph_pipelines.cli.session import installed

commands = typer.Typer()
NOT_READY = 1


@commands.command()
def status(as_json: Json = False) -> None:
    """Show what runs on this home folder, whether it works (exit code 1 if not), and what leaves this machine."""
    from neurigraph_pipelines.cli import leaving
    from neurigraph_pipelines.readiness import check
    from neurigraph_pipelines.stack.home_lock import running_stack

    with installed() as installation:
        running = running_stack(installation.home)
        found = check(installation.context)
        report = leaving.report(installation)

    def view() -> Any:
        from neurigraph_pipelines.cli import views

        stack = "neurigraph up does not run" if running is None else f"neurigraph up runs: process {running.get('pid')}"
        places = [f"{name} {place}" for name, place in (running or {}).items() if name != "pid"]
        age = found.queue_age_seconds
        queue = (
            [] if age is None else [f"the oldest waiting segment waits for {age:,.0f} s" if age else "nothing waits"]
        )
        faults = [f"{fault.part} does not work: {fault.reason}" for fault in found.faults]
        works = faults or ["reading, writing and ingestion work"]
        return views.unbroken(stack, *places, *works, *queue, "", *leaving.lines(report))

    Output(as_json).result({"running": running, "ready": not found.faults, **asdict(found), **report}, view)
    if found.faults:
        raise typer.Exit(NOT_READY)
