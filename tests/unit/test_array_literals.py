"""Arrays of statements as text: every value arrives as it was."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.database.array_literals import array_literal, columns


def test_values_are_quoted() -> None:
    assert array_literal([]) == "{}"
    assert array_literal(["a", None, "NULL", "", 'b"\\,{}', 7, True]) == '{"a",NULL,"NULL","","b\\"\\\\,{}","7","True"}'
    assert array_literal([b"\x00\xff"]) == '{"\\\\x00ff"}'
    assert columns([{"a": 1, "b": "x"}, {"a": 2, "b": None}]) == {"a": '{"1","2"}', "b": '{"x",NULL}'}


@pytest.mark.parametrize("text", ["\0,", "\0-", "a\0,b", "\0"])
def test_separators_in_a_text_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NUL"):
        array_literal(["a", text, None])
