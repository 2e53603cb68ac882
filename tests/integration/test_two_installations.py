"""Two installations with an embedded server each, on one machine: local agents, killed commands, the first one down."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters

from neurigraph_pipelines.graph.provisioning import create_user_within, find_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.runtime.doctor.findings import Level
from neurigraph_pipelines.runtime.doctor.memory import databases
from neurigraph_pipelines.runtime.stack.marks import VARIABLE, kill_marked
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring import databases as databases_module
from neurigraph_pipelines.wiring.databases import CACHE_SECONDS
from neurigraph_pipelines.wiring.directory import MAIN, Person, lives_in
from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import LocalEmbedder
from resources.postgres.embedded import EmbeddedPostgres
from tests.conftest import ROOT
from tests.support.agents import failure, found
from tests.support.api_server import serving
from tests.support.command_line import PROGRAM
from tests.support.embedded_server import new_home, server_pids
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.waiting import wait_until
from tests.support.warm_cli import warm_program

pytestmark = pytest.mark.slow

KILLED = """
import os, signal, sys
from neurigraph_pipelines.wiring import databases
from neurigraph_pipelines.faces.cli.entry import run
databases.create_user_within = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
sys.exit(run(sys.argv[1:]))
"""
"""A command that is killed after the name of a user is reserved, before the user is created."""

SETTINGS = {"NEURIGRAPH_LANGUAGE_MODEL": "offline", "NEURIGRAPH_READY_SENSOR_SECONDS": "0"}
QUESTION = {"query": "Who repairs the lighthouse lamp?"}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory, local_embedder: LocalEmbedder) -> Iterator[Installation]:
    """The first installation, whose directory knows another one, `east`."""
    folders = [tmp_path_factory.mktemp(name) for name in ("first", "east")]
    for folder in folders:
        folder.chmod(0o711)
    with (
        new_home(folders[0]) as first,
        new_home(folders[1]) as east,
        Installation(Settings.model_validate({"home": first, "language_model": "offline"})) as here,
    ):
        east.mkdir(mode=0o700)
        file = east / "settings.env"
        file.write_text("".join(f"{name}={value}\n" for name, value in SETTINGS.items()))
        file.chmod(0o600)
        here.migrate()
        here.embedder = local_embedder
        here.databases.add("east", east)
        here.databases.open("east").embedder = local_embedder
        yield here


def environment(front: Installation, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    return {**kept, "NEURIGRAPH_HOME": str(front.home), "NEURIGRAPH_LANGUAGE_MODEL": "offline", **more}


def command(front: Installation, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [warm_program(), *arguments],
        env=environment(front),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def killed(front: Installation, *arguments: str) -> None:
    program = [sys.executable, "-c", KILLED, *arguments]
    died = subprocess.run(program, env=environment(front), cwd=ROOT, capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr


def made(front: Installation, slug: str, database: str) -> tuple[UUID, str]:
    """Create a user with one memory, and return the id and a key."""
    _, user, key = front.databases.create_user(slug, database)
    here = front.databases.open(database)
    converse(here, Claims.of_user(user.user_id), f"#Family/{slug.title()} {slug.title()} repairs the lighthouse lamp.")
    ingest(plain_context(here), user)
    return user.user_id, key


def asked(base: str, key: str) -> httpx.Response:
    try:
        return httpx.post(f"{base}/v1/search", json=QUESTION, headers={"Authorization": f"Bearer {key}"}, timeout=30)
    except httpx.TimeoutException:
        pytest.fail("the search hangs")


def agent(front: Installation, *arguments: str, **more: str) -> Client:
    """Return a client that starts `neurigraph mcp` in the first home."""
    return Client(StdioServerParameters(command=str(PROGRAM), args=["mcp", *arguments], env=environment(front, **more)))


def test_killed_creation_is_healed_by_the_next_command(front: Installation) -> None:
    """A name without a user is nobody's: the next creation of the user and commands that name it remove it."""
    killed(front, "user", "add", "kim", "--database", "east")
    reserved = front.databases.directory.by_slug("kim")
    assert reserved is not None
    assert not lives_in(front.databases.open("east").database, reserved.resident_id)
    again = command(front, "user", "add", "kim")
    assert again.returncode == 0, again.stderr
    assert front.databases.of_user("kim") is front
    assert find_user(front.database, "kim").user_id != reserved.resident_id
    assert front.databases.directory.by_slug("kim") is None

    killed(front, "user", "add", "lee", "--database", "east")
    assert front.databases.directory.by_slug("lee") is not None
    searched = command(front, "search", "lamp", "--user", "lee")
    assert (searched.returncode, "there is no user 'lee'" in searched.stderr) == (3, True)
    assert front.databases.directory.by_slug("lee") is None
    assert command(front, "user", "add", "lee", "--database", MAIN).returncode == 0
    assert find_user(front.database, "lee").slug == "lee"

    killed(front, "import", "samples/bob.jsonl", "--user", "max")  # `east` has fewer users
    assert front.databases.directory.by_slug("max") is not None
    imported = command(front, "import", "samples/bob.jsonl", "--user", "max")
    assert imported.returncode == 0, imported.stderr
    assert command(front, "search", "lamp", "--user", "max").returncode == 0


def test_a_user_is_made_once_by_two_programs(front: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that finds a name without a user waits for the program that is creating the user."""
    creating, go_on = threading.Event(), threading.Event()
    found_users: list[UUID] = []

    def slowly(*arguments: Any, **named: Any) -> Any:
        creating.set()
        assert go_on.wait(30)
        return create_user_within(*arguments, **named)

    def ensure() -> None:
        found_users.append(front.databases.ensure_user("nora")[1].user_id)

    front.databases.create_user("weight-of-main", MAIN)
    front.databases.create_user("more-weight-of-main", MAIN)
    monkeypatch.setattr(databases_module, "create_user_within", slowly)
    threads = [threading.Thread(target=ensure) for _ in range(2)]
    threads[0].start()
    assert creating.wait(30)
    threads[1].start()
    waiting = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    wait_until(lambda: rows(front, waiting) or not threads[1].is_alive())
    go_on.set()
    for thread in threads:
        thread.join()
    place = front.databases.directory.by_slug("nora")
    assert place is not None
    assert found_users == [place.resident_id] * 2
    lives = [lives_in(front.databases.open(name).database, place.resident_id) for name in (MAIN, "east")]
    assert lives == [False, True]
    with pytest.raises(NotFoundError):
        find_user(front.database, "nora")


def test_local_agent_serves_a_user_of_another_database(front: Installation) -> None:
    user_id, key = made(front, "ulla", "east")
    made(front, "uwe", MAIN)

    async def served(client: Client) -> None:
        assert found(await client.call_tool("who_am_i", {}))["user_id"] == str(user_id)
        assert "Ulla repairs" in str(found(await client.call_tool("search_memory", QUESTION))["hits"])
        noted = await client.call_tool("remember", {"content": "Ulla keeps bees."})
        assert not noted.is_error, noted

    async def sessions() -> None:
        async with agent(front, NEURIGRAPH_API_KEY=key) as client:
            await served(client)
        async with agent(front, "--user", "ulla") as client:
            await served(client)
            await anyio.to_thread.run_sync(lambda: front.databases.move("ulla", MAIN, on_bytes=lambda _: None))
            assert "start this server again" in failure(await client.call_tool("search_memory", QUESTION))
        async with agent(front, "--user", "ulla") as client:
            await served(client)

    anyio.run(sessions)
    assert lives_in(front.database, user_id)
    with_nobody = command(front, "mcp")
    assert (with_nobody.returncode, "there are several users" in with_nobody.stderr) == (4, True)


def test_readiness_and_metrics_are_of_the_database_that_is_named(front: Installation) -> None:
    """Each database answers for itself: its own sensors, which only the first waits for, and its own counts."""
    while len({users_of(front, name) for name in (MAIN, "east")}) == 1:
        front.databases.create_user("counted", "east")
    tokens = {name: front.databases.open(name).secrets.metrics_token() for name in (MAIN, "east")}
    with serving(front) as base:
        wait_until(lambda: httpx.get(f"{base}/readyz", params={"database": "east"}).status_code == 200)
        for query, name in (("", MAIN), ("?database=main", MAIN), ("?database=east", "east")):
            head = {"Authorization": f"Bearer {tokens[name]}"}
            shown = httpx.get(f"{base}/metrics{query}", headers=head).text
            assert f"neurigraph_users {users_of(front, name)}.0" in shown.splitlines(), query
            wrong = {"Authorization": f"Bearer {tokens[MAIN if name == 'east' else 'east']}"}
            assert httpx.get(f"{base}/metrics{query}", headers=wrong).status_code == 401
            ready = httpx.get(f"{base}/readyz{query}")
            said = (ready.status_code, "no sensor has run" in ready.text)
            assert said == ((200, False) if name == "east" else (503, True)), ready.text
        assert httpx.get(f"{base}/readyz?database=west").status_code == 404


@pytest.mark.parametrize("mark", [None, "keeper-of-the-stack"])
def test_killed_server_leaves_no_database_of_another_installation(tmp_path: Path, mark: str | None) -> None:
    """Also within a stack, whose keeper ends the processes with its mark."""
    tmp_path.chmod(0o711)
    with new_home(tmp_path / "a") as first, new_home(tmp_path / "b") as east:
        with Installation(Settings.model_validate({"home": first, "language_model": "offline"})) as here:
            here.migrate()
            here.databases.add("east", east)
            _, _, key = here.databases.create_user("dina", "east")
            variables = environment(here) if mark is None else environment(here, **{VARIABLE: mark})
        assert not EmbeddedPostgres(east).status().running
        serve = [str(PROGRAM), "admin", "serve", "--port", "0", "--json"]
        process = subprocess.Popen(serve, env=variables, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            base = json.loads(process.stdout.readline())["url"]
            wait_until(lambda: _answers(base))
            assert asked(base, key).status_code == 200
            assert EmbeddedPostgres(east).status().running
        finally:
            if mark is not None:
                assert kill_marked(f"{VARIABLE}={mark}")
            process.kill()
            process.communicate()
        wait_until(lambda: not EmbeddedPostgres(east).status().running, "the database of the other home is stopped")


def _answers(base: str) -> bool:
    with suppress(httpx.TransportError):
        return httpx.get(f"{base}/healthz").status_code == 200
    return False


def users_of(front: Installation, name: str) -> int:
    (row,) = rows(front.databases.open(name), "SELECT count(*) AS users FROM neurigraph.users")
    return int(row["users"])


def test_doctor_names_databases_that_do_not_answer(front: Installation, tmp_path: Path) -> None:
    assert [one.level for one in databases(front)] == [Level.OK]
    _, user, _ = front.databases.create_user("midway", MAIN)
    front.databases.directory.begin_move(Person(user.user_id, "midway", ()), MAIN, "east")
    (tmp_path / "settings.env").write_text("NEURIGRAPH_DATABASE_URL=postgresql://nobody@127.0.0.1:1/nothing\n")
    (tmp_path / "settings.env").chmod(0o600)
    home = {"home": str(tmp_path)}
    try:
        with front.database.owner() as tx:
            tx.execute(b"INSERT INTO neurigraph.databases (name, home) VALUES ('west', %(home)s)", home)
        found = {(one.level, one.found) for one in databases(front) if one.level != Level.OK}
    finally:
        with front.database.owner() as tx:
            tx.execute(b"DELETE FROM neurigraph.databases WHERE name = 'west'")
    assert found == {
        (Level.WARNING, "users who are moving to east: 1"),
        (Level.ERROR, "west does not answer, and its users get 503 (ConfigurationError)"),
    }
    front.databases.move("midway", "east", on_bytes=lambda _: None)
    assert [one.level for one in databases(front)] == [Level.OK]


@pytest.mark.parametrize("end", [signal.SIGQUIT, signal.SIGSTOP])
def test_the_first_database_is_down(front: Installation, end: signal.Signals) -> None:
    """Users of others whom the server knows are served; others get 503 with Retry-After at once, and nothing hangs."""
    name = end.name.lower()
    (_, here), (_, there) = made(front, f"{name}-here", MAIN), made(front, f"{name}-there", "east")
    _, unknown = made(front, f"{name}-unknown", "east")
    with serving(front) as base:
        assert [asked(base, key).status_code for key in (here, there)] == [200, 200]
        processes = server_pids(front.home)
        for process in processes[: None if end == signal.SIGSTOP else 1]:
            os.kill(process, end)
        try:
            time.sleep(2 * CACHE_SECONDS)  # what was read before no longer counts
            answers: list[httpx.Response] = []
            with anyio.from_thread.start_blocking_portal() as portal:
                signing_in = [portal.start_task_soon(sign_in, base, answers) for _ in range(60)]
                for _ in range(3):
                    served = asked(base, there)
                    assert served.status_code == 200, served.text
                    assert name.title() in served.text
                    for key in (here, unknown):
                        refused = asked(base, key)
                        assert refused.status_code == 503, refused.text
                        assert int(refused.headers["Retry-After"]) >= 1
                        assert "the database of this memory does not answer" in refused.text
                for one in signing_in:
                    one.result()
            assert {answer.status_code for answer in answers} == {503}
            assert all(int(answer.headers["Retry-After"]) >= 1 for answer in answers)
            assert httpx.get(f"{base}/healthz").status_code == 200
            assert httpx.get(f"{base}/readyz", timeout=30).status_code == 503
            assert httpx.get(f"{base}/readyz", params={"database": "east"}, timeout=30).status_code == 200
        finally:
            if end == signal.SIGSTOP:
                for process in processes:
                    os.kill(process, signal.SIGCONT)
            else:
                EmbeddedPostgres(front.home).revive()
        wait_until(lambda: [asked(base, key).status_code for key in (here, there, unknown)] == [200, 200, 200])


async def sign_in(base: str, answers: list[httpx.Response]) -> None:
    async with httpx.AsyncClient(timeout=30) as client:
        body = {"user": "somebody", "password": "correct horse battery staple"}
        try:
            answers.append(await client.post(f"{base}/v1/sign-in", json=body))
        except httpx.TimeoutException:
            pytest.fail("signing in hangs")
