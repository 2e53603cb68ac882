"""Dagster's daemon and webserver and the HTTP API as child processes of one command.

Starts, watches and stops processes for `neurigraph up` and for the demo.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from neurigraph_pipelines.errors import ConfigurationError, NeurigraphError
from neurigraph_pipelines.stack.dagster_home import dagster_home
from neurigraph_pipelines.wiring import Installation

START_SECONDS = 120.0
_LOAD_ERRORS = """{ workspaceOrError { ... on Workspace { locationEntries {
    name locationOrLoadError { ... on PythonError { message } }
} } } }"""
STOP_SECONDS = 30.0


class StackError(NeurigraphError):
    """A process of the stack did not start, or ended unexpectedly."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address that a process listens on."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of the address."""
        return f"http://{self.host}:{self.port}"


@dataclass(slots=True)
class _Child:
    name: str
    process: subprocess.Popen[bytes]
    log: Path


class LocalStack:
    """Dagster's daemon and webserver, and the API if wanted. All are stopped on exit, with their children.

    Args:
        installation: An open, migrated installation; its server runs as long as the stack.
        with_api: Whether the HTTP API is started too.
    """

    def __init__(self, installation: Installation, *, with_api: bool) -> None:
        settings = installation.settings
        self._installation = installation
        self._logs = installation.home / "logs"
        self._children: list[_Child] = []
        self.dagster = dagster_home(installation)
        self.ui = _free_address(settings.ui.host, settings.ui.port)
        self.api = _free_address(settings.api.host, settings.api.port) if with_api else None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def ui_url(self) -> str:
        """The link that opens Dagster's UI, with its token."""
        return self.dagster.ui_url(self.ui.url)

    def check(self) -> None:
        """Check that all processes run.

        Raises:
            StackError: A process ended; the message holds the end of its log.
        """
        for child in self._children:
            code = child.process.poll()
            if code is not None:
                raise StackError(f"{child.name} ended with status {code}:\n{_tail(child.log)}")

    def stop(self) -> None:
        """Stop all processes: by SIGINT, and after ``STOP_SECONDS`` by SIGKILL."""
        for child in reversed(self._children):
            _signal_group(child.process, signal.SIGINT)
        deadline = time.monotonic() + STOP_SECONDS
        for child in self._children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(deadline - time.monotonic(), 0.1))
            _signal_group(child.process, signal.SIGKILL)  # ends what a child left behind in its group, too
            child.process.wait()
        self._children.clear()

    def _start(self) -> None:
        self._logs.mkdir(exist_ok=True, mode=0o700)
        # The webserver first: it makes Dagster's tables, and two processes at once would fail.
        ui = self.dagster.ui_command(self.ui.host, self.ui.port)
        self._spawn("dagster-webserver", ui, self.dagster.environment)
        self._wait_for("dagster-webserver", self._ui_request("/server_info"))
        self._check_definitions()
        self._spawn("dagster-daemon", self.dagster.daemon_command(), self.dagster.environment)
        if self.api is not None:
            program = str(Path(sys.executable).parent / "neurigraph")
            serve = [program, "serve", "--host", self.api.host, "--port", str(self.api.port)]
            self._spawn("neurigraph-api", serve, {**os.environ, "NEURIGRAPH_HOME": str(self._installation.home)})
            self._wait_for("neurigraph-api", f"{self.api.url}/healthz")

    def _check_definitions(self) -> None:
        """Raise if the webserver, although it answers, could not load the definitions."""
        request = self._ui_request("/graphql", json.dumps({"query": _LOAD_ERRORS}).encode())
        with urllib.request.urlopen(request, timeout=START_SECONDS) as response:  # noqa: S310
            entries = json.load(response)["data"]["workspaceOrError"]["locationEntries"]
        for entry in entries:
            message = entry["locationOrLoadError"].get("message")
            if message:
                raise StackError(f"Dagster could not load {entry['name']}: {message}")

    def _ui_request(self, path: str, body: bytes | None = None) -> urllib.request.Request:
        headers = {"Authorization": f"Bearer {self.dagster.token}", "Content-Type": "application/json"}
        return urllib.request.Request(f"{self.ui.url}{path}", body, headers)  # noqa: S310 - our own loopback address

    def _spawn(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        if not Path(command[0]).is_file():
            raise ConfigurationError(f"{command[0]} is missing: install the project with its dependencies")
        log = self._logs / f"{name}.log"
        with log.open("wb") as output:
            process = _popen(command, environment, output)
        self._children.append(_Child(name, process, log))

    def _wait_for(self, name: str, request: str | urllib.request.Request) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            self.check()
            try:
                with urllib.request.urlopen(request, timeout=5):  # noqa: S310 - our own loopback address
                    return
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline:
                    raise StackError(f"{name} does not answer after {START_SECONDS:.0f} s") from None
                time.sleep(0.2)


def _popen(command: Sequence[str], environment: Mapping[str, str], output: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a child in a session of its own, so that Ctrl-C reaches it through ``stop``, in order."""
    return subprocess.Popen(  # noqa: S603 - our own programs, by their full path
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
    )


def _free_address(host: str, port: int) -> Address:
    """Return the address with this port, or with a free one if it is taken or 0."""
    for candidate in (port, 0):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, candidate))
            except OSError as error:
                if candidate == 0:
                    raise ConfigurationError(f"cannot listen on {host}: {error.strerror}") from error
                continue
            return Address(host, probe.getsockname()[1])
    raise AssertionError("unreachable")


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
