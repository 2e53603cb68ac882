"""Command line processes: servers, signals, closed pipes, encodings and imports."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.database.schema import SHIPPED
from tests.support.cli_runs import TALK, ask, new_user, run, write_talks
from tests.support.command_line import PROGRAM

pytestmark = pytest.mark.slow


@pytest.fixture
def user() -> str:
    """The session shares one home, so each test has a user of its own."""
    return f"user-{uuid4().hex[:12]}"


def test_external_database_needs_migrate(home_env: dict[str, str], empty_database_url: str) -> None:
    env = {**home_env, "NEURIGRAPH_DATABASE_URL": empty_database_url}
    assert "neurigraph admin migrate" in run(env, "admin", "stats", code=4).stderr
    migrated = ask(env, "admin", "migrate")
    assert (migrated["applied"], migrated["version"]) == (["schema"], SHIPPED.newest)
    assert ask(env, "admin", "migrate") == {"applied": [], "routines": [], "version": SHIPPED.newest}
    assert ask(env, "admin", "stats")["users"] == []
    assert "no user yet" in run(env, "admin", "stats").stdout
    assert "`neurigraph user add NAME` makes one" in run(env, "search", "x", code=2).stderr


@pytest.mark.slow
def test_added_key_opens_served_api(home_env: dict[str, str], user: str) -> None:
    new_user(home_env, user)
    key = ask(home_env, "access", "key", "add", "--user", user, "--label", "a test")["api_key"]
    for ending, code in [(signal.SIGINT, 130), (signal.SIGTERM, 143)]:
        process = subprocess.Popen(
            [PROGRAM, "admin", "serve", "--port", "0", "--json"],
            env=home_env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            tree = httpx.get(f"{url}/v1/tree", headers={"Authorization": f"Bearer {key}"}, timeout=60)
            assert tree.json()["name"] == user
            process.send_signal(ending)
            out, err = process.communicate(timeout=30)
        finally:
            process.kill()
        assert process.returncode == code, err
        assert out == ""
        assert "Traceback" not in err


def test_status_names_what_does_not_work(home_env: dict[str, str]) -> None:
    run(home_env, "admin", "stats")
    found = ask(home_env, "status", code=1)
    assert (found["running"], found["ready"]) == (None, False)
    assert [fault["part"] for fault in found["faults"]] == ["ingestion"]
    shown = run(home_env, "status", code=1).stdout
    assert "ingestion does not work: no sensor has run" in shown
    without_daemon = {**home_env, "NEURIGRAPH_READY_SENSOR_SECONDS": "0"}
    assert ask(without_daemon, "status")["ready"]
    assert "reading, writing and ingestion work" in run(without_daemon, "status").stdout


def test_taken_port_is_reported(home_env: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "--port" in run(home_env, "admin", "serve", "--port", port, code=4).stderr


def test_closed_pipe_is_no_error(home_env: dict[str, str], user: str) -> None:
    new_user(home_env, user)
    for more in [(), ("--json",)]:
        process = subprocess.Popen(
            [PROGRAM, "node", "tree", "--user", user, *more],
            env=home_env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=60) == 1
        assert errors == ""


def test_interrupted_ingest_releases_leases(home_env: dict[str, str], user: str, tmp_path: Path) -> None:
    messages = [
        {"role": "user", "content": f"Note {number}: " + "the heron stands in the reeds by the lake. " * 40}
        for number in range(300)
    ]
    talks = write_talks(
        tmp_path / "many.jsonl", *({**TALK, "external_id": f"c{i}", "messages": messages} for i in range(40))
    )
    ask(home_env, "import", talks, "--user", user)
    process = subprocess.Popen(
        [PROGRAM, "ingest", "--user", user], env=home_env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + 60
        while ask(home_env, "admin", "stats", "--user", user)["queue"]["claimed"] == 0:
            assert time.monotonic() < deadline
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    queue = ask(home_env, "admin", "stats", "--user", user)["queue"]
    assert queue["claimed"] == 0
    assert queue["due"] + queue["stored"] == 40


def test_unencodable_output_is_escaped(home_env: dict[str, str], user: str, tmp_path: Path) -> None:
    talks = write_talks(tmp_path / "t.jsonl", {**TALK, "messages": [{"role": "user", "content": "记忆 🐟"}]})
    run(home_env, "import", talks, "--user", user)
    run(home_env, "ingest", "--user", user)
    env = {**home_env, "PYTHONIOENCODING": "ascii"}
    found = ask(env, "search", "记忆", "--user", user)["hits"][0]
    assert run(env, "open", found["record_id"], "--user", user, "--message", "1").stdout.strip() == (
        r"\u8bb0\u5fc6 \U0001f41f"
    )


def loaded_by(module: str) -> set[str]:
    """Return the modules that an import loads."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_up_stays_small() -> None:
    large = {"numpy", "sqlalchemy", "dagster", "fastapi", "pygments", "neurigraph_pipelines.retrieval"}
    assert not large & loaded_by("neurigraph_pipelines.faces.cli.stack, resources.postgres.database")


def test_help_imports_nothing_slow() -> None:
    slow = {"numpy", "psycopg", "pydantic", "fastapi", "uvicorn", "openai", "onnxruntime", "dagster", "rich"}
    assert not slow & loaded_by("neurigraph_pipelines.faces.cli")
    before = os.times()
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True, env={**os.environ})
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    assert used < 4.0  # 0.3 s; seconds of the processor, because the machine may be busy
    commands = [line.split()[1] for line in done.stdout.partition("Commands")[2].splitlines() if line.startswith("│ ")]
    assert len(commands) <= 24, "one screen"
    assert {"import", "note", "search", "ask", "open", "memory", "node", "fact", "source", "admin"} <= set(commands)
