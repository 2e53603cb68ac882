"""The page about reliability lists every proof, and no test that does not exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.conftest import ROOT

_LISTED = re.compile(r"^\| `(tests/[\w/]+\.py)::(\w+)` \|", re.MULTILINE)


def _tests_in(module: Path) -> tuple[set[str], bool]:
    """The tests of a module, and whether all of them are marked as proofs."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")}
    marks = [
        ast.unparse(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
    ]
    return names, any("pytest.mark.proof" in mark for mark in marks)


def test_the_page_lists_every_proof_and_nothing_else() -> None:
    listed = set(_LISTED.findall((ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")))
    assert listed
    for path in sorted({path for path, _ in listed}):
        names, _ = _tests_in(ROOT / path)
        assert {name for file, name in listed if file == path} <= names, path
    for module in sorted((ROOT / "tests").rglob("test_*.py")):
        names, are_proofs = _tests_in(module)
        path = module.relative_to(ROOT).as_posix()
        if are_proofs:
            assert {(path, name) for name in names} <= listed, path
