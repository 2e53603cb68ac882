"""The command line `dg` reads the project: it loads without complaints, lists what the UI shows, and makes assets."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.command_line import environment

pytestmark = pytest.mark.slow

DG = Path(sys.executable).parent / "dg"
OTHER_NUMBER = json.dumps({"resources": {"models": {"config": {"concurrency": 2}}}})
SPECIFICATIONS = ROOT / "tests" / "data" / "definitions.json"


def at_home(folder: Path) -> dict[str, str]:
    """Return what `dg` finds in a shell with an active environment."""
    return {
        "HOME": str(folder),
        "VIRTUAL_ENV": str(DG.parents[1]),
        "PATH": f"{DG.parent}{os.pathsep}{os.environ['PATH']}",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def test_dg_checks_and_lists_the_definitions(tmp_path: Path) -> None:
    check, listing = (
        subprocess.Popen(
            [DG, *arguments],
            cwd=ROOT,
            env=os.environ | at_home(tmp_path),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for arguments in (("check", "defs"), ("list", "defs", "--json"))
    )
    said, complaints = check.communicate(timeout=120)
    listed, errors = listing.communicate(timeout=120)
    assert check.returncode == 0, said + complaints
    assert "All definitions loaded successfully." in said + complaints
    assert listing.returncode == 0, errors
    found = json.loads(listed)
    frozen = json.loads(SPECIFICATIONS.read_text(encoding="utf-8"))
    assert {
        one["asset_key"]: (one["group_name"], one["kinds"], sorted(one["dependency_keys"]), one["is_executable"])
        for one in found["assets"]
    } == {
        name: (one["group"], one["kinds"], one["deps"], one["made by a run"]) for name, one in frozen["assets"].items()
    }
    for kind in ("jobs", "schedules", "sensors"):
        assert {one["name"] for one in found[kind]} == frozen[kind].keys(), kind


def test_dg_makes_an_asset(installation: Installation, tmp_path: Path) -> None:
    made = subprocess.run(
        [DG, "launch", "--assets", "embedding_models", "--config-json", OTHER_NUMBER],
        cwd=ROOT,
        env=environment(installation.settings, **at_home(tmp_path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "RUN_SUCCESS" in made.stderr + made.stdout
