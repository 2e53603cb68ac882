"""JSON whose numbers and names are kept, or refused by name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import TypeAdapter

from neurigraph_pipelines.faces.mcp.tools.tool import ListOf
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.exact_json import keep_exactly, parse_exactly

KEPT = ["0.1", "-0", "1e5", "0.10000000000000001", "0.30000000000000004", "1.7976931348623157e308", "1.50", "0e-9999"]
KEPT += ["12345678901234567e-2", "4.9406564584124654e-324", "4.9e-324", "0.29999999999999999"]
KEPT += ["123456789012345678901234567890", "5e-324", "2.2250738585072014e-308", '{"a": 1, "b": {"a": 2}}', "[]"]
CHANGED = [("1e-400", "1e-400"), ("1e400", "1e400"), ("0.123456789012345678901234567890", "0.123456789012345678")]
CHANGED += [("NaN", "NaN"), ("-Infinity", "-Infinity"), ('{"a": 1, "a": 2}', "'a' twice")]
CHANGED += [("100000000000000000000.5", "100000000000000000000.5"), ("7" * 5_000, "7" * 40)]
CHANGED += [(text, text) for text in ("9007199254740993.0", "1234567890123456.7", "0.12345678901234567", "1.2345e-320")]


@pytest.mark.parametrize("text", KEPT)
def test_what_a_parser_keeps_is_read(text: str) -> None:
    assert parse_exactly(f'{{"x": {text}}}') == {"x": json.loads(text)}
    assert keep_exactly(text.encode()) == text.encode()


@pytest.mark.parametrize(("text", "named"), CHANGED)
def test_what_a_parser_changes_is_refused_or_kept_as_text(text: str, named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        parse_exactly(f'{{"deep": [{text}]}}')
    kept = json.loads(keep_exactly(text.encode()))
    assert kept == ({"a": 1, "a (given twice)": 2} if text.startswith("{") else text)


def test_lists_in_texts_of_agents_are_kept() -> None:
    assert TypeAdapter(ListOf[Any]).validate_python("[1e-400, 0.1]") == ["1e-400", 0.1]


@pytest.mark.parametrize("text", [b"{", b"\xff", b"", b"[" * 100_000])
def test_what_is_not_json_stays(text: bytes) -> None:
    assert keep_exactly(text) == text
