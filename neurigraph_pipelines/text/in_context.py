"""A message as the local embedder was trained to read it: its speaker, and the text before."""

from __future__ import annotations

from collections.abc import Sequence

CONTEXT_END = "\x1f"
"""Stands between the context and the message, and in neither."""

_CHARACTERS_BEFORE = (120, 80)
"""Characters of the message before, and of the one before that: their ends, where questions stand."""


def in_context(speaker: str, text: str, before: Sequence[tuple[str, str]] = ()) -> str:
    """Return a message with its speaker, behind the ends of the two messages before it.

    Args:
        speaker: Who says it.
        text: The message, or a part of it.
        before: Speaker and text of the messages before it, in order.
    """
    own = f"{speaker}: {text}".replace(CONTEXT_END, " ")
    if not before:
        return own
    ends = [
        f"{who}: {said[-characters:]}".replace(CONTEXT_END, " ")
        for (who, said), characters in zip(reversed(before), _CHARACTERS_BEFORE, strict=False)
    ]
    return "\n".join(reversed(ends)) + CONTEXT_END + own
