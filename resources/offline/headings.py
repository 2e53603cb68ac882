"""A sentence as a heading: its subject and the statement about it, in few words."""

from __future__ import annotations

import re

from resources.offline.changes import without_opening
from resources.offline.lexicon import lexicon_of

MAX_HEADING = 60

_LEAD = re.compile(
    r"(?:(?:ok|okay|oh|right|please|so|well|also|and|hi|hello|note|remember|don't forget|did you (?:see|know|hear)"
    r"|let's start with|(?:next|last|first) (?:item|point|topic))\b[,:]?\s+(?:that\s+)?)+",
    re.I,
)
_WANTED = r"(?:have to|had to|need to|want to|must|should|would like to|'d like to)"
_OWNED = re.compile(
    rf"(?:(?:i|we)(?: (?:also|just|really|now|still))?(?: {_WANTED}| (?:have|had|got|need|bought|ordered|opened))"
    r"|there (?:is|are|was)) (?:(?:an?|the|some|my|our|new) )?",
    re.I,
)
_ARTICLE = re.compile(r"(?:(?:give|make|take|get|have) (?=an? |the |some |my ))?(?:the|an?|some|my|our) ", re.I)
_ASKED = (
    (re.compile(r"(?P<kept>when|how|where) (?:do|should|can|must|could) (?:i|we) ", re.I), r"\g<kept> to "),
    (
        re.compile(r"(?:which|what) (?P<kept>.+?) (?:do|should|can|must) (?:i|we) (?:need|take|use|buy|get)\b", re.I),
        r"\g<kept>",
    ),
)
"""Questions as their subjects: "When do I prune the tree?", "Which papers do I need for the car?"."""

_LETTER = re.compile(r"(?:[^:\n]{0,80}: )?(?:Dear|Hello|Hi) [^,.:!]{1,40},\s+(?=\w)")
"""What stands before a letter that is quoted: "The insurer wrote: Dear customer, …"."""

_SECRET = re.compile(r"(?P<subject>.{6,}?) (?:is|are)[:]? (?=\S*\d)\S+(?: \S*\d\S*)?$", re.I)
_DAY = re.compile(r"\b(?P<verb>expires|ends|starts|begins|opens|closes) on (?=\d|the \d|[A-Z])")
_CLAUSE = re.compile(
    r"[,;:(–—](?!\d)|\s(?:since|because|which|who|that|but|although|while|if|when|"
    r"and (?:i|we|it|they|then|he|she|his|her|their))\s",
    re.I,
)
_AND = re.compile(r",? (?:and|und|y|e|et) ")
_LEAST_BEFORE_AND = 24
_LEAST = 12
_LEAST_WORDS = 4


def heading(sentence: str, language: str) -> str:
    """Return a sentence as a heading of at most ``MAX_HEADING`` characters, without the value of a code or number."""
    text = without_opening(sentence.strip(), language).rstrip(".!?…。 ")
    if language == "en":
        for rule in (_LETTER, _LEAD, _OWNED, _ARTICLE):
            led = rule.match(text)
            text = text[led.end() :] if led and len(text) - led.end() >= _LEAST else text
        for asked, kept in _ASKED:
            text = asked.sub(kept, text, count=1) if asked.match(text) else text
        text = _DAY.sub(r"\g<verb> ", text)
    ends = (clause.start() for clause in _CLAUSE.finditer(text, _LEAST))
    text = text[: next((end for end in ends if len(text[:end].split()) >= _LEAST_WORDS), len(text))].rstrip()
    secret = _SECRET.match(text) if language == "en" else None
    text = _shortened(secret["subject"] if secret else text, language)
    return text[:1].upper() + text[1:]


def _shortened(text: str, language: str) -> str:
    """Return the words that fit, without an unfinished phrase at the end."""
    if len(text) <= MAX_HEADING:
        return text
    before = [one.start() for one in _AND.finditer(text, _LEAST_BEFORE_AND, MAX_HEADING)]
    if before:
        return text[: before[-1]]
    words, small = text[: MAX_HEADING - 1].split(" ")[:-1], lexicon_of(language).stop
    for end in range(len(words) - 1, 0, -1):
        if words[end].lower() in small and words[end - 1].lower() not in small:
            kept = " ".join(words[:end]).rstrip(" ,;:-")
            if len(kept) >= MAX_HEADING // 2:
                return kept
    return (" ".join(words) or text[: MAX_HEADING - 1]).rstrip(" ,;:-") + "…"
