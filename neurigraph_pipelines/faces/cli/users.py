"""Commands about users: ``use``, ``user move`` and ``user password``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from neurigraph_pipelines.access import accounts
from neurigraph_pipelines.exchange.portability.move_user import Moved, move_user
from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import (
    DryRun,
    UserSlug,
    argument,
    claims_of,
    opened,
    option,
    positional,
    usual_user,
    usual_user_file,
)
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.wiring.installation import Installation

commands = typer.Typer()
choosing = typer.Typer()


@choosing.command()
def use(
    user: Annotated[str | None, positional("Slug of a user, or MEMBER@ORGANIZATION.", "USER")] = None,
) -> None:
    """Choose the user that commands are about if they have no --user. Without USER, say who that is."""
    chosen = user or usual_user()
    if user is not None:
        note_user(user)
        with opened() as installation:
            claims_of(installation, user, whole_graph=True)
            usual_user_file(installation.home).write_text(f"{user}\n", encoding="utf-8")
    output.said({"user": chosen}, f"Commands without --user are about {chosen}.")


@commands.command("move")
def move(
    user: Annotated[str, positional("Slug of the user.", "USER")],
    target: Annotated[str, positional("Name of a database, or home folder of another installation.", "TARGET")],
    dry_run: DryRun = False,
) -> None:
    """Move a user, with keys and history, to another database and its object store.

    Searches go on, and writers wait until the user is there. If it is killed, run it again: it goes on.
    """
    with opened() as source, output.progress(in_bytes=True) as progress:
        task = progress.add_task("moving", total=None)
        moved = _moved(source, argument(user), target, dry_run, lambda more: progress.advance(task, more))

    def layout() -> Any:
        if dry_run:
            return layouts.lines(f"{moved.slug} can be moved to {target}.")
        if moved.healed:
            return layouts.lines(f"{moved.slug} is in {target}: what an earlier run began is complete.")
        return layouts.lines(
            f"Moved {moved.slug} to {target}: {counted(moved.records, 'record')} in {counted(moved.nodes, 'node')}, "
            f"{counted(moved.objects, 'file')}. Writers waited for {moved.seconds:.1f} s."
        )

    output.result({**asdict(moved), "home": target, "dry_run": dry_run}, layout)


def _moved(source: Installation, slug: str, target: str, dry_run: bool, on_bytes: Callable[[int], None]) -> Moved:
    """Move a user within the directory, or to an installation that is not in it, as long as there is no other."""
    known = source.databases.directory.databases()
    home = Path(target)
    named = next(
        (one.name for one in known if one.name == target or one.home == str(home.expanduser().absolute())), None
    )
    if named is not None:
        return source.databases.move(slug, named, dry_run=dry_run, on_bytes=on_bytes)
    if len(known) > 1:
        raise ConflictError(
            f"{target} is no database of this directory: add it by `neurigraph admin database add NAME HOME`"
        )
    with opened(home) as there:
        return move_user(source.context, there.context, slug, dry_run=dry_run, on_bytes=on_bytes)


@commands.command("password")
def password(
    user: UserSlug,
    remove: Annotated[bool, option("Remove it: only keys open the page then.", "--remove")] = False,
) -> None:
    """Set the password that opens the page; asks for it, or reads a line of standard input."""
    entered = None if remove else _entered()
    with opened() as installation:
        accounts.set_password(installation.database, claims_of(installation, user), entered)
    text = "The password is removed." if remove else "The password is set; sign-ins with another one have ended."
    output.result({"has_password": not remove}, lambda: text)


def _entered() -> str:
    if sys.stdin.isatty():
        return str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))
    return sys.stdin.readline().rstrip("\r\n")
