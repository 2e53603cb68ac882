"""Bounds of an answer in tokens: parts that fit are shown, and the others are counted."""

from __future__ import annotations

import hashlib

from neurigraph_pipelines.model.ports import TokenCounter

DEFAULT_TOKENS, LEAST_TOKENS, MOST_TOKENS = 4_000, 300, 20_000

_FIXED = 120  # tokens of the notice and of what is said about a cut
_WORTH_SHOWING = 30
_CHARACTERS_PER_TOKEN = 16  # more than any text has; the rest of a long text need not be counted
_REMEMBERED = 20_000


class RememberedCounts:
    """Counts tokens, each text once: counting the hits of a search takes longer than finding them.

    Only digests of the texts are kept. Calls run in several threads, which may count a text twice.
    """

    def __init__(self, tokens: TokenCounter) -> None:
        self.tokens = tokens
        self._known: dict[bytes, int] = {}

    def count(self, text: str) -> int:
        """Return the tokens of a text."""
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._known.get(key)
        if known is None:
            known = self.tokens.count(text)
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[key] = known
        return known


class Budget:
    """A number of tokens that the items of an answer take from.

    Args:
        counts: The counter.
        most: Tokens of the whole answer.
    """

    def __init__(self, counts: RememberedCounts, most: int) -> None:
        self._counts = counts
        self._left = most - _FIXED

    @property
    def is_spent(self) -> bool:
        """Whether nothing worth showing fits any more."""
        return self._left < _WORTH_SHOWING

    def fits(self, *texts: str | None, fixed: int = 0) -> bool:
        """Take an item whole, and return whether it fits.

        Args:
            texts: Its texts.
            fixed: Tokens of the rest of it, such as ids and names of fields.
        """
        cost = fixed + sum(self._count(text) for text in texts if text)
        if cost > self._left:
            return False
        self._left -= cost
        return True

    def cut(self, text: str) -> str:
        """Take as much of the beginning of a text as fits, and return that."""
        fits, too_many = 0, min(len(text), self._most_characters) + 1
        if self._count(text) <= self._left:
            fits = too_many - 1
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            is_short = self._counts.tokens.count(text[:middle]) <= self._left
            fits, too_many = (middle, too_many) if is_short else (fits, middle)
        self._left -= self._counts.tokens.count(text[:fits])
        return text[:fits]

    @property
    def _most_characters(self) -> int:
        return max(self._left, 0) * _CHARACTERS_PER_TOKEN

    def _count(self, text: str) -> int:
        return self._counts.count(text[: self._most_characters + 1])
