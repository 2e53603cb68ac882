"""The ``databases`` command: the databases over which users are spread."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import DryRun, argument, opened, positional

commands = typer.Typer()

Name = Annotated[str, positional("Name of the database.", "NAME")]


@commands.command("list")
def list_databases() -> None:
    """List the databases, with how many users live in each and how many are moving there."""
    with opened() as installation:
        found = [asdict(one) for one in installation.databases.directory.databases()]

    output.result(
        {"databases": found},
        lambda: layouts.table([{**one, "home": one["home"] or "this home folder"} for one in found]),
    )


@commands.command("add")
def add(
    name: Name,
    home: Annotated[Path, positional("Home folder of its installation.", "HOME")],
    dry_run: DryRun = False,
) -> None:
    """Add the database of another home folder, which is made if it does not exist, with the users that it has."""
    with opened() as installation:
        users = installation.databases.add(argument(name), home, dry_run=dry_run)
    shown = counted(users, "user")
    text = f"{name} could be added with {shown}." if dry_run else f"Added {name} with {shown}."
    output.result({"name": name, "home": str(home), "users": users, "dry_run": dry_run}, lambda: text)


@commands.command("remove")
def remove(name: Name) -> None:
    """Remove a database in which no user lives. Its home folder and its data stay as they are."""
    with opened() as installation:
        installation.databases.remove(argument(name))
    output.result({"name": name}, lambda: f"Removed {name}. Its home folder is as it was.")
