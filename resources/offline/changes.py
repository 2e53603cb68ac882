"""What the beginning of a message says about its subject: another one, or the same. See ``changes.toml``."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from resources.offline.prose import without_spaces

MOST_READ = 200
"""Characters of a message that are read."""

FEW_CHARACTERS = 5
"""Characters of a script without spaces that say too little alone."""

_FIRST_SENTENCE = re.compile(r"[^.!?:。！？]*.?")


@dataclass(frozen=True, slots=True)
class Opening:
    """How a message begins."""

    new: bool
    same: bool


def opening_of(text: str, language: str) -> Opening:
    """Return how ``text`` begins; in a language without phrases it says nothing."""
    rules = _rules(language)
    if rules is None:
        return Opening(new=False, same=False)
    read = text[:MOST_READ].replace("’", "'").lower().lstrip(" \"'-–—*#¿¡")
    led = rules["lead"].match(read)
    rest = read[led.end() :] if led else read
    first = _FIRST_SENTENCE.match(rest)
    anywhere = rules["anywhere"].search(first.group()) if first else None
    return Opening(
        new=bool(rules["new"].match(rest) or rules["new"].match(read) or anywhere),
        same=bool(rules["same"].match(read)),
    )


def without_opening(text: str, language: str) -> str:
    """Return ``text`` without a phrase at its beginning that announces another subject, such as "by the way"."""
    rules = _rules(language)
    if rules is None:
        return text
    plain = text[:MOST_READ].replace("’", "'").lower()
    led = rules["lead"].match(plain)
    begin = led.end() if led else 0
    found = rules["new"].match(plain, begin)
    if found is None or len(plain) != len(text[:MOST_READ]):
        return text
    rest = text[found.end() :].lstrip(" ,:;–—-、，：")
    return rest if len(rest.split()) > 2 or (without_spaces(rest) and len(rest) > FEW_CHARACTERS) else text


@cache
def _rules(language: str) -> dict[str, re.Pattern[str]] | None:
    lists = _phrases().get(language)
    if lists is None:
        return None
    found = {name: "|".join(_pattern(phrase) for phrase in _split(text)) or r"(?!)" for name, text in lists.items()}
    lead = rf"(?:(?:{found.pop('lead')})[^\w]{{0,4}}\s*)*"
    return {"lead": re.compile(lead), **{name: re.compile(rf"(?:{text})") for name, text in found.items()}}


def _split(text: str) -> list[str]:
    """Return the phrases, the longest first, because the first that fits is taken."""
    return sorted(filter(None, (phrase.strip() for phrase in text.split(","))), key=len, reverse=True)


def _pattern(phrase: str) -> str:
    """Return the pattern of a phrase: whole words, where a script has spaces."""
    plain = re.escape(phrase)
    return plain if without_spaces(phrase) else rf"\b{plain}(?!\w)"


@cache
def _phrases() -> dict[str, dict[str, str]]:
    text = files(__package__).joinpath("changes.toml").read_text(encoding="utf-8")
    data: dict[str, dict[str, str]] = tomllib.loads(text)
    return data
