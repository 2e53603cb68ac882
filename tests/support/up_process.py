"""`neurigraph up` as a process, and the processes that it starts; found in ``/proc``, so this is for Linux."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from resources.postgres.embedded import EmbeddedPostgres
from tests.support.command_line import PROGRAM
from tests.support.waiting import PATIENCE_SECONDS, wait_until

COMMANDS = {
    "code server": "dagster api grpc",
    "webserver": "neurigraph_pipelines.runtime.ui",
    "daemon": "dagster-daemon run",
    "api": "neurigraph admin serve",
    "keeper": "stack.keeper",
}
"""What the command line of each part contains."""


class Up:
    """A running `neurigraph up`."""

    def __init__(self, home: Path, process: subprocess.Popen[str]) -> None:
        self.home = home
        self.process = process
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, "it ended before it had started everything"
        self.places: dict[str, str] = json.loads(line)

    def parts(self) -> dict[str, int]:
        """Return the process id of each part that runs, Postgres included."""
        found = {
            name: pid
            for pid, command in children_of(self.process.pid)
            for name, sign in COMMANDS.items()
            if sign in command
        }
        server = EmbeddedPostgres(self.home).status()
        return {**found, "postgres": server.pid} if server.pid is not None else found

    def is_ready(self) -> bool:
        """Return whether the API says that everything works."""
        return _status(f"{self.places['api']}/readyz") == 200

    def shows_ui(self) -> bool:
        """Return whether Dagster's UI opens with the link that was printed."""
        return _status(self.places["dagster_ui"]) == 200


def _status(url: str) -> int:
    """Return the status of an answer, after the redirections of a browser; 0 if there is none."""
    with suppress(httpx.HTTPError), httpx.Client(follow_redirects=True, timeout=10) as client:
        return client.get(url).status_code
    return 0


@contextmanager
def up(home: Path, environment: Mapping[str, str]) -> Iterator[Up]:
    """Run `neurigraph up`; the block ends it in any way, or the end of the block does."""
    process = subprocess.Popen(
        [PROGRAM, "up", "--json"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield Up(home, process)
    finally:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=60)
        process.kill()
        process.communicate()
        await_nothing_left(home)


def await_nothing_left(home: Path) -> None:
    """Wait until no process of a home folder runs, its server included."""
    wait_until(lambda: not left_running(home), "nothing is left", PATIENCE_SECONDS, interval=0.1)
    assert not EmbeddedPostgres(home).status().running


def left_running(home: Path) -> list[str]:
    """Return the command lines of processes that name the home folder in their arguments or environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            described = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        if str(home).encode() in described and int(process.name) != os.getpid():
            found.append(command)
    return found


def children_of(parent: int) -> Iterator[tuple[int, str]]:
    """Yield the children of a process with their command lines."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent_of = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it ended meanwhile
            continue
        if parent_of == parent:
            yield int(process.name), command
