"""The command that makes the digests of windows: ``digest sweep``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from neurigraph_pipelines.faces.cli import layouts
from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import (
    AnyUserSlug,
    opened,
    user_id_of,
)
from neurigraph_pipelines.knowledge import digesting

commands = typer.Typer()

_NOT_ALL = 1


@commands.command("sweep")
def sweep(user: AnyUserSlug = None, as_json: Json = False) -> None:
    """Put the windows into words whose memories changed, as the asset `node_digests` does at night."""
    output = Output(as_json)
    with opened() as installation, output.progress() as progress:
        user_id = user_id_of(installation, user)
        task = progress.add_task("digests", total=None)
        done = digesting.sweep(
            installation.context, user_id=user_id, on_done=lambda count: progress.advance(task, count)
        )
    counts = {"windows": done.windows, "written": done.written, "changed": done.changed, "failed": len(done.failed)}
    said = f"Wrote {counted(done.written, 'digest')}; {counted(len(done.failed), 'window')} failed."
    output.result(counts, _lines(said))
    if done.failed:
        raise typer.Exit(_NOT_ALL)


def _lines(*texts: str) -> Callable[[], Any]:
    def layout() -> Any:
        return layouts.lines(*texts)

    return layout
