"""The reliability and security pages list every proof and attack, and only tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

_LISTED = re.compile(r"^\| `(tests/[\w/]+\.py)::(\w+)` \|", re.MULTILINE)


def _tests_in(module: Path, mark: str) -> tuple[set[str], bool]:
    """The tests of a module, and whether all of them bear a mark."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    marks = [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return names, any(f"pytest.mark.{mark}" in one for one in marks)


@pytest.mark.parametrize(("page", "mark"), [("reliability.md", "proof"), ("security.md", "attack")])
def test_page_lists_its_tests(page: str, mark: str) -> None:
    listed = set(_LISTED.findall((ROOT / "docs" / page).read_text(encoding="utf-8")))
    assert listed
    for path in sorted({path for path, _ in listed}):
        names, _ = _tests_in(ROOT / path, mark)
        assert {name for file, name in listed if file == path} <= names, path
    for module in sorted((ROOT / "tests").rglob("test_*.py")):
        names, are_marked = _tests_in(module, mark)
        path = module.relative_to(ROOT).as_posix()
        if are_marked:
            assert {(path, name) for name in names} <= listed, path


def test_every_attack_is_marked() -> None:
    for module in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert _tests_in(module, "attack")[1], module
