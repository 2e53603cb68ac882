"""`dagster dev` in the checkout, as with every Dagster project, and without anything of ours that runs."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.runtime.stack.dagster_home import INSTANCE
from neurigraph_pipelines.runtime.stack.services import installed_program
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.dagster_stack import await_true
from tests.support.embedded_server import new_home
from tests.support.memories import converse, new_user

pytestmark = pytest.mark.end_to_end


def test_dagster_dev_stores_what_has_ended(session_home: Path, tmp_path: Path) -> None:
    dagster_home = tmp_path / "dagster_home"
    dagster_home.mkdir()
    shutil.copy(INSTANCE, dagster_home)
    with new_home(tmp_path) as home, socket.create_server(("127.0.0.1", 0)) as taken:
        home.mkdir()
        (home / "models").symlink_to(session_home / "models")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NEURIGRAPH_")}
        command = [str(installed_program("dagster")), "dev", "--port", str(taken.getsockname()[1])]
        taken.close()
        with (tmp_path / "dev.log").open("wb") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={
                    **kept,
                    "DAGSTER_HOME": str(dagster_home),
                    "DAGSTER_DISABLE_TELEMETRY": "1",
                    "NEURIGRAPH_HOME": str(home),
                    "NEURIGRAPH_LANGUAGE_MODEL": "offline",
                    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}",
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            with Installation(Settings(home=home)) as here:
                here.migrate()
                _, claims = new_user(here)
                converse(here, claims, "The boathouse gets copper gutters.")
                await_true(lambda: triggers.queue(here.database).stored == 1, "a run of `dagster dev` stores it")
                await_true(lambda: not reading.waiting(here.context).records, "a run of its automations reads it")
                assert "Traceback" not in (tmp_path / "dev.log").read_text(encoding="utf-8")
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
