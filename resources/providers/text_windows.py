"""Cut one text into parts that fit a model's limit.

Cutting a segment between its messages is in ``providers.transcript``.
"""

from __future__ import annotations

from neurigraph_pipelines.model.ports import TokenCounter


def split_text(text: str, limit: int, tokens: TokenCounter) -> list[str]:
    """Cut ``text`` into parts of at most ``limit`` tokens, between words where possible.

    Args:
        text: May be empty, which gives one empty part.
        limit: At least 1; a single character of more tokens stays whole.
        tokens: Counts tokens.

    Returns:
        Parts whose concatenation is ``text``.
    """
    size = tokens.count(text)
    if size <= limit or len(text) < 2:
        return [text]
    # Aim slightly below the limit, because tokens are spread unevenly; a part that is too long is cut again.
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
