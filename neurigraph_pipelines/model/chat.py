"""Tools that a language model may call, and its calls; how answers of our own chats are known.

Such an answer repeats what memories say, so neither another answer nor a fact rests on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CHAT_ORIGIN = "neurigraph-chat"
"""The origin of our own chats among sources."""

SEARCH = "searchDatabase"
"""The tool that every answer of a chat has called."""


def rests_on_search(tool_calls: Iterable[Mapping[str, object]]) -> bool:
    """Return whether a message with these calls is an answer that rests on a search of this memory."""
    return any(call.get("name") == SEARCH for call in tool_calls)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as a language model sees it; ``fields`` has the JSON schema of each argument, and all are required."""

    name: str
    description: str
    fields: Mapping[str, Mapping[str, str]]

    @property
    def parameters(self) -> dict[str, object]:
        """The arguments as a JSON schema."""
        properties, required = dict(self.fields), list(self.fields)
        return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool.

    Attributes:
        call_id: The model's id of the call.
        arguments: None if what the model sent is no JSON object.
    """

    call_id: str
    name: str
    arguments: Mapping[str, object] | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """Calls of one turn of a language model, with their results, in order. Results are data."""

    calls: Sequence[ToolCall]
    results: Sequence[str]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a chat, by the user or by the assistant.

    Attributes:
        message_id: The client's id: a message that is sent again with it is not added twice.
    """

    role: str
    content: str
    message_id: str | None = None
