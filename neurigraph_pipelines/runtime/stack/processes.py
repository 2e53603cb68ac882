"""The parts of Neurigraph on one machine: Dagster's code server, webserver and daemon, and the HTTP API.

Says which processes `neurigraph up` and the demo need, and when they serve; ``supervisor`` keeps them running.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import socket
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.runtime.stack.dagster_home import dagster_home
from neurigraph_pipelines.runtime.stack.home_lock import HomeLock
from neurigraph_pipelines.runtime.stack.keeper import Keeper
from neurigraph_pipelines.runtime.stack.marks import VARIABLE, kill_marked
from neurigraph_pipelines.runtime.stack.services import installed_program
from neurigraph_pipelines.runtime.stack.supervisor import START_SECONDS, Part, StackError, Supervisor
from neurigraph_pipelines.settings.log_files import rotate_all
from neurigraph_pipelines.settings.logs import JsonFormatter
from neurigraph_pipelines.wiring.installation import Installation

CODE_SERVER, UI, DAEMON, API = "dagster-code-server", "dagster-webserver", "dagster-daemon", "neurigraph-api"
_LOAD_ERRORS = """{ workspaceOrError { ... on Workspace { locationEntries {
    name locationOrLoadError { ... on PythonError { message } }
} } } }"""
_LONGEST_SOCKET_PATH = 100
"""In bytes; the kernel allows 107."""


@dataclass(frozen=True, slots=True)
class Address:
    """An address that a process listens on."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The URL of the address."""
        return f"http://{self.host}:{self.port}"


class LocalStack:
    """Everything on one machine, kept running until the block ends; then all of it is stopped.

    Args:
        installation: An open, migrated installation; its server runs as long as the stack.
        with_api: Whether the HTTP API is started too.
        report: Takes one line about each death of a part.

    Raises:
        AlreadyRunningError: Another stack runs on the home folder.
        StackError: A part did not start.
    """

    def __init__(
        self, installation: Installation, *, with_api: bool, report: Callable[[str], None] = lambda _: None
    ) -> None:
        self._installation = installation
        self._home = installation.home
        self._logs = self._home / "logs"
        self._log = logging.Logger("neurigraph.stack", logging.INFO)
        self._report_to = report
        self._with_api = with_api
        # The next stack finds processes of a stack whose keeper was killed by this prefix.
        self._mark_of_home = f"{VARIABLE}={hashlib.sha256(bytes(self._home.resolve())).hexdigest()[:16]}-"
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with self._open as opening:
            self._start(opening)
            self._open = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def ui_url(self) -> str:
        """The link that opens Dagster's UI, with its token."""
        return self.dagster.ui_url(self.ui.url)

    def check(self) -> None:
        """Check that every part stays alive.

        Raises:
            StackError: A part is in a crash loop; the message holds the end of its log.
        """
        self._supervisor.check()

    def pids(self) -> dict[str, int]:
        """Return the process id of each part that runs."""
        return self._supervisor.pids()

    def _start(self, opening: ExitStack) -> None:
        lock = HomeLock(self._home)
        opening.callback(lock.release)
        mark = self._mark_of_home + secrets.token_hex(4)
        keeper = opening.enter_context(Keeper([self._home], mark, held=[lock.descriptor]))
        self._open_log()
        if left := kill_marked(self._mark_of_home):
            self._report(f"ended {left} processes that an earlier start had left behind")
        opening.enter_context(self._installation.kept_server(self._report))
        self.dagster = dagster_home(self._installation)
        opening.callback(self.dagster.clear)
        self._workspace = self.dagster.folder / "workspace.yaml"
        self._noted: dict[str, int] = {}
        chores = (keeper.ensure, partial(rotate_all, self._logs), lambda: self._note(lock))
        self._supervisor = opening.enter_context(Supervisor(self._logs, mark, self._report, chores))
        settings = self._installation.settings
        self.ui = _free_address(settings.ui.host, settings.ui.port)
        self.api = _free_address(settings.api.host, settings.api.port) if self._with_api else None
        self._supervisor.start(self._code_server(opening))
        # The webserver before the daemon: it makes Dagster's tables, and two processes at once would fail.
        self._supervisor.start(self._ui())
        self._check_definitions()
        dagster_home(self._installation, has_tables=True)
        self._supervisor.start(self._daemon(), *([self._api(self.api)] if self.api else []))
        places = {"dagster_ui": self.ui.url, **({"api": self.api.url} if self.api else {})}
        self._places = places
        self._note(lock)
        self._report("started: " + ", ".join(f"{name} {place}" for name, place in places.items()))
        self._supervisor.watch()

    def _note(self, lock: HomeLock) -> None:
        """Write into the lock's file where the stack runs, and which process each part is, whenever that changes."""
        if self._noted != (now := self._supervisor.pids()):
            lock.write(self._places, now)
            self._noted = now

    def _open_log(self) -> None:
        self._logs.mkdir(exist_ok=True, mode=0o700)
        handler = logging.FileHandler(self._logs / "neurigraph-up.log")
        is_json = self._installation.settings.logs.format == "json"
        handler.setFormatter(JsonFormatter() if is_json else logging.Formatter("%(asctime)s %(message)s"))
        self._log.addHandler(handler)
        self._open.callback(handler.close)

    def _report(self, line: str) -> None:
        self._log.info(line)
        with suppress(OSError):  # the terminal may be closed
            self._report_to(line)

    # The parts

    def _code_server(self, opening: ExitStack) -> Part:
        """Return the process that loads the definitions and starts runs, for the webserver and the daemon.

        One that Dagster starts by itself is never replaced when it dies.
        """
        place = self.dagster.folder / "code.sock"
        if len(bytes(place)) > _LONGEST_SOCKET_PATH:
            folder = opening.enter_context(tempfile.TemporaryDirectory(prefix="neurigraph-"))
            place = Path(folder) / "code.sock"
        server = {"grpc_server": {"socket": str(place), "location_name": "neurigraph"}}
        self._workspace.write_text(json.dumps({"load_from": [server]}), encoding="utf-8")  # JSON is YAML
        place.unlink(missing_ok=True)
        command = self.dagster.code_server_command("-s", str(place))
        return Part(CODE_SERVER, command, self.dagster.environment, partial(_listens, place))

    def _ui(self) -> Part:
        """Return Dagster's webserver."""
        command = self.dagster.ui_command(self.ui.host, self.ui.port, self._workspace)
        answers = partial(_answers, self._ui_request("/server_info"))
        return Part(UI, command, self.dagster.environment, answers, needs=(CODE_SERVER,))

    def _daemon(self) -> Part:
        """Return Dagster's daemon, which has no address to ask."""
        command = self.dagster.daemon_command(self._workspace)
        return Part(DAEMON, command, self.dagster.environment, lambda: True, needs=(CODE_SERVER,))

    def _api(self, at: Address) -> Part:
        """Return the HTTP API."""
        command = [str(installed_program("neurigraph")), "admin", "serve", "--host", at.host, "--port", str(at.port)]
        environment = {**os.environ, "NEURIGRAPH_HOME": str(self._home)}
        return Part(API, command, environment, partial(_answers, f"{at.url}/healthz"))

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


def _answers(request: str | urllib.request.Request) -> bool:
    """Return whether a server of ours answers a request."""
    try:
        with urllib.request.urlopen(request, timeout=5):  # noqa: S310 - our own loopback address
            return True
    except (urllib.error.URLError, OSError):
        return False


def _listens(place: Path) -> bool:
    """Return whether a process listens on a Unix socket."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(place))
        except OSError:
            return False
        return True


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
