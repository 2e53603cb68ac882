"""The reliability and security pages list every module of proofs and attacks, and only modules that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

_MODULE = re.compile(r"`(tests/[\w/]+/test_\w+\.py)`")


def _are_marked(module: Path, mark: str) -> bool:
    """Return whether all tests of a module bear a mark."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    marks = [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return any(f"pytest.mark.{mark}" in one for one in marks)


@pytest.mark.parametrize(("page", "mark"), [("reliability.md", "proof"), ("security.md", "attack")])
def test_page_lists_its_modules(page: str, mark: str) -> None:
    lines = (ROOT / "docs" / page).read_text(encoding="utf-8").splitlines()
    listed = {module for line in lines if line.startswith("| `tests/") for module in _MODULE.findall(line)}
    assert {module for module in listed if not (ROOT / module).exists()} == set()
    marked = {path for path in (ROOT / "tests").rglob("test_*.py") if _are_marked(path, mark)}
    assert {path.relative_to(ROOT).as_posix() for path in marked} <= listed
    assert marked


def test_every_attack_is_marked() -> None:
    for module in (ROOT / "tests" / "attacks").glob("test_*.py"):
        assert _are_marked(module, "attack"), module
