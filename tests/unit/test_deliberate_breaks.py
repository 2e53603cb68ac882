"""The lists of deliberate breaks and of accepted mutants are current: each applies to its file, and tests exist."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.mutants.breaks import Break, NotAppliedError, all_breaks
from tests.mutants.generated import FOLDER, modules

BREAKS = all_breaks()


@functools.cache
def functions_of(path: str) -> set[str]:
    """Return the names of a file's functions."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_names_are_unique() -> None:
    assert [name for name, count in Counter((one.subject, one.name) for one in BREAKS).items() if count > 1] == []


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: f"{one.subject}: {one.name}")
def test_break_applies(one: Break) -> None:
    whole = (ROOT / one.file).read_text(encoding="utf-8")
    assert one.applied_to(whole) != whole
    for test in one.tests:
        path, _, name = test.partition("::")
        assert not name or name in functions_of(path), test


def test_break_that_does_not_apply_is_an_error() -> None:
    one = Break("subject", "name", "file", "old", "new", ())
    assert one.applied_to("an old text") == "an new text"
    for text in ("a text", "old and old"):
        with pytest.raises(NotAppliedError):
            one.applied_to(text)


def test_accepted_mutants_are_of_the_code_as_it_is() -> None:
    """A line that has changed needs a new look at what may survive in it."""
    accepted = tomllib.loads((FOLDER / "accepted.toml").read_text(encoding="utf-8"))["accepted"]
    paths = {module.path for module in modules([])}
    lines = {path: set(map(str.strip, (ROOT / path).read_text(encoding="utf-8").splitlines())) for path in paths}
    assert [entry for entry in accepted if entry["old"] not in lines.get(entry["module"], set())] == []
    assert [entry for entry in accepted if len(entry["reason"]) < 10] == []


def test_tests_of_modules_exist() -> None:
    for module in modules([]):
        for test in module.tests:
            path, _, name = test.partition("::")
            assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), (module.path, test)
            assert (ROOT / path).is_file(), (module.path, test)
