"""The client's wheel, in an environment that has nothing but what it asks for, against a real server."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import venv
import zipfile
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest
from packaging.requirements import Requirement

from neurigraph_pipelines import __version__
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import new_user, storing
from tests.support.api_server import serving

pytestmark = pytest.mark.end_to_end

DEPENDENCIES = ("httpx", "pydantic")
REMEMBER = """
import asyncio, importlib.util, json, sys
from neurigraph_client import AsyncMemory, Denied, Memory
from neurigraph_client.views.links import Link

url, key = sys.argv[1:]
with Memory(url, key) as memory:
    note = memory.remember("The boiler's code is 4711.", wait=60)
    stored = memory.source("note", note.note_id).record_ids
    found = memory.search("code of the boiler").hits[0].record_id

async def ask():
    async with AsyncMemory(url, key) as memory:
        return (await memory.ask("What is the code of the boiler?")).answer

try:
    Memory(url, "ng_wrong").ask("Who?")
except Denied as error:
    status = error.status
server = importlib.util.find_spec("neurigraph_pipelines")
print(json.dumps([stored == [found], asyncio.run(ask()), status, server, Link.__name__]))
"""
MEASURE = "import time; begun = time.process_time(); import neurigraph_client; print(time.process_time() - begun)"
"""Seconds of the processor, which do not count what else runs on the machine."""


@dataclass(frozen=True)
class Installed:
    """A new environment with the wheel and its dependencies."""

    wheel: Path
    python: Path

    def run(self, program: str, *arguments: str) -> str:
        command = [str(self.python), "-I", "-c", program, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("client")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT / "clients" / "python")
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    for name in needed(DEPENDENCIES):
        copy(name, packages)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", wheel], check=True)
    subprocess.run([*pip, "--python", python, "check"], check=True)
    return Installed(wheel, python)


def needed(names: tuple[str, ...]) -> set[str]:
    """Return the names of distributions with all that they need, without extras."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        if (name := waiting.pop().lower()) in found:
            continue
        found.add(name)
        wanted = map(Requirement, distribution(name).requires or ())
        waiting += [one.name for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})]
    return found


def copy(name: str, packages: Path) -> None:
    """Copy a distribution of this environment, so that no network is needed."""
    for file in distribution(name).files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), target)


def test_wheel_is_small_and_asks_for_two_libraries(installed: Installed) -> None:
    assert installed.wheel.stat().st_size < 100_000
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(f"neurigraph_client-{__version__}.dist-info/METADATA").decode()
    assert {name.partition("/")[0] for name in names} == {
        "neurigraph_client",
        f"neurigraph_client-{__version__}.dist-info",
    }
    views = {path.name for path in (ROOT / "neurigraph_pipelines" / "views").glob("*.py")}
    assert {f"neurigraph_client/views/{name}" for name in views} < set(names)
    assert {"neurigraph_client/py.typed", f"neurigraph_client-{__version__}.dist-info/licenses/LICENSE"} < set(names)
    wanted = [
        Requirement(line.partition(": ")[2]) for line in metadata.splitlines() if line.startswith("Requires-Dist")
    ]
    assert tuple(one.name for one in wanted if one.marker is None) == DEPENDENCIES
    adapters = [one.name for one in wanted if one.marker is not None]
    assert adapters == ["google-adk", "langchain-core", "langgraph", "llama-index-core", "openai-agents"]


def test_wheel_remembers_and_answers(installed: Installed, shared_installation: Installation) -> None:
    with serving(shared_installation) as address, storing(shared_installation):
        with httpx.Client(base_url=address, timeout=60.0) as client:
            key = new_user(client, f"wheel-{uuid4().hex[:8]}")["Authorization"].removeprefix("Bearer ")
        found: list[Any] = json.loads(installed.run(REMEMBER, address, key))
    is_same, answer, status, server, view = found
    assert "4711" in answer
    assert (is_same, status, server, view) == (True, 401, None, "Link")


def test_wheel_is_imported_soon(installed: Installed) -> None:
    installed.run(MEASURE)  # writes the compiled modules
    seconds = [float(installed.run(MEASURE)) for _ in range(7)]
    assert statistics.median(seconds) < 0.15


def test_package_names_what_it_exports(installed: Installed) -> None:
    program = (
        "import neurigraph_client as c; print(*sorted(set(c.__all__) - {getattr(c, n).__name__ for n in c.__all__}))"
    )
    assert installed.run(program) == "\n"
