"""Commands that connect agents: ``mcp``, which serves one over standard input and output, and ``mcp install``."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from neurigraph_pipelines.faces.cli import output
from neurigraph_pipelines.faces.cli.about_user import note_user
from neurigraph_pipelines.faces.cli.output import printable, with_json
from neurigraph_pipelines.model.errors import InvalidInputError

commands = typer.Typer()
_group = typer.Typer()
commands.add_typer(_group, name="mcp", hidden=True)  # clients start it; `agents` names it

_CLIENTS = ("claude-code", "claude-desktop", "cursor", "vscode", "json")

MemoryOf = Annotated[
    str | None,
    typer.Option(
        "--user", "-u", help="Slug of the user. Default: the only user.", show_default=False, callback=note_user
    ),
]


@_group.callback(invoke_without_command=True, short_help="Serve a memory to an agent (MCP).")
def mcp(context: typer.Context, user: MemoryOf = None) -> None:
    """Serve a memory to the agent that started this, by the Model Context Protocol over standard input and output.

    With NEURIGRAPH_API_KEY the agent sees what that key may see; without it, all that the user owns.
    """
    if context.invoked_subcommand is not None:
        if user is not None:
            raise InvalidInputError("give --user after `install`")
        return
    if sys.stdin.isatty():
        output.note("Waiting for a client on standard input: `neurigraph mcp install` says how to add it.")
    from neurigraph_pipelines.faces.cli.operating import keeper
    from neurigraph_pipelines.faces.cli.session import argument, opened
    from neurigraph_pipelines.faces.mcp.stdio import import_ahead, serve

    import_ahead()
    with opened() as installation, keeper(installation):
        serve(installation, None if user is None else argument(user))


@_group.command()
@with_json
def install(
    client: Annotated[
        str | None,
        typer.Argument(metavar="CLIENT", help=f"One of {', '.join(_CLIENTS)}. Default: all.", show_default=False),
    ] = None,
    user: MemoryOf = None,
    http: Annotated[
        bool, typer.Option("--http", help="Connect to a running API instead of starting a server.")
    ] = False,
    url: Annotated[
        str | None, typer.Option(help="Address of the API, with --http. Default: that of the settings.")
    ] = None,
) -> None:
    """Print how to connect the usual clients. Nothing is written, and no key is printed."""
    from neurigraph_pipelines.faces.cli.session import installed
    from neurigraph_pipelines.faces.mcp.clients import Client, Reached, Transport, instructions

    if client is not None and client not in _CLIENTS:
        raise InvalidInputError(f"{printable(client)!r} is not a known client: give one of {', '.join(_CLIENTS)}")
    if (url is not None or http) and user is not None:
        raise InvalidInputError("over HTTP the key says whose memory it is: leave out --user")
    transport = Transport.HTTP if http or url is not None else Transport.STDIO
    with installed() as installation:
        api = installation.settings.api
        base = url or api.url or f"http://{'127.0.0.1' if api.host in ('0.0.0.0', '::') else api.host}:{api.port}"  # noqa: S104
        home = {"NEURIGRAPH_HOME": str(installation.home)} if "NEURIGRAPH_HOME" in os.environ else {}
    command = (str(Path(sys.argv[0]).absolute()), "mcp", *(("--user", user) if user is not None else ()))
    reached = Reached(transport, command, home, base.rstrip("/").removesuffix("/mcp") + "/mcp")
    wanted = [client] if client is not None else list(_CLIENTS)
    found = [instructions(Client(one), reached) for one in wanted]

    output.said(
        {"clients": [asdict(one) for one in found]}, *(f"{one.title}. {one.where}\n\n{one.text}\n" for one in found)
    )
