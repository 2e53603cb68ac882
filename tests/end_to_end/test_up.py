"""`neurigraph up` and `neurigraph admin serve` keep what they need running, and leave nothing behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from tests.support.cli_runs import ask, new_user
from tests.support.command_line import PROGRAM
from tests.support.embedded_server import new_home
from tests.support.up_process import COMMANDS, await_nothing_left, children_of, left_running, up
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = [
    pytest.mark.end_to_end,
    pytest.mark.proof,
    pytest.mark.skipif(sys.platform != "linux", reason="reads /proc"),
]

ENDINGS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)


@pytest.fixture
def environment(session_home: Path, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Environment of a default installation with an embedded server of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    with new_home(tmp_path) as home:
        home.mkdir()
        (home / "models").symlink_to(session_home / "models")
        yield {
            **kept,
            "NEURIGRAPH_HOME": str(home),
            "NEURIGRAPH_LANGUAGE_MODEL": "offline",
            "NEURIGRAPH_EMBEDDER": "neurigraph",
            "NEURIGRAPH_UI_PORT": "0",
            "NEURIGRAPH_API_PORT": "0",
        }


def test_up_starts_again_what_dies(environment: dict[str, str]) -> None:
    home = Path(environment["NEURIGRAPH_HOME"])
    key = new_key(environment)
    with up(home, environment) as stack:
        second = subprocess.run([PROGRAM, "up"], env=environment, capture_output=True, text=True, check=False)
        assert second.returncode == 7
        assert f"process {stack.process.pid}" in second.stderr
        assert stack.places["api"] in second.stderr

        running = json.loads(
            subprocess.run([PROGRAM, "status", "--json"], env=environment, stdout=subprocess.PIPE).stdout
        )
        assert running["running"]["pid"] == stack.process.pid
        parts = stack.parts()
        assert set(running["running"]["parts"].values()) == {parts[name] for name in COMMANDS if name != "keeper"}

        before = stack.parts()
        assert before.keys() == {*COMMANDS, "postgres"}
        for pid in before.values():
            os.kill(pid, signal.SIGKILL)

        def replaced() -> bool:
            parts = stack.parts()
            return parts.keys() == before.keys() and not set(parts.values()) & set(before.values())

        wait_until(replaced, "every part has another process", PATIENCE_SECONDS, interval=0.1)
        wait_until(stack.is_ready, "everything works", PATIENCE_SECONDS, interval=0.1)
        wait_until(stack.shows_ui, "the UI serves", PATIENCE_SECONDS, interval=0.1)
        store_over_http(stack.places["api"], key)

        stack.process.kill()
        await_nothing_left(home)


def test_closed_terminal_leaves_nothing(environment: dict[str, str]) -> None:
    home = Path(environment["NEURIGRAPH_HOME"])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(PROGRAM, [str(PROGRAM), "up", "--json"], environment)
    parts = (COMMANDS["keeper"], COMMANDS["code server"])  # the first two; it is in the middle of its start

    def starts() -> bool:
        commands = [command for _, command in children_of(pid)]
        return all(any(part in command for command in commands) for part in parts)

    wait_until(starts, "it starts its parts", PATIENCE_SECONDS)
    os.close(terminal)
    for number in ENDINGS * 5:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) in {128 + signal.SIGHUP, 128 + signal.SIGTERM, 130}
    assert left_running(home) == []
    await_nothing_left(home)


def test_serve_starts_postgres_again(environment: dict[str, str]) -> None:
    home = Path(environment["NEURIGRAPH_HOME"])
    key = new_key(environment)
    process = subprocess.Popen(
        [PROGRAM, "admin", "serve", "--port", "0", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        server = int((home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
        headers = {"Authorization": f"Bearer {key}"}
        assert httpx.get(f"{url}/v1/tree", headers=headers, timeout=60).status_code == 200
        os.kill(server, signal.SIGKILL)
        wait_until(
            lambda: httpx.get(f"{url}/v1/tree", headers=headers, timeout=60).status_code == 200,
            "the API serves again",
        )
        assert process.poll() is None
    finally:
        process.kill()
        process.communicate()
    await_nothing_left(home)


def new_key(environment: dict[str, str]) -> str:
    """Return the key of a new user."""
    key: str = ask(environment, "access", "key", "add", "--user", new_user(environment, "ada"), "--label", "a test")[
        "api_key"
    ]
    return key


def store_over_http(url: str, key: str) -> None:
    """Store one conversation over HTTP, and find it again."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        opened = client.post("/v1/conversations", json={}).raise_for_status().json()["conversation_id"]
        said = [{"role": "user", "content": "The roofer Ilse wants copper gutters."}]
        client.post(f"/v1/conversations/{opened}/messages", json={"messages": said}).raise_for_status()
        client.post(f"/v1/conversations/{opened}/end").raise_for_status()

        def found() -> bool:
            answer = client.post("/v1/search", json={"query": "Which gutters does Ilse want?"})
            return bool(answer.raise_for_status().json()["hits"])

        wait_until(found, "it is stored", PATIENCE_SECONDS, interval=0.25)
