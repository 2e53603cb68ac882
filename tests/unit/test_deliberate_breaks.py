"""The lists of deliberate breaks are current: each applies to its file, and names tests that exist."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.conftest import ROOT
from tests.mutants.breaks import Break, NotAppliedError, all_breaks

BREAKS = all_breaks()


def test_names_are_unique() -> None:
    assert [name for name, count in Counter((one.subject, one.name) for one in BREAKS).items() if count > 1] == []


@pytest.mark.parametrize("one", BREAKS, ids=lambda one: f"{one.subject}: {one.name}")
def test_break_applies(one: Break) -> None:
    whole = (ROOT / one.file).read_text(encoding="utf-8")
    assert one.applied_to(whole) != whole
    for test in one.tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert not name or name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, test


def test_break_that_does_not_apply_is_an_error() -> None:
    one = Break("subject", "name", "file", "old", "new", ())
    assert one.applied_to("an old text") == "an new text"
    for text in ("a text", "old and old"):
        with pytest.raises(NotAppliedError):
            one.applied_to(text)
