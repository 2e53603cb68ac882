"""Adapters of frameworks: with the real packages, in an environment of their own, against a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import new_user, storing
from tests.support.api_server import serving

PINS = ROOT / "requirements" / "frameworks.txt"
CHECKS = sorted(one for one in (ROOT / "tests" / "support" / "frameworks").glob("*.py") if one.name != "__init__.py")
PAGE = ROOT / "docs" / "frameworks.md"
EXAMPLES = dict(re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of the frameworks, beside the project's own, which they do not change."""
    folder = tmp_path_factory.mktemp("packages")
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--target", str(folder), "-r", str(PINS)]
    done = subprocess.run([sys.executable, *install], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the packages of the frameworks cannot be had: {done.stderr.strip().splitlines()[-1]}")
    return folder


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as found, storing(shared_installation):
        yield found


@pytest.fixture
def environment(packages: Path, address: str) -> dict[str, str]:
    """The environment of a program with the frameworks, and with the key of a new user."""
    with httpx.Client(base_url=address, timeout=60.0) as client:
        key = new_user(client, f"frame-{uuid4().hex[:8]}")["Authorization"].removeprefix("Bearer ")
    path = os.pathsep.join(map(str, (ROOT, ROOT / "clients" / "python", packages)))
    return {**os.environ, "PYTHONPATH": path, "NEURIGRAPH_URL": address, "NEURIGRAPH_API_KEY": key}


def run(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("checks", CHECKS, ids=lambda checks: str(checks.stem))
def test_adapter_with_its_framework(environment: dict[str, str], tmp_path: Path, checks: Path) -> None:
    options = ("-c", os.devnull, "--rootdir", str(tmp_path), "--noconftest", "-p", "no:cacheprovider", "--quiet")
    assert " passed" in run(environment, tmp_path, "-m", "pytest", *options, str(checks))


@pytest.mark.parametrize("framework", EXAMPLES)
def test_example_of_the_docs(environment: dict[str, str], tmp_path: Path, framework: str) -> None:
    """Each example prints what it says in its last comment."""
    code = EXAMPLES[framework]
    printed = run(environment, tmp_path, "-c", code)
    (said,) = re.findall(r"# (.+)$", code, re.MULTILINE)[-1:]
    assert said in printed
