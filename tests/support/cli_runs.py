"""Commands run as processes in the home folder that the tests share."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.warm_cli import warm_program

TALK: dict[str, Any] = {
    "external_id": "c1",
    "title": "Fishing with Dave",
    "ended_at": "2025-05-04T18:00:00Z",
    "messages": [
        {"role": "user", "content": "Dave and I went fishing at Lake Orrin.", "author": "Bob", "external_id": "m1"},
        {"role": "assistant", "content": "How many trout did you catch?", "external_id": "m2"},
        {"role": "user", "content": "Seven, and Dave fell into the water.", "author": "Bob", "external_id": "m3"},
    ],
}


def write_talks(path: Path, *talks: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    return path


def run(env: dict[str, str], *arguments: str | Path | bytes, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [warm_program(), *arguments], env=env, capture_output=True, text=True, timeout=120, cwd=env["NEURIGRAPH_HOME"]
    )
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done


def ask(env: dict[str, str], *arguments: str | Path, code: int = 0) -> Any:
    """Run a command with ``--json``; stdout must hold one JSON value and nothing else."""
    return json.loads(run(env, *arguments, "--json", code=code).stdout)


def new_user(env: dict[str, str], slug: str) -> str:
    talk = write_talks(Path(env["NEURIGRAPH_HOME"]) / f"{slug}.jsonl", {**TALK, "ended_at": None})
    run(env, "import", talk, "--user", slug)
    return slug
