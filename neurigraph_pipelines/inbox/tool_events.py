"""Messages with a type, as faces and importers receive them: the check of the fields that a type may have.

``text.hygiene`` checks texts and sizes, when the inbox stores a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from neurigraph_pipelines.model import TOOL_FIELDS, IncomingMessage, MessageType, Role, ToolEvent
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.scalars import ValuesByName

MAX_DURATION_MS = 2**31 - 1

_FIELDS = {
    MessageType.TOOL_USE: ("tool_name", "tool_use_id", "input"),
    MessageType.TOOL_RESULT: TOOL_FIELDS,
    MessageType.ERROR: ("tool_name", "tool_use_id", "input", "error", "duration_ms"),
}
TOOL_EVENTS = frozenset(_FIELDS)
"""The types that are events of tools."""

_NEEDED = {
    MessageType.TOOL_USE: ("tool_name", "tool_use_id"),
    MessageType.TOOL_RESULT: ("tool_use_id",),
    MessageType.ERROR: (),
}


def typed(
    message: IncomingMessage, stated: MessageType | None, role: Role | None, fields: Mapping[str, object]
) -> IncomingMessage:
    """Return a message with the role and the event of its type.

    The type decides who speaks, whatever role is stated: chat services send the result of a tool as the user.

    Args:
        message: Its other properties; its role is ignored.
        stated: The type; None if only the role is stated.
        role: The stated role.
        fields: The fields of a tool (``TOOL_FIELDS``), None where they are not set.

    Raises:
        InvalidInputError: Neither a type nor a role is stated, they contradict each other, or the type lacks a field or
            has none of that name.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    if stated is None:
        if role is None:
            raise InvalidInputError("a message has a role or a type")
        if given:
            raise InvalidInputError(f"{min(given)} belongs to a message whose type is tool_use, tool_result or error")
        return replace(message, role=role)
    as_sent = {stated.role, Role.USER} if stated is MessageType.TOOL_RESULT else {stated.role}
    if role is not None and role not in as_sent:
        raise InvalidInputError(f"the type {stated} and the role {role} contradict each other: leave the role out")
    if stated not in _FIELDS:
        if given:
            raise InvalidInputError(f"a message of type {stated} has no {min(given)}")
        return replace(message, role=stated.role)
    return replace(message, role=stated.role, event=_event(stated, given, message.content))


def _event(stated: MessageType, given: ValuesByName, content: str) -> ToolEvent:
    missing = [name for name in _NEEDED[stated] if not given.get(name)]
    if missing:
        raise InvalidInputError(f"a message of type {stated} needs a {missing[0]}")
    surplus = sorted(given.keys() - set(_FIELDS[stated]))
    if surplus:
        raise InvalidInputError(f"a message of type {stated} has no {surplus[0]}")
    duration = given.get("duration_ms")
    if duration is not None and (type(duration) is not int or not 0 <= duration <= MAX_DURATION_MS):
        raise InvalidInputError(f"duration_ms lies between 0 and {MAX_DURATION_MS:,}")
    event = ToolEvent(stated, **given)
    if stated is MessageType.TOOL_USE:
        return event
    if event.said is None and not content:
        said = "an output, an error" if stated is MessageType.TOOL_RESULT else "an error"
        raise InvalidInputError(f"a message of type {stated} needs {said} or a content")
    if event.said is not None:
        return event
    return replace(event, output=content) if stated is MessageType.TOOL_RESULT else replace(event, error=content)
