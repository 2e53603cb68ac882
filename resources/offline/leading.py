"""What somebody states before asking for something: "I've never been to Oslo, can you recommend a hotel?"."""

from __future__ import annotations

import re

MIN_WORDS = 5
"""Fewest words of such a statement."""

_OWN = re.compile(r"(?:i|i['’](?:m|ve|d)|my|we|we['’](?:re|ve|d)|our)\s", re.I)
_ASKS = re.compile(
    r"\s*(?:[,;]|\s[-–—])\s+(?:(?:and|but|so|or)\s)?(?:"
    r"(?:please\s)?(?:can|could|would|will|do|does|did|are|is|am|should|shall|may|have|has)\s"
    r"(?:you|i|we|it|that|this|there|the|he|she|they)\b"
    r"|what|how|which|where|when|who|why|any\s|please\s"
    r"|i (?:want|need|would like|don['’]t know)\b|i['’]d (?:like|love)\b"
    r"|i['’]m (?:not sure|wondering|looking for|eager)\b)",
    re.I,
)
"""Where asking begins, or saying what one wants or does not know."""


def stated_before_asking(text: str) -> str | None:
    """Return the statement about the speaker that precedes a sentence's request; None if there is none."""
    if not _OWN.match(text):
        return None
    asks = _ASKS.search(text)
    if asks is None:
        return None
    stated = text[: asks.start()].rstrip(" ,;")
    return stated if len(stated.split()) >= MIN_WORDS else None
