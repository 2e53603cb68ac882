"""What of a message is redacted, where that is wished: its content, its author and the texts of its tool calls.

How something is found in a text is for the adapter; ids are never touched, since they tell messages apart.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from neurigraph_pipelines.model import NewMessage
from neurigraph_pipelines.ports import Redactor
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS


def redact_message(redactor: Redactor, message: NewMessage) -> tuple[NewMessage, Counter[str]]:
    """The message without what the redactor finds, and how much of each kind that was."""
    counts: Counter[str] = Counter()

    def clean(value: Any) -> Any:
        if isinstance(value, str):
            text, found = redactor.redact(value)
            counts.update(found)
            return text
        if isinstance(value, list):
            return [clean(item) for item in value]
        if isinstance(value, dict):
            return {key: clean(item) for key, item in value.items()}
        return value

    redacted = replace(
        message,
        content=clean(message.content),
        author=clean(message.author)[:MAX_NAME_CHARACTERS] if message.author is not None else None,
        tool_calls=tuple(clean(call) for call in message.tool_calls),
    )
    return redacted, counts
