"""A sentence as a heading: what it is about and what is said of it, in few words."""

from __future__ import annotations

import re

MAX_HEADING = 60

_LEAD = re.compile(
    r"(?:(?:ok|okay|oh|by the way|btw|please|so|well|also|hi|hello|note|remember|don't forget)\b[,:]?\s+(?:that\s+)?)+",
    re.I,
)
_OWNED = re.compile(
    r"(?:i|we) (?:have|had|got|need|want|bought|ordered|opened) (?:to )?(?:(?:an?|the|some|my|our|new) )?", re.I
)
_ARTICLE = re.compile(r"(?:the|an?|my|our) ", re.I)
_SECRET = re.compile(r"(?P<subject>.{6,}?) (?:is|are)[:]? (?=\S*\d)\S+(?: \S*\d\S*)?$", re.I)
_DAY = re.compile(r"\b(?P<verb>expires|ends|starts|begins|opens|closes) on (?=\d|the \d|[A-Z])")
_CLAUSE = re.compile(
    r"[,;:(–—]|\s(?:since|because|which|who|but|so that|although|while|if|when|and (?:i|we|it|they|then))\s", re.I
)
_LEAST = 12


def heading(sentence: str, language: str) -> str:
    """Return a sentence as a heading of at most ``MAX_HEADING`` characters, without the value of a code or number."""
    text = sentence.strip().rstrip(".!?…。 ")
    if language == "en":
        for rule in (_LEAD, _OWNED, _ARTICLE):
            led = rule.match(text)
            text = text[led.end() :] if led and len(text) - led.end() >= _LEAST else text
        secret = _SECRET.match(text)
        text = secret["subject"] if secret else _DAY.sub(r"\g<verb> ", text)
    clause = _CLAUSE.search(text, _LEAST)
    text = text[: clause.start()].rstrip() if clause else text
    if len(text) > MAX_HEADING:
        text = text[: MAX_HEADING - 1].rsplit(" ", 1)[0].rstrip(" ,;:-") + "…"
    return text[:1].upper() + text[1:]
