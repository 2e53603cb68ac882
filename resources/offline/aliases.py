"""Aliases of persons that a text states: ``Dave, short for David``, ``Bob calls her Annie``.

Only explicit statements count. ``names`` decides who is a person.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from resources.offline.lexicon import english, forms
from resources.offline.prose import Prose

MAX_STATED = 50
"""Most statements of one segment."""

_NAME = r"[A-Z][\w'’-]*\w(?:\s[A-Z][\w'’-]*\w){0,2}"
_BREAK = r"(?:,|\s\(|\s[-–—])?\s?"
_QUOTE = "[\"'“”‘’]?"

_FORMS = forms("aliases", name=_NAME, quote=_QUOTE)
_STATEMENTS = [
    re.compile(rf"\b(?P<alias>{_NAME})(?:\sis|['’]s|\swas)?{_BREAK}(?:which\sis\s)?short\sfor\s(?P<name>{_NAME})"),
    re.compile(
        rf"\b(?P<name>{_NAME}){_BREAK}(?:who\sis\s|is\s)?(?:aka|a\.k\.a\.|also\sknown\sas|better\sknown\sas|nicknamed)\s"
        rf"{_QUOTE}(?P<alias>{_NAME})"
    ),
    re.compile(rf"\b(?P<name>{_NAME}),?\s(?:who\s)?goes\sby\s(?:the\sname\s(?:of\s)?)?{_QUOTE}(?P<alias>{_NAME})"),
    re.compile(rf"\b(?P<name>{_NAME})['’]s\snickname\sis\s{_QUOTE}(?P<alias>{_NAME})"),
]

_NAMES = re.compile(_NAME)


def stated_aliases(prose: Prose, persons: Collection[str]) -> list[tuple[str, str]]:
    """Return pairs of a person's name and an alias, in order of appearance.

    Args:
        prose: The segment.
        persons: Names of known persons; at least one name of each pair is among them.
    """
    found: dict[tuple[str, str], None] = {}
    before: list[str] = []
    read = 0
    for number, sentence in enumerate(prose.sentences):
        for pattern in _STATEMENTS if _FORMS.hint.search(sentence.text) else ():
            for match in pattern.finditer(sentence.text):
                _add(found, persons, match["name"], match["alias"])
        for match in (
            _FORMS.called.finditer(sentence.text) if "call" in sentence.text or "nick" in sentence.text else ()
        ):
            for one in prose.sentences[read:number]:
                before = _named(one.text, persons) or before
            read = number
            # The pronoun means the only person named before; with two candidates it is ambiguous.
            whom = set(_named(sentence.text[: match.start()], persons) or before) - {match["who"]}
            if len(whom) == 1:
                _add(found, persons, whom.pop(), match["alias"])
        if len(found) >= MAX_STATED:
            break
    return list(found)


def _named(text: str, persons: Collection[str]) -> list[str]:
    return [name for name in map(_bare, _NAMES.findall(text)) if name in persons]


def _add(found: dict[tuple[str, str], None], persons: Collection[str], name: str, alias: str) -> None:
    name, alias = _bare(name), _bare(alias)
    if name != alias and _may_be_name(name) and _may_be_name(alias) and (name in persons or alias in persons):
        found[name, alias] = None


def _bare(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s")) else name


def _may_be_name(name: str) -> bool:
    """Whether no word of ``name`` is an ordinary word, such as a day, a greeting or a family role."""
    lexicon = english()
    ordinary = lexicon.junk | lexicon.stop | lexicon.filler | lexicon.common | lexicon.roles | lexicon.relations.keys()
    return len(name) <= 40 and not any(word.lower() in ordinary for word in name.split())
