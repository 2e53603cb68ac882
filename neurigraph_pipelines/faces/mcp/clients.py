"""Settings of the usual clients of the Model Context Protocol, as text to copy. No key is in any of them.

A client that starts ``neurigraph mcp`` itself (stdio) names the user; one that calls the API (http) takes the key from
an environment variable or asks for it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

NAME = "neurigraph"
KEY = "NEURIGRAPH_API_KEY"


class Transport(StrEnum):
    """How a client reaches the memory."""

    STDIO = "stdio"
    HTTP = "http"


class Client(StrEnum):
    """A client whose settings are known."""

    CLAUDE_CODE = "claude-code"
    CLAUDE_DESKTOP = "claude-desktop"
    CURSOR = "cursor"
    VSCODE = "vscode"
    GENERIC = "json"


@dataclass(frozen=True, slots=True)
class Reached:
    """The entry of the memory in a client's settings.

    Attributes:
        command: Starts the stdio server.
        environment: Variables of that process; a key is never among them.
        url: Address of ``/mcp``.
    """

    transport: Transport
    command: tuple[str, ...]
    environment: Mapping[str, str]
    url: str


@dataclass(frozen=True, slots=True)
class Instructions:
    """How to connect one client.

    Attributes:
        title: The name that people know it by.
        where: What to do with the text.
        text: A command, or the content of a settings file.
    """

    client: Client
    title: str
    where: str
    text: str


def instructions(client: Client, reached: Reached) -> Instructions:
    """Return how to connect a client."""
    title, place, make = _CLIENTS[client]
    return Instructions(client, title, place[reached.transport], make(reached))


def _server(reached: Reached, key: str, **more: Any) -> dict[str, object]:
    """Return the entry of a settings file. ``key`` is how the client names the variable with the key."""
    if reached.transport is Transport.HTTP:
        return {**more, "url": reached.url, "headers": {"Authorization": f"Bearer {key}"}}
    program, *arguments = reached.command
    environment = {"env": dict(reached.environment)} if reached.environment else {}
    return {"command": program, "args": arguments, **environment}


def _as_text(settings: Mapping[str, object]) -> str:
    return json.dumps(settings, indent=2)


def _claude_code(reached: Reached) -> str:
    if reached.transport is Transport.HTTP:
        return f'claude mcp add --transport http {NAME} {reached.url} --header "Authorization: Bearer ${KEY}"'
    environment = "".join(f" --env {name}={shlex.quote(value)}" for name, value in reached.environment.items())
    return f"claude mcp add --transport stdio{environment} {NAME} -- {shlex.join(reached.command)}"


def _claude_desktop(reached: Reached) -> str:
    if reached.transport is Transport.STDIO:
        return _as_text({"mcpServers": {NAME: _server(reached, "")}})
    # It has no field for a header, so a small program stands between; the variable avoids a space in the argument.
    arguments = ["-y", "mcp-remote", reached.url, "--header", "Authorization:${AUTHORIZATION}"]
    environment = {"AUTHORIZATION": f"Bearer YOUR_{KEY}"}
    return _as_text({"mcpServers": {NAME: {"command": "npx", "args": arguments, "env": environment}}})


def _cursor(reached: Reached) -> str:
    return _as_text({"mcpServers": {NAME: _server(reached, f"${{env:{KEY}}}")}})


def _vscode(reached: Reached) -> str:
    if reached.transport is Transport.STDIO:
        return _as_text({"servers": {NAME: {"type": "stdio", **_server(reached, "")}}})
    asked = {"type": "promptString", "id": "neurigraph-key", "description": "Neurigraph API key", "password": True}
    return _as_text({"inputs": [asked], "servers": {NAME: _server(reached, "${input:neurigraph-key}", type="http")}})


def _generic(reached: Reached) -> str:
    return _as_text({"mcpServers": {NAME: _server(reached, f"${{{KEY}}}", type="http")}})


_CLIENTS: dict[Client, tuple[str, Mapping[Transport, str], Callable[[Reached], str]]] = {
    Client.CLAUDE_CODE: (
        "Claude Code",
        {
            Transport.STDIO: "Run this command:",
            Transport.HTTP: f"Run this command in a shell in which {KEY} holds the key; Claude Code stores it then:",
        },
        _claude_code,
    ),
    Client.CLAUDE_DESKTOP: (
        "Claude Desktop",
        {
            Transport.STDIO: "Settings, Developer, Edit Config: add this to claude_desktop_config.json, and "
            "restart it:",
            Transport.HTTP: "Settings, Developer, Edit Config: add this to claude_desktop_config.json, put the key in, "
            "and restart it (Node.js is needed):",
        },
        _claude_desktop,
    ),
    Client.CURSOR: (
        "Cursor",
        {
            Transport.STDIO: "Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json of a project:",
            Transport.HTTP: f"Add this to ~/.cursor/mcp.json; Cursor reads the key from the variable {KEY}:",
        },
        _cursor,
    ),
    Client.VSCODE: (
        "VS Code",
        {
            Transport.STDIO: "Add this to .vscode/mcp.json of a project, or run `MCP: Open User Configuration`:",
            Transport.HTTP: "Add this to .vscode/mcp.json; VS Code asks for the key once and keeps it safe:",
        },
        _vscode,
    ),
    Client.GENERIC: (
        "Any other client",
        {
            Transport.STDIO: "Most clients take this, in a file such as .mcp.json:",
            Transport.HTTP: f"Most clients take this, in a file such as .mcp.json, and read the key from {KEY}:",
        },
        _generic,
    ),
}
