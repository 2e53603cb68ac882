"""Message hygiene: unstorable text, sizes, times, tool calls."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.model import IncomingMessage, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import clean_json, clean_text, validate_message

anything = st.text(st.characters(exclude_categories=()), max_size=50)
storable = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=50)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\x00b", "a\ufffdb"),
        ("\ud800", "\ufffd"),
        ("日本\udfff語\x00", "日本\ufffd語\ufffd"),
    ],
)
def test_unstorable_text_is_repaired(text: str, clean: str) -> None:
    assert clean_text(text, "repair") == (clean, True)


@pytest.mark.parametrize("text", ["", "plain", "Grüße, 世界 🌍", "\ufffd", "\U0001f600"])
def test_clean_text_is_untouched(text: str) -> None:
    assert clean_text(text, "repair") == (text, False)
    assert clean_text(text, "reject") == (text, False)


@pytest.mark.parametrize(
    ("text", "what"), [("ab\x00", "a NUL byte at character 3"), ("ü\udc00", "a lone surrogate at character 2")]
)
def test_reject_says_where(text: str, what: str) -> None:
    with pytest.raises(InvalidInputError, match=what):
        clean_text(text, "reject")


@given(anything)
def test_repaired_text_can_be_stored_and_keeps_its_length(text: str) -> None:
    cleaned, repaired = clean_text(text, "repair")
    assert "\x00" not in cleaned.encode().decode()
    assert len(cleaned) == len(text)
    assert repaired == (cleaned != text)


@pytest.mark.parametrize("letter", ["x", "ü", "語"])
def test_clean_text_of_two_megabytes_is_fast(letter: str) -> None:
    text = letter * (2_000_000 // len(letter.encode()))
    started = time.process_time()
    assert clean_text(text, "reject")[0] is text
    assert time.process_time() - started < 0.25  # measured: 0.2 to 3 ms


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | anything,
        lambda inner: st.lists(inner) | st.dictionaries(storable, inner),
        max_leaves=20,
    )
)
def test_repaired_json_can_be_stored(value: Any) -> None:
    cleaned, repaired = clean_json(value, "repair")
    assert "\\u0000" not in json.dumps(cleaned, allow_nan=False).replace("\\\\", "")
    assert clean_json(cleaned, "reject") == (cleaned, False)
    assert repaired == (json.dumps(cleaned) != json.dumps(value))


@pytest.mark.parametrize("number", [float("nan"), float("-inf")])
def test_numbers_that_are_not_finite(number: float) -> None:
    assert clean_json({"a": [number]}, "repair") == ({"a": [None]}, True)
    with pytest.raises(InvalidInputError, match="not finite"):
        clean_json({"a": [number]}, "reject")


def test_tuples_become_lists() -> None:
    cleaned, repaired = clean_json({"n": 1.5, "t": (1, True)}, "reject")
    assert cleaned == {"n": 1.5, "t": [1, True]}
    assert not repaired


def _nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_nesting_is_bounded() -> None:
    assert clean_json(_nested(64), "repair")[1] is False
    for levels in (65, 100_000):
        with pytest.raises(InvalidInputError, match="deeper than 64"):
            clean_json(_nested(levels), "repair")


@pytest.mark.parametrize("value", [{1: "a"}, {"a": {1, 2}}, {"a": b"b"}, [10**5000], {"\x00": 1, "\ufffd": 2}])
def test_unrepresentable_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        clean_json(value, "repair")


def test_message_is_normalised() -> None:
    message = IncomingMessage(
        Role.USER,
        "a\x00",
        "Bo\ud800b",
        "",
        datetime.fromisoformat("2025-01-02T03:00"),
        ({"name": "f", "input": {"x": "\x00"}},),
    )
    cleaned, repaired = validate_message(message, "repair", 1_000)
    assert repaired
    assert cleaned == IncomingMessage(
        Role.USER,
        "a\ufffd",
        "Bo\ufffdb",
        None,
        datetime(2025, 1, 2, 3, tzinfo=UTC),
        ({"name": "f", "input": {"x": "\ufffd"}},),
    )


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("2025-06-01T01:30:00+02:00", "2025-06-01T01:30:00+02:00"),
        ("2025-06-01T01:30:00-03:30", "2025-06-01T01:30:00-03:30"),
        ("2025-06-01T01:30:00", "2025-06-01T01:30:00+00:00"),
        ("1900-01-01T12:00:00+00:19:32", None),
        ("1987-01-01T00:19:32+00:19:32", "1987-01-01T00:19:00+00:19"),
    ],
)
def test_times_keep_the_clock_of_their_speaker(said: str, kept: str | None) -> None:
    message = IncomingMessage(Role.USER, "x", occurred_at=datetime.fromisoformat(said))
    if kept is None:
        with pytest.raises(InvalidInputError, match="lies outside"):
            validate_message(message, "reject", 1_000)
        return
    cleaned, repaired = validate_message(message, "reject", 1_000)
    assert cleaned.occurred_at is not None
    assert cleaned.occurred_at.isoformat() == kept
    assert not repaired


@pytest.mark.parametrize(
    "moment",
    [
        *(datetime.fromisoformat(text) for text in ("1969-12-31T23:59:59", "2201-01-01", "0001-01-01", "9999-12-31")),
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=12))),
        datetime(2200, 12, 31, 23, tzinfo=timezone(-timedelta(hours=12))),
    ],
)
def test_years_out_of_range_are_refused(moment: datetime) -> None:
    with pytest.raises(InvalidInputError, match="1970 to 2200"):
        validate_message(IncomingMessage(Role.USER, "x", occurred_at=moment), "repair", 1_000)


def test_the_size_limit_counts_bytes_and_tool_calls() -> None:
    validate_message(IncomingMessage(Role.USER, "語" * 100), "reject", 300)
    with pytest.raises(InvalidInputError, match="301 bytes and the limit is 300"):
        validate_message(IncomingMessage(Role.USER, "語" * 100 + "x"), "reject", 300)
    with pytest.raises(InvalidInputError, match="limit is 300"):
        validate_message(IncomingMessage(Role.TOOL, "", tool_calls=({"input": "y" * 300},)), "reject", 300)


@pytest.mark.parametrize("name", ["author", "external_id"])
def test_names_are_bounded(name: str) -> None:
    longest: dict[str, Any] = {name: "名" * 300}
    assert validate_message(IncomingMessage(Role.USER, "x", **longest), "reject", 100)[0] is not None
    too_long: dict[str, Any] = {name: "n" * 301}
    with pytest.raises(InvalidInputError, match=f"The {name} has 301 characters"):
        validate_message(IncomingMessage(Role.USER, "x", **too_long), "repair", 100)
