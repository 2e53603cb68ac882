"""The names that the project uses of Dagster are public: an upgrade is a version number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import dagster

from tests.conftest import ROOT

# Dagster's own command listens on a port that every account of the machine reaches:
# docs/adr/0039-processes-and-secrets.md.
OF_THE_UI = {
    "dagster._core.workspace.context.WorkspaceProcessContext",
    "dagster._core.workspace.load_target.WorkspaceFileTarget",
}


def used(file: Path) -> Iterator[str]:
    """Yield the full names that a file takes from Dagster's packages: imported ones, and attributes of a package."""
    text = file.read_text(encoding="utf-8")
    if "dagster" not in text:  # parsing all files takes seconds
        return
    tree = ast.parse(text)
    packages: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dagster"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            packages |= {one.asname or one.name: one.name for one in node.names if one.name.startswith("dagster")}
    yield from packages.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in packages:
            yield f"{packages[node.value.id]}.{node.attr}"


def test_only_the_guarded_ui_uses_private_names() -> None:
    found = {
        file.relative_to(ROOT).as_posix(): set(used(file))
        for room in ("neurigraph_pipelines", "resources", "benchmarks", "tests", "docs")
        for file in (ROOT / room).rglob("*.py")
    }
    private = {file: {name for name in names if "._" in name} for file, names in found.items()}
    assert {file: names for file, names in private.items() if names} == {
        "neurigraph_pipelines/runtime/ui/__main__.py": OF_THE_UI
    }
    direct = {
        name.removeprefix("dagster.") for names in found.values() for name in names if name.startswith("dagster.")
    }
    assert len(direct) > 50
    assert {name for name in direct if "." not in name and not hasattr(dagster, name)} == set()
