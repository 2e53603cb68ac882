"""Rules of the code that no linter checks: short functions, reasons of broad handlers, the list of late imports."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT

PARTS = ("neurigraph_pipelines", "resources", "clients/python", "benchmarks", "training")
FILES = {str(path.relative_to(ROOT)): path.read_text("utf-8") for part in PARTS for path in (ROOT / part).rglob("*.py")}
TREES = {name: ast.parse(text) for name, text in FILES.items()}
FUNCTIONS = [
    (name, node)
    for name, tree in TREES.items()
    for node in ast.walk(tree)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
]


def alternatives(pattern: str) -> Iterator[str]:
    """Yield a pattern once for each word of its braces."""
    found = re.search(r"\{([^{}]*)\}", pattern)
    for word in found[1].split(",") if found else ():
        yield from alternatives(pattern.replace(found[0], word) if found else pattern)
    if found is None:
        yield pattern


def test_functions_are_short() -> None:
    assert [f"{name}: {one.name}" for name, one in FUNCTIONS if (one.end_lineno or 0) - one.lineno >= 49] == []


def test_imports_inside_functions_stand_where_a_reason_is_listed() -> None:
    linted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]["per-file-ignores"]
    listed = {name for pattern, codes in linted.items() if "PLC0415" in codes for name in alternatives(pattern)}
    late = {name for name, one in FUNCTIONS for node in ast.walk(one) if isinstance(node, ast.Import | ast.ImportFrom)}
    assert late == listed


@pytest.mark.parametrize("kind", ["Exception", "BaseException"])
def test_broad_handler_says_why_or_raises_again(kind: str) -> None:
    handlers = [
        (name, node)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name) and node.type.id == kind
    ]
    silent = [
        f"{name}:{one.lineno}"
        for name, one in handlers
        if "#" not in FILES[name].splitlines()[one.lineno - 1]
        and not any(isinstance(node, ast.Raise) for node in ast.walk(one))
    ]
    assert handlers
    assert silent == []
