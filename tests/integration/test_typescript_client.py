"""The TypeScript client: built from the OpenAPI document as it is now, and used against a real server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines import __version__
from neurigraph_pipelines.faces.api.app import create_app
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import new_user, storing
from tests.support.api_server import serving

CLIENT = ROOT / "clients" / "typescript"
EXAMPLES = re.findall(r"^```ts\n(.*?)^```", (CLIENT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="Node is not installed")
def test_client_against_a_server(shared_installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "typescript"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist", "generated"))
    document = tmp_path / "openapi.json"
    document.write_text(json.dumps(create_app(shared_installation).openapi()), encoding="utf-8")
    run(folder, "npm", "ci", "--no-audit", "--no-fund")
    run(folder, "npm", "run", "generate", OPENAPI=str(document))
    run(folder, "npx", "tsc")
    run(folder, "npx", "tsc", "--project", "test")
    with serving(shared_installation) as address, storing(shared_installation):
        with httpx.Client(base_url=address, timeout=60.0) as client:
            key = new_user(client, f"ts-{uuid4().hex[:8]}")["Authorization"].removeprefix("Bearer ")
        server = {"NEURIGRAPH_URL": address, "NEURIGRAPH_API_KEY": key}
        run(folder, "npx", "vitest", "run", **server)
        (printed,) = re.findall(r"^// (.+)$", EXAMPLES[-1], re.MULTILINE)
        assert printed in run(folder, "node", "--input-type=module", "--eval", EXAMPLES[-1], **server)
    program = (
        'import { Neurigraph } from "./dist/index.js"; console.log(typeof new Neurigraph({ apiKey: "x" }).links.end)'
    )
    assert run(folder, "node", "--input-type=module", "--eval", program) == "function\n"


def test_package_needs_nothing_and_names_no_address() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert package["version"] == __version__
    assert package.keys().isdisjoint({"dependencies", "optionalDependencies"})
    assert package["peerDependencies"].keys() == {
        one for one, it in package["peerDependenciesMeta"].items() if it["optional"]
    }
    lock = json.loads((CLIENT / "package-lock.json").read_text(encoding="utf-8"))
    locked = [entry for name, entry in lock["packages"].items() if name]
    assert locked
    assert all("resolved" not in entry and "integrity" in entry for entry in locked)
