"""What somebody states before asking for something: "I've never been to Oslo, can you recommend a hotel?"."""

from __future__ import annotations

from resources.offline.lexicon import forms

_FORMS = forms("leading")

MIN_WORDS = 5
"""Fewest words of such a statement."""


def stated_before_asking(text: str) -> str | None:
    """Return the statement about the speaker that precedes a sentence's request; None if there is none."""
    if not _FORMS.own.match(text):
        return None
    asks = _FORMS.asks.search(text)
    if asks is None:
        return None
    stated = text[: asks.start()].rstrip(" ,;")
    return stated if len(stated.split()) >= MIN_WORDS else None
