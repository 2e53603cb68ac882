"""The command that brings the database to this version of the program."""

from __future__ import annotations

from dataclasses import asdict

import typer

from neurigraph_pipelines.faces.cli.output import Json, Output, counted
from neurigraph_pipelines.faces.cli.session import installed

commands = typer.Typer()


@commands.command()
def migrate(as_json: Json = False) -> None:
    """Make the schema in an empty database, or bring the database to this version. Embedded servers need no call."""
    output = Output(as_json)
    with installed() as installation:
        report = installation.migrate(lambda name: output.note(f"applied {name}"))

    output.said(
        asdict(report),
        f"The database is at migration {report.version}: {counted(len(report.applied), 'migration')} applied.",
    )
