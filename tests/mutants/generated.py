"""Mutants that cosmic-ray generates, of the modules in ``modules.toml``. ``accepted.toml`` has survivors."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult

from tests.mutants.checkout import PYTEST, Checkout

FOLDER = Path(__file__).parent
SECONDS = 300.0
"""Longest time that the tests of one mutant may take; a mutant that takes longer is killed."""

_SEED = 2_026
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Module:
    """A module, and the tests that must notice its mutants."""

    path: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Survivor:
    """A mutant that no test noticed: the changed lines before and after."""

    line: int
    old: str
    new: str


@dataclass(slots=True)
class Score:
    """The result of one module.

    Attributes:
        generated: All mutants, those in annotations not counted.
        accepted: Survivors that are listed as accepted.
    """

    path: str
    generated: int = 0
    killed: int = 0
    accepted: int = 0
    survivors: list[Survivor] = field(default_factory=list)

    @property
    def share(self) -> float:
        """The share of mutants that were killed, of those that should be."""
        return self.killed / max(1, self.killed + len(self.survivors))


def modules(words: Sequence[str]) -> list[Module]:
    """Return the modules whose path has one of the words; all without words."""
    listed = tomllib.loads((FOLDER / "modules.toml").read_text(encoding="utf-8"))["module"]
    return [
        Module(entry["path"], tuple(entry["tests"]))
        for entry in listed
        if not words or any(word in entry["path"] for word in words)
    ]


def run_module(checkout: Checkout, module: Module, sample: int | None) -> Score:
    """Generate the mutants of a module in a copy, and run its tests against each, or against a random sample.

    Args:
        sample: Most mutants to run; None for all. The same ones in each run.
    """
    session, config = checkout.folder / ".mutants.sqlite", checkout.folder / ".mutants.toml"
    session.unlink(missing_ok=True)
    command = [str(checkout.python), "-m", "pytest", *PYTEST, *module.tests]
    settings = {"module-path": module.path, "timeout": SECONDS, "test-command": " ".join(command)}
    lines = [f"{name} = {json.dumps(value)}" for name, value in settings.items()]
    lines += ["excluded-modules = []", "[cosmic-ray.distributor]", 'name = "local"']
    config.write_text("\n".join(["[cosmic-ray]", *lines]))
    _cosmic_ray(checkout, "init", config.name, session.name)
    with use_db(str(session), mode=WorkDB.Mode.open) as db:
        generated = _select(db, _annotations(checkout.folder / module.path), sample)
    _cosmic_ray(checkout, "exec", config.name, session.name)
    with use_db(str(session), mode=WorkDB.Mode.open) as db:
        return _score(db, module.path, generated)


def _cosmic_ray(checkout: Checkout, *arguments: str) -> None:
    program = checkout.python.parent / "cosmic-ray"
    subprocess.run([str(checkout.python), str(program), *arguments], cwd=checkout.folder, check=True)


def _select(db: WorkDB, annotations: set[tuple[int, int]], sample: int | None) -> int:
    """Skip mutants of annotations, which are never evaluated, and those outside the sample. Count the others."""
    items = list(db.work_items)
    real = [item for item in items if not _is_inside(item.mutations[0], annotations)]
    chosen = real if sample is None else random.Random(_SEED).sample(real, min(sample, len(real)))
    kept = {item.job_id for item in chosen}
    skipped = [item.job_id for item in items if item.job_id not in kept]
    db.set_multiple_results(skipped, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    return len(real)


def _annotations(path: Path) -> set[tuple[int, int]]:
    """Return the positions of all parts of annotations: line and column."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            found.append(node.returns)
    return {
        (line, column)
        for annotation in found
        for line in range(annotation.lineno, (annotation.end_lineno or annotation.lineno) + 1)
        for column in range(0 if line > annotation.lineno else annotation.col_offset, _end(annotation, line))
    }


def _end(annotation: ast.expr, line: int) -> int:
    return (annotation.end_col_offset or 0) if line == annotation.end_lineno else 200


def _is_inside(mutation: MutationSpec, annotations: set[tuple[int, int]]) -> bool:
    return tuple(mutation.start_pos) in annotations


def _score(db: WorkDB, path: str, generated: int) -> Score:
    score = Score(path, generated)
    accepted = list(_accepted(path))
    for _, result in db.results:
        if result.worker_outcome is WorkerOutcome.SKIPPED:
            continue
        if result.test_outcome is not TestOutcome.SURVIVED:
            score.killed += 1
            continue
        survivor = _survivor(result.diff or "")
        if any(survivor.old == old and new in (survivor.new, _ANY) for old, new in accepted):
            score.accepted += 1
        else:
            score.survivors.append(survivor)
    return score


def _survivor(diff: str) -> Survivor:
    """Return the changed lines of a unified diff."""
    body = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    start = next((line for line in body if line.startswith("@@")), "@@ -0 +0 @@")
    first = int(start.split()[1].lstrip("-").split(",")[0])
    changed = [number for number, line in enumerate(body[1:]) if line.startswith("-")]
    old, new = (
        " ".join(line[1:].strip() for line in body if line.startswith(sign) and not line.startswith("@@"))
        for sign in "-+"
    )
    return Survivor(first + (changed[0] if changed else 0), old, new)


def _accepted(path: str) -> Iterator[tuple[str, str]]:
    listed = tomllib.loads((FOLDER / "accepted.toml").read_text(encoding="utf-8")).get("accepted", [])
    return ((entry["old"], entry["new"]) for entry in listed if entry["module"] == path)
