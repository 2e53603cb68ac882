"""Quotation marks of a sentence that was cut out of a longer text: those that lost their partner go."""

from __future__ import annotations

import re
from collections.abc import Iterator

DOUBLE = '"“”„«»'
"""Marks of a quotation; single ones are apostrophes more often."""

_FAMILIES = [re.compile(f"[{marks}]") for marks in ('"', "“”„", "«»")]
_OPENING, _CLOSING = "„«", "»"
_BEFORE_WORD = "([{¿¡—–-"
_SINGLE = re.compile(r"['‘](?=[^\W\d])")
_SINGLE_END = re.compile(r"(?<=[^\s'’])['’](?!\w)")


def paired(text: str) -> str:
    """Return a text without the quotation marks that begin or end nothing. Marks of inches stay."""
    alone = {place for family in _FAMILIES for place in _alone(text, family)}
    if _SINGLE.match(text) and not _SINGLE_END.search(text, 1):
        alone.add(0)
    return "".join(one for place, one in enumerate(text) if place not in alone).strip() if alone else text


def _alone(text: str, family: re.Pattern[str]) -> Iterator[int]:
    """Yield where the marks of one family stand that have no partner."""
    opened: int | None = None
    for match in family.finditer(text):
        place = match.start()
        if opened is None and _opens(text, place):
            opened = place
        elif opened is not None and _may_close(text, place):
            opened = None
        elif opened is not None:
            yield opened
            opened = place
        elif not text[place - 1].isdigit():
            yield place
    if opened is not None:
        yield opened


def _opens(text: str, place: int) -> bool:
    """Whether a mark stands before a word, or before nothing that it could end."""
    before, after = text[place - 1 : place] if place else "", text[place + 1 : place + 2]
    if text[place] in _CLOSING and after.strip():
        return not before.strip()  # »quoted« in German
    return text[place] in _OPENING or not before.strip() or before in _BEFORE_WORD


def _may_close(text: str, place: int) -> bool:
    """Whether a mark stands behind a word."""
    before, after = text[place - 1], text[place + 1 : place + 2]
    return not before.isspace() or not after.strip() or text[place] in _CLOSING
