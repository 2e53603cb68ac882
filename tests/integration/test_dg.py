"""The command line `dg` reads the project: it loads without complaints, and lists what the UI shows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

DG = Path(sys.executable).parent / "dg"
SPECIFICATIONS = ROOT / "tests" / "data" / "definitions.json"


def test_dg_checks_and_lists_the_definitions(tmp_path: Path) -> None:
    environment = os.environ | {
        "HOME": str(tmp_path),
        "VIRTUAL_ENV": str(DG.parents[1]),
        "PATH": f"{DG.parent}{os.pathsep}{os.environ['PATH']}",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }
    check, listing = (
        subprocess.Popen(
            [DG, *arguments], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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
