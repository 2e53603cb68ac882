"""The tokens of a text for MiniLM: its windows, and which of their tokens count.

A text may begin with its context, up to ``CONTEXT_END``. The model reads it, and the vector is the mean over the tokens
behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from neurigraph_pipelines.text.in_context import CONTEXT_END
from resources.minilm.graph import MAX_POSITIONS
from resources.well_formed import well_formed

MAX_WINDOWS = 8
"""Windows of 254 tokens that are embedded of one text: about 1,500 words, seven times a summary."""

MAX_CONTEXT = 48
"""Tokens of the context that are read: the last ones."""

_MAX_CHARACTERS = 32_000
"""Characters of one text that are tokenised: 16 for each embedded token, four times the usual."""


class Tokens(NamedTuple):
    """Up to 256 token ids, of which those from ``begin`` on count."""

    ids: list[int]
    begin: int

    @property
    def counted(self) -> int:
        """How many of them count."""
        return len(self.ids) - self.begin


def windows_of(tokenizer: Any, text: str, most: int = MAX_POSITIONS) -> Iterator[Tokens]:
    """Yield the token ids of each window of a text; the empty text has one, of the special tokens around every text.

    Args:
        tokenizer: Neither pads nor truncates.
        text: Any text, with or without a context.
        most: Tokens of one window.
    """
    context, mark, own = text[:_MAX_CHARACTERS].rpartition(CONTEXT_END)
    first, *ids, last = tokenizer.encode(well_formed(own)).ids
    before = [first]
    if mark and (read := tokenizer.encode(well_formed(context)).ids[1:-1][-MAX_CONTEXT:]):
        before = [first, *read, last]
    size = most - len(before) - 1
    for start in range(0, min(max(1, len(ids)), size * MAX_WINDOWS), size):
        yield Tokens([*before, *ids[start : start + size], last], len(before) if len(before) > 1 else 0)
