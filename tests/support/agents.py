"""Agents: the SDK's own client over streamable HTTP, with a key, and over standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, TypeVar

import anyio
import httpx2
import psycopg
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import PROGRAM, environment
from tests.support.locks import wait_until_locked
from tests.support.memories import converse, ingest, new_user, plain_context

Mode = Literal["auto", "legacy"]
"""Whether a client speaks the newest version of the protocol, or the one with an initial handshake."""

MODES: tuple[Mode, ...] = ("auto", "legacy")

_Result = TypeVar("_Result")


@asynccontextmanager
async def http_agent(address: str, key: str | None, mode: Mode = "auto") -> AsyncIterator[Client]:
    """Connect to ``/mcp`` of an API."""
    headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60.0) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def stdio_agent(settings: Settings, *arguments: str, mode: Mode = "auto", **more: str) -> AsyncIterator[Client]:
    """Start ``neurigraph mcp`` and connect to it."""
    command = StdioServerParameters(command=str(PROGRAM), args=["mcp", *arguments], env=environment(settings, **more))
    async with Client(command, mode=mode) as client:
        yield client


def over_http(
    address: str, key: str | None, work: Callable[[Client], Awaitable[_Result]], mode: Mode = "auto"
) -> _Result:
    """Run a session over HTTP and return what it returns."""

    async def session() -> _Result:
        async with http_agent(address, key, mode) as client:
            return await work(client)

    return anyio.run(session)


def call_over_http(address: str, key: str, tool: str, mode: Mode = "auto", **arguments: Any) -> CallToolResult:
    """Call one tool in a session of its own."""
    return over_http(address, key, lambda client: client.call_tool(tool, arguments), mode)


async def cancel_while_locked(installation: Installation, agent: Client, change: dict[str, Any]) -> None:
    """Call ``supersede`` while the table that it reads is locked, cancel it, and only then release the lock.

    Other calls are answered meanwhile; once they are, the server has read that the call is cancelled.
    """

    async def ask() -> None:
        assert "nothing to forget" in failure(await agent.call_tool("forget", {}))

    with psycopg.connect(installation.administrator_url) as connection:
        connection.execute("LOCK TABLE neurigraph.record_index")
        async with anyio.create_task_group() as calls:
            calls.start_soon(agent.call_tool, "supersede", change)
            await anyio.to_thread.run_sync(wait_until_locked, installation)
            await ask()
            calls.cancel_scope.cancel()
        for _ in range(3):
            await ask()
    await anyio.to_thread.run_sync(lambda: wait_until_locked(installation, 0))


def text_of(result: CallToolResult) -> str:
    """Return the text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def found(result: CallToolResult) -> dict[str, Any]:
    """Return the structured content of a result that is no error."""
    assert not result.is_error, text_of(result)
    content: dict[str, Any] | None = result.structured_content
    assert content is not None
    return content


def failure(result: CallToolResult) -> str:
    """Return the text of a result that is an error."""
    assert result.is_error, text_of(result)
    return text_of(result)


def owner_of(installation: Installation, *contents: str) -> tuple[User, str]:
    """Create a user with a conversation; return the user and a key."""
    user, claims = new_user(installation)
    converse(installation, claims, *contents)
    ingest(plain_context(installation), user)
    return user, owners_key(installation, user)


def owners_key(installation: Installation, user: User) -> str:
    """Issue another key to a user."""
    return issue_api_key(installation.database, user.user_id)
