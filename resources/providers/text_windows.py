"""Texts cut to what a model takes at once.

Belongs here: cutting one text by tokens. Not here: cutting a segment between its messages
(``model_transcript``).
"""

from __future__ import annotations

from neurigraph_pipelines.ports import TokenCounter


def split_text(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Cut ``text`` into parts of at most ``limit`` tokens, between words where there are any.

    Args:
        text: May be empty, and is then its own only part.
        limit: At least 1; a single character of more tokens stays whole.
        tokens: Measures.

    Returns:
        Parts whose concatenation is ``text``.
    """
    size = tokens.count(text)
    if size <= limit or len(text) < 2:
        return [text]
    # Aim a little below the limit: tokens are spread unevenly, and a part that is too long is cut again.
    length = min(len(text) - 1, max(1, int(len(text) * limit / size * 0.95)))
    parts: list[str] = []
    start = 0
    while start < len(text):
        end = start + length
        if end < len(text):
            space = max(text.rfind(" ", start + length // 2, end), text.rfind("\n", start + length // 2, end))
            end = space + 1 if space > start else end
        parts += split_text(text[start:end], limit, tokens)
        start = end
    return parts
