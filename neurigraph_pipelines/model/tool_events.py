"""Events of tools in a conversation: a tool's use, its result, or an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from neurigraph_pipelines.views.kinds import MessageType, Role
from neurigraph_pipelines.views.scalars import ValuesByName

_SAID = {MessageType.TOOL_USE: "input", MessageType.TOOL_RESULT: "output", MessageType.ERROR: "error"}
"""The field that an event says, and whose text is the content of its message."""

_TYPES = {Role.USER: MessageType.USER, Role.ASSISTANT: MessageType.ASSISTANT, Role.TOOL: MessageType.TOOL_RESULT}
"""The types of messages that are no events; those of the system have none."""

TOOL_FIELDS = ("tool_name", "tool_use_id", "input", "output", "error", "duration_ms")


@dataclass(frozen=True, slots=True)
class ToolEvent:
    """The fields of the message of a tool's event besides its content.

    Attributes:
        type: ``tool_use``, ``tool_result`` or ``error``.
        tool_use_id: Joins the use of a tool with its result.
        input: What the tool was called with, as JSON.
        output: What it returned, as JSON.
        error: Why it failed.
    """

    type: MessageType
    tool_name: str | None = None
    tool_use_id: str | None = None
    input: Any = None
    output: Any = None
    error: str | None = None
    duration_ms: int | None = None

    @property
    def said(self) -> Any:
        """The input of a use, the output of a result (or its error, if it has no output), the error of an error."""
        said = getattr(self, _SAID[self.type])
        return self.error if said is None else said

    def fields(self, content: str) -> dict[str, object]:
        """Return the fields that are set, without the one that is the content of its message."""
        said = _SAID[self.type]
        values = {name: getattr(self, name) for name in TOOL_FIELDS}
        kept = {name: value for name, value in values.items() if (value is not None or name == said)}
        if kept[said] == content:
            del kept[said]
        return {"type": self.type.value, **kept}

    @classmethod
    def of_fields(cls, fields: ValuesByName, content: str) -> ToolEvent:
        """Return the event that ``fields`` describes, given the content of its message."""
        kind = MessageType(fields["type"])
        return cls(kind, **{_SAID[kind]: content, **{name: fields[name] for name in TOOL_FIELDS if name in fields}})


def event_fields(role: Role, event: ToolEvent | None) -> ValuesByName:
    """Return the fields of a tool in the view of a message, and its type: of its event, else of its role."""
    kind = _TYPES.get(role) if event is None else event.type
    return {"type": kind, **{name: getattr(event, name, None) for name in TOOL_FIELDS}}
