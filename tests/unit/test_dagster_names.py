"""The names that the project imports from Dagster are public: an upgrade is a version number."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

# Dagster's own command listens on a port that every account of the machine reaches:
# docs/adr/0039-processes-and-secrets.md.
OF_THE_UI = {
    "dagster._core.workspace.context",
    "dagster._core.workspace.load_target",
    "dagster._utils.interrupts",
}


def imported(file: Path) -> Iterator[str]:
    """Yield the modules that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_only_the_guarded_ui_imports_private_names() -> None:
    private: dict[str, set[str]] = {}
    for room in ("neurigraph_pipelines", "resources", "benchmarks", "tests"):
        for file in (ROOT / room).rglob("*.py"):
            for module in imported(file):
                if module.startswith("dagster") and "._" in module:
                    private.setdefault(file.relative_to(ROOT).as_posix(), set()).add(module)
    assert private == {"neurigraph_pipelines/runtime/ui/__main__.py": OF_THE_UI}
