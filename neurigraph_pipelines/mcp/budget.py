"""Bounds of an answer in tokens: what fits is shown, and what does not is counted."""

from __future__ import annotations

from neurigraph_pipelines.ports import TokenCounter

DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS = 4_000, 300, 20_000

_FIXED = 120  # tokens of the notice and of what is said about a cut
_WORTH_SHOWING = 30
_CHARACTERS_PER_TOKEN = 16  # more than any text has; the rest of a long text need not be counted


class Budget:
    """A number of tokens that the items of an answer take from.

    Args:
        tokens: The counter.
        most: Tokens of the whole answer.
    """

    def __init__(self, tokens: TokenCounter, most: int) -> None:
        self._tokens = tokens
        self._left = most - _FIXED

    @property
    def is_spent(self) -> bool:
        """Whether nothing worth showing fits any more."""
        return self._left < _WORTH_SHOWING

    def takes(self, *forms: str) -> bool:
        """Take an item whole, and return whether it fits; of several forms of it the longest counts."""
        cost = max(map(self._count, forms))
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def cut(self, text: str) -> str:
        """Take as much of the beginning of a text as fits, and return that."""
        whole = self._count(text)
        if whole <= self._left and len(text) <= self._left * _CHARACTERS_PER_TOKEN:
            self._left -= whole
            return text
        fits, too_many = 0, min(len(text), max(self._left, 0) * _CHARACTERS_PER_TOKEN) + 1
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            fits, too_many = (middle, too_many) if self._count(text[:middle]) <= self._left else (fits, middle)
        self._left -= self._count(text[:fits])
        return text[:fits]

    def _count(self, text: str) -> int:
        return self._tokens.count(text[: (max(self._left, 0) + 1) * _CHARACTERS_PER_TOKEN])
