"""Optional redaction of a message: its content, author and section, and the texts of its tool calls and events.

The redactor adapter finds what to redact. Ids are never redacted, because they identify messages.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from neurigraph_pipelines.model import IncomingMessage
from neurigraph_pipelines.model.ports import Redactor
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS


def redact_message(redactor: Redactor, message: IncomingMessage) -> tuple[IncomingMessage, Counter[str]]:
    """Return the redacted message, and the number of findings of each kind."""
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
        section=clean(message.section)[:MAX_NAME_CHARACTERS] if message.section is not None else None,
        tool_calls=tuple(clean(call) for call in message.tool_calls),
        event=(
            replace(event, input=clean(event.input), output=clean(event.output), error=clean(event.error))
            if (event := message.event) is not None
            else None
        ),
    )
    return redacted, counts
