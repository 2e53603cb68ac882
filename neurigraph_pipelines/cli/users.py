"""The ``users`` command: move a user to the database of another installation."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.cli.output import Json, Output, counted
from neurigraph_pipelines.cli.session import DryRun, argument, opened

commands = typer.Typer()
_users = typer.Typer(no_args_is_help=True, help="Spread users over several databases.")
commands.add_typer(_users, name="users")


@_users.command("move")
def move(
    user: Annotated[str, typer.Argument(metavar="USER", help="Slug of the user.", show_default=False)],
    home: Annotated[
        Path, typer.Argument(metavar="HOME", help="Home folder of the other installation.", show_default=False)
    ],
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Move a user, with keys and history, to another installation: its database and its object store.

    Searches go on, and writers wait until the user is there. If it is killed, run it again: it goes on.
    """
    from neurigraph_pipelines.portability.move_user import move_user

    output = Output(as_json)
    with opened() as source, opened(home) as target, output.progress(in_bytes=True) as progress:
        task = progress.add_task("moving", total=None)
        moved = move_user(
            source.context,
            target.context,
            argument(user),
            dry_run=dry_run,
            on_bytes=lambda more: progress.advance(task, more),
        )

    def view() -> Any:
        from neurigraph_pipelines.cli import views

        if dry_run:
            return views.lines(f"{moved.slug} can be moved to {home}.")
        if moved.healed:
            return views.lines(f"{moved.slug} is in {home}: what an earlier run began is complete.")
        return views.lines(
            f"Moved {moved.slug} to {home}: {counted(moved.records, 'record')} in {counted(moved.nodes, 'node')}, "
            f"{counted(moved.objects, 'file')}. Writers waited for {moved.seconds:.1f} s."
        )

    output.result({**asdict(moved), "home": str(home), "dry_run": dry_run}, view)
