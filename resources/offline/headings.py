"""A sentence as a heading: its subject and the statement about it, in few words."""

from __future__ import annotations

import re

from resources.offline.changes import without_opening
from resources.offline.lexicon import forms, lexicon_of

_FORMS = forms("headings")

MAX_HEADING = 60

_ASKED = (
    (re.compile(r"(?P<kept>when|how|where) (?:do|should|can|must|could) (?:i|we) ", re.I), r"\g<kept> to "),
    (
        re.compile(r"(?:which|what) (?P<kept>.+?) (?:do|should|can|must) (?:i|we) (?:need|take|use|buy|get)\b", re.I),
        r"\g<kept>",
    ),
)
"""Questions as their subjects: "When do I prune the tree?", "Which papers do I need for the car?"."""


_LEAST_BEFORE_AND = 24
_LEAST = 12
_LEAST_WORDS = 4


def heading(sentence: str, language: str) -> str:
    """Return a sentence as a heading of at most ``MAX_HEADING`` characters, without the value of a code or number."""
    text = without_opening(sentence.strip(), language).rstrip(".!?…。 ")
    if language == "en":
        for rule in (_FORMS.letter, _FORMS.lead, _FORMS.owned, _FORMS.article):
            led = rule.match(text)
            text = text[led.end() :] if led and len(text) - led.end() >= _LEAST else text
        for asked, kept in _ASKED:
            text = asked.sub(kept, text, count=1) if asked.match(text) else text
        text = _FORMS.day.sub(r"\g<verb> ", text)
    ends = (clause.start() for clause in _FORMS.clause.finditer(text, _LEAST))
    text = text[: next((end for end in ends if len(text[:end].split()) >= _LEAST_WORDS), len(text))].rstrip()
    secret = _FORMS.secret.match(text) if language == "en" else None
    text = _shortened(secret["subject"] if secret else text, language)
    return text[:1].upper() + text[1:]


def _shortened(text: str, language: str) -> str:
    """Return the words that fit, without an unfinished phrase at the end."""
    if len(text) <= MAX_HEADING:
        return text
    before = [one.start() for one in _FORMS.joining.finditer(text, _LEAST_BEFORE_AND, MAX_HEADING)]
    if before:
        return text[: before[-1]]
    words, small = text[: MAX_HEADING - 1].split(" ")[:-1], lexicon_of(language).stop
    for end in range(len(words) - 1, 0, -1):
        if words[end].lower() in small and words[end - 1].lower() not in small:
            kept = " ".join(words[:end]).rstrip(" ,;:-")
            if len(kept) >= MAX_HEADING // 2:
                return kept
    return (" ".join(words) or text[: MAX_HEADING - 1]).rstrip(" ,;:-") + "…"
