"""The parts of a stream: their lines, wherever the bytes are cut, and their names."""

from __future__ import annotations

import pytest

from neurigraph_pipelines.exchange.portability import stream
from neurigraph_pipelines.exchange.portability.stream import StreamPart, is_part
from neurigraph_pipelines.model.errors import InvalidInputError

ROWS = ['{"a": "Ünïcødé 🚲"}', '{"a": ""}', '{"a": "b"}']


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1_000])
@pytest.mark.parametrize("end", ["\n", ""])
def test_lines_are_those_of_the_rows(size: int, end: str) -> None:
    content = ("\n".join(ROWS) + end).encode()
    chunks = (content[start : start + size] for start in range(0, len(content), size))
    assert list(StreamPart("tables/users.jsonl", chunks).lines()) == ROWS


def test_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_MAX_LINE_BYTES", 100)
    endless = iter([b"a" * 60] * 1_000)
    with pytest.raises(InvalidInputError, match="too long"):
        list(StreamPart("tables/users.jsonl", endless).lines())
    assert next(endless), "the rest is not read"


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("tables/users.jsonl", True),
        ("objects/durable/bob/a.gz", True),
        ("objects/durable/../a", False),
        ("tables/../users.jsonl", False),
        ("manifest.json", False),
    ],
)
def test_names_of_parts(name: str, valid: bool) -> None:
    assert is_part(name) == valid
