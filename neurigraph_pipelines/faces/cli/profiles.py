"""Profiles of nodes: the command ``reprofile``, and the lines that ``node`` shows."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import AnyUserSlug, opened, user_id_of
from neurigraph_pipelines.graph.profile_building import rebuild_profiles

commands = typer.Typer()


@commands.command()
def reprofile(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Rebuild the profiles of nodes that are missing or stale, as happens every night.

    If the command is interrupted, run it again to continue.
    """
    output = Output(as_json)
    with opened() as installation:
        user_id = user_id_of(installation, user)
        with output.progress() as progress:
            task = progress.add_task("profiling", total=None)
            done = rebuild_profiles(
                installation.database, user_id=user_id, on_done=lambda count: progress.advance(task, count)
            )

    def layout() -> Any:
        more = "; run the command again for the rest" if done.limit_reached else ""
        return layouts.lines(f"{counted(done.profiles, 'profile')} of {counted(done.nodes, 'node')} rebuilt{more}")

    output.result(asdict(done), layout)
