"""The wheel: what it holds, and that an installation of it works without the checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines import __version__
from tests.conftest import ROOT
from tests.support.cli_runs import TALK, write_talks
from tests.support.embedded_server import new_home
from tests.support.up_process import await_nothing_left

pytestmark = pytest.mark.end_to_end

OTHERS = 'OWNER = "another project"\n'
"""A module of another project with the name of a folder of ours."""

READ_A_FILE = """
from neurigraph_pipelines.resources.extractors.text_extractor import SubprocessExtractor
read = SubprocessExtractor(20, 1 << 30, 1 << 20).extract([b"a,b\\nfish,7\\n"], "csv")
import resources, sql
print([part.text for part in read.parts], resources.OWNER, sql.OWNER, resources.__file__)
"""


@dataclass(frozen=True)
class Installed:
    """A new environment with the wheel, and with modules `resources` and `sql` of another project."""

    wheel: Path
    environment: dict[str, str]
    programs: Path
    folder: Path

    def run(self, program: str, *arguments: str | Path) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def ask(self, *arguments: str | Path) -> Any:
        return json.loads(self.run("neurigraph", *arguments, "--json"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, session_home: Path) -> Iterator[Installed]:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    build = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT)
    subprocess.run([*pip, *build], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", symlinks=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    for name in ("resources", "sql"):
        (packages / f"{name}.py").write_text(OTHERS)
    # Dependencies are those of this environment. Its own .pth files, which name the checkout, are not followed there.
    (packages / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"])
    python = folder / "venv" / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", "--no-index", "--no-compile", wheel], check=True)
    with new_home(folder) as home:
        home.mkdir()
        (home / "models").symlink_to(session_home / "models")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
        environment = {**kept, "NEURIGRAPH_HOME": str(home), "NEURIGRAPH_EMBEDDER": "neurigraph"}
        environment["NEURIGRAPH_LANGUAGE_MODEL"] = "offline"
        yield Installed(wheel, environment, python.parent, folder)
        await_nothing_left(home)


def test_wheel_holds_one_package_with_all_files(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {"neurigraph_pipelines", f"neurigraph-{__version__}.dist-info"}
    assert f"neurigraph-{__version__}.dist-info/licenses/LICENSE" in names
    tracked = subprocess.run(
        [
            "git",
            "ls-files",
            "resources",
            "sql",
            "samples",
            "workspace.yaml",
            "dg.toml",
            "dagster_home",
            "training/model-card.md",
            "neurigraph_pipelines",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    expected = {
        name if name.startswith("neurigraph_pipelines/") else f"neurigraph_pipelines/{name}" for name in tracked
    }
    assert expected - set(names) == set()
    assert len(expected) > 700


def test_installed_wheel_stores_and_finds(installed: Installed) -> None:
    (newest, *_) = re.findall(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert installed.run("neurigraph", "--version") == f"{newest}\n"
    installed.ask("import", write_talks(installed.folder / "talk.jsonl", TALK), "--user", "bob")
    installed.ask("ingest")
    (first, *_) = installed.ask("search", "How many trout did Bob catch?", "--user", "bob")["hits"]
    assert first["title"] == "Fishing with Dave"


def test_installed_wheel_leaves_names_to_others(installed: Installed) -> None:
    read, place = installed.run("python", "-c", READ_A_FILE).rsplit(maxsplit=1)
    assert "fish" in read
    assert read.endswith("another project another project")
    assert place == str(installed.programs.parent.joinpath("lib")) + place[place.index("/python3") :]


def test_installed_wheel_has_definitions(installed: Installed) -> None:
    program = "from neurigraph_pipelines.definitions import defs; print(*(job.name for job in defs.jobs))"
    assert "ingestion_job" in installed.run("python", "-c", program).split()
