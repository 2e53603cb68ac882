"""Events of tools as messages: which fields a type has, and how they are kept."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.inbox.tool_events import typed
from neurigraph_pipelines.model import IncomingMessage, MessageType, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.tool_events import event_fields
from neurigraph_pipelines.text.hygiene import validate_message

USE: dict[str, Any] = {"tool_name": "search", "tool_use_id": "t1"}
LIMIT = 1_000


def message(kind: MessageType | None, role: Role | None = None, content: str = "", **fields: Any) -> IncomingMessage:
    """Return a message as it is stored."""
    return validate_message(typed(IncomingMessage(Role.USER, content), kind, role, fields), "reject", LIMIT)[0]


@pytest.mark.parametrize(
    ("kind", "role", "fields", "is_said"),
    [
        (MessageType.TOOL_USE, None, {**USE, "input": {"q": "tea"}}, '{"q": "tea"}'),
        (MessageType.TOOL_USE, Role.ASSISTANT, USE, "search"),
        (MessageType.TOOL_RESULT, None, {"tool_use_id": "t1", "output": "Earl Grey"}, "Earl Grey"),
        (MessageType.TOOL_RESULT, Role.TOOL, {**USE, "output": [1, None], "duration_ms": 0}, "[1, null]"),
        (MessageType.TOOL_RESULT, Role.USER, {**USE, "error": "no net", "duration_ms": 9}, "no net"),
        (MessageType.TOOL_RESULT, None, {**USE, "content": "the text", "output": {"a": 1}}, "the text"),
        (MessageType.TOOL_RESULT, None, {**USE, "content": "the text"}, "the text"),
        (MessageType.ERROR, None, {"error": "overloaded"}, "overloaded"),
        (MessageType.ERROR, None, {"content": "overloaded"}, "overloaded"),
    ],
)
def test_events_of_each_type(kind: MessageType, role: Role | None, fields: dict[str, Any], is_said: str) -> None:
    made = message(kind, role, **fields)
    assert made.event is not None
    assert (made.content, made.role, made.event.type) == (is_said, kind.role, kind)
    assert made.event.duration_ms == fields.get("duration_ms")
    kept = made.event.fields(made.content)
    assert ToolEvent.of_fields(kept, made.content) == made.event
    assert (made.content in kept.values()) == (is_said in ("search", "no net")), "its text is not kept twice"


@pytest.mark.parametrize("kind", [MessageType.USER, MessageType.ASSISTANT])
def test_words_have_no_event(kind: MessageType) -> None:
    made = message(kind, content="Hello.")
    assert (made.role, made.event, event_fields(made.role, made.event)["type"]) == (kind.role, None, kind)


@pytest.mark.parametrize(
    ("kind", "role", "fields", "says"),
    [
        (None, None, {"content": "x"}, "a role or a type"),
        (None, Role.TOOL, {"content": "x", "tool_use_id": "t1"}, "tool_use_id belongs to"),
        (MessageType.USER, None, {"content": "x", "output": "y"}, "has no output"),
        (MessageType.USER, Role.ASSISTANT, {"content": "x"}, "contradict"),
        (MessageType.TOOL_RESULT, Role.ASSISTANT, {**USE, "output": "x"}, "contradict"),
        (MessageType.TOOL_RESULT, Role.SYSTEM, {**USE, "output": "x"}, "contradict"),
        (MessageType.TOOL_USE, Role.USER, USE, "contradict"),
        (MessageType.TOOL_USE, None, {"tool_use_id": "t1"}, "needs a tool_name"),
        (MessageType.TOOL_USE, None, {**USE, "output": "x"}, "has no output"),
        (MessageType.TOOL_RESULT, None, {"output": "x"}, "needs a tool_use_id"),
        (MessageType.TOOL_RESULT, None, {"tool_use_id": "", "output": "x"}, "needs a tool_use_id"),
        (MessageType.TOOL_RESULT, None, {"tool_use_id": "t1"}, "needs an output, an error or a content"),
        (MessageType.ERROR, None, {}, "needs an error or a content"),
        (MessageType.ERROR, None, {"error": "x", "output": "y"}, "has no output"),
        (MessageType.TOOL_RESULT, None, {**USE, "output": "x", "duration_ms": -1}, "duration_ms"),
        (MessageType.TOOL_RESULT, None, {**USE, "output": "x", "duration_ms": True}, "duration_ms"),
        (MessageType.TOOL_RESULT, None, {**USE, "output": "x" * LIMIT}, "the limit is 1,000"),
        (MessageType.TOOL_USE, None, {**USE, "input": {"q": "x" * LIMIT}}, "the limit is 1,000"),
        (MessageType.TOOL_RESULT, None, {"tool_use_id": "t" * 301, "output": "x"}, "tool_use_id has 301"),
        (MessageType.TOOL_RESULT, None, {**USE, "output": float("nan")}, "not finite"),
        (MessageType.TOOL_RESULT, None, {**USE, "output": "a\x00b"}, "NUL"),
    ],
)
def test_other_fields_are_refused(
    kind: MessageType | None, role: Role | None, fields: dict[str, Any], says: str
) -> None:
    with pytest.raises(InvalidInputError, match=says):
        message(kind, role, **fields)


def test_deep_input_is_refused() -> None:
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="nested deeper"):
        message(MessageType.TOOL_USE, None, **USE, input=deep)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from([MessageType.TOOL_USE, MessageType.TOOL_RESULT, MessageType.ERROR]),
    values,
    values,
    st.none() | st.text(max_size=9),
    st.text(max_size=9),
)
def test_fields_round_trip(kind: MessageType, sent: Any, output: Any, error: str | None, content: str) -> None:
    event = ToolEvent(kind, "tool", "t1", sent, output, error, 5)
    assert ToolEvent.of_fields(event.fields(content), content) == event
