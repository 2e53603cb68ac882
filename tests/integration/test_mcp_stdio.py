"""``neurigraph mcp`` as a process that a client starts, and ``neurigraph mcp install``."""

from __future__ import annotations

import io
import json
import subprocess
import time
from contextlib import ExitStack, closing
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.faces.cli.entry import run
from neurigraph_pipelines.faces.mcp.server import MemoryServer
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import cancel_while_locked, failure, found, stdio_agent, text_of
from tests.support.command_line import PROGRAM, describe, environment, run_cli
from tests.support.memories import converse, ingest, new_user, plain_context, rows

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture(scope="module")
def owner(shared_installation: Installation) -> tuple[User, Claims]:
    """Two users; the second has a memory."""
    new_user(shared_installation)
    user, claims = new_user(shared_installation)
    converse(shared_installation, claims, "#Boats The zeppelin is moored at the pier.")
    ingest(plain_context(shared_installation), user)
    return user, claims


def test_owner_is_served_by_the_handshake_version(here: Installation, owner: tuple[User, Claims]) -> None:
    user, _ = owner

    async def session() -> None:
        async with stdio_agent(here.settings, "--user", user.slug, mode="legacy") as client:
            assert found(await client.call_tool("who_am_i", {}))["role"] == "user"
            (hit,) = found(await client.call_tool("search_memory", {"query": "zeppelin"}))["hits"]
            opened = await client.call_tool("open_memory", {"record_id": hit["record_id"]})
            assert "moored" in text_of(opened)
            change = {"record_id": hit["record_id"], "by": None}
            await cancel_while_locked(here, client, change)
            (delta,) = found(await client.call_tool("memory_history", {"record_id": hit["record_id"]}))["deltas"]
            assert delta["operation"] == "create"
            assert found(await client.call_tool("supersede", change))["superseded_by"] is None

    anyio.run(session)


def test_waits_of_one_call_have_one_bound(here: Installation, owner: tuple[User, Claims]) -> None:
    """A change takes a connection to look and another one to write, which was waited for as long again."""
    _, claims = owner
    change = {"record_id": str(rows(here, "SELECT record_id FROM neurigraph.record_index")[0]["record_id"]), "by": None}

    async def session(other: Installation, server: MemoryServer) -> float:
        taken = 0.0
        with ExitStack() as reading, other.database.pipeline():
            reading.enter_context(other.database.agent(None))
            async with Client(server) as client, anyio.create_task_group() as beside:

                async def read_on() -> None:
                    await anyio.sleep(2.0)
                    reading.close()

                started = time.monotonic()
                beside.start_soon(read_on)
                assert "no database connection became free" in failure(await client.call_tool("supersede", change))
                taken = time.monotonic() - started
        return taken

    with (
        Installation(here.settings.changed(database_pool_size=1, database_wait_seconds=3.0)) as other,
        closing(MemoryServer(other, lambda: claims)) as server,
    ):
        assert 2.0 < anyio.run(session, other, server) < 4.5


def test_key_of_the_environment_is_checked_for_each_call(here: Installation, owner: tuple[User, Claims]) -> None:
    _, claims = owner
    made, key = sharing.issue_key(here.database, claims)

    async def session() -> None:
        async with stdio_agent(here.settings, NEURIGRAPH_API_KEY=key) as client:
            assert found(await client.call_tool("who_am_i", {}))["key_id"] == str(made.key_id)
            sharing.revoke_key(here.database, claims, made.key_id)
            assert "not valid" in failure(await client.call_tool("search_memory", {"query": "zeppelin"}))
            with pytest.raises(MCPError, match="not valid"):
                await client.read_resource("neurigraph://profile")

    anyio.run(session)


def test_nothing_but_the_protocol_is_on_standard_output(here: Installation, owner: tuple[User, Claims]) -> None:
    user, _ = owner
    calls: list[dict[str, Any]] = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _call(2, "search_memory", {"query": "zeppelin"}),
        _call(3, "browse_graph", {"node": "?"}),
    ]
    process = subprocess.Popen(
        [PROGRAM, "mcp", "--user", user.slug],
        env=environment(here.settings),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    twice = json.dumps(_call(4, "search_memory", {"query": "pier"})).replace('"query"', '"query": "zeppelin", "query"')
    process.stdin.write("".join(f"{json.dumps(call)}\n" for call in calls) + "not JSON\n" + f"{twice}\n")
    process.stdin.flush()
    answers: dict[Any, Any] = {}
    while not {1, 2, 3, 4} <= answers.keys():
        answer = json.loads(process.stdout.readline())
        answers[answer.get("id")] = answer
    rest, errors = process.communicate(timeout=60)  # closes standard input, which ends the server
    assert process.returncode == 0, errors
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in rest.splitlines())
    assert answers[1]["result"]["serverInfo"]["name"] == "neurigraph"
    assert answers[2]["result"]["structuredContent"]["hits"]
    assert answers[3]["result"]["isError"]
    assert "query (given twice)" in answers[4]["result"]["content"][0]["text"]
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "key", "code", "said"),
    [
        ((), None, 4, "there are several users: name one with --user"),
        (("--user", "nobody"), None, 3, "there is no user"),
        ((), "ng_" + "x" * 43, 1, "this key or token is not valid"),
        (("--user", "alice"), "ng_" + "x" * 43, 2, "leave out --user"),
    ],
)
def test_wrong_start_is_refused(
    here: Installation,
    owner: tuple[User, Claims],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    key: str | None,
    code: int,
    said: str,
) -> None:
    describe(here.settings, monkeypatch, **({"NEURIGRAPH_API_KEY": key} if key else {}))
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run(["mcp", *arguments]) == code
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert key is None or key not in shown.err


def test_settings_of_clients_work_as_printed(here: Installation, owner: tuple[User, Claims]) -> None:
    user, _ = owner
    key = issue_api_key(here.database, user.user_id)
    done = run_cli(here.settings, "mcp", "install", "--user", user.slug, "--json", more={"NEURIGRAPH_API_KEY": key})
    assert done.returncode == 0, done.stderr
    assert key not in done.stdout
    clients = {one["client"]: one["text"] for one in json.loads(done.stdout)["clients"]}
    assert set(clients) == {"claude-code", "claude-desktop", "cursor", "vscode", "json"}
    assert clients["claude-code"].startswith("claude mcp add --transport stdio")
    printed = [json.loads(clients[name])["mcpServers"]["neurigraph"] for name in ("claude-desktop", "cursor", "json")]
    printed.append(json.loads(clients["vscode"])["servers"]["neurigraph"])
    for server in printed:
        assert server["args"] == ["mcp", "--user", user.slug]
        assert server["env"] == {"NEURIGRAPH_HOME": str(here.settings.home)}
    started = subprocess.run(
        [printed[0]["command"], *printed[0]["args"]],
        env=environment(here.settings) | printed[0]["env"],
        input=json.dumps(HELLO) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(started.stdout)["id"] == 1


def test_settings_of_clients_over_http_name_a_variable(
    here: Installation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    describe(here.settings, monkeypatch)
    assert run(["mcp", "install", "--url", "https://memory.example.com/", "--json"]) == 0
    clients = {one["client"]: one["text"] for one in json.loads(capsys.readouterr().out)["clients"]}
    for text in clients.values():
        assert "https://memory.example.com/mcp" in text
    assert json.loads(clients["cursor"])["mcpServers"]["neurigraph"]["headers"] == {
        "Authorization": "Bearer ${env:NEURIGRAPH_API_KEY}"
    }
    assert run(["mcp", "install", "cursor", "--http"]) == 0
    assert "http://127.0.0.1:8400/mcp" in capsys.readouterr().out
    assert run(["mcp", "install", "emacs"]) == 2
    assert run(["mcp", "install", "--http", "--user", "bob"]) == 2
    assert run(["mcp", "--user", "bob", "install"]) == 2


def _call(number: int, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
