"""Whether two sentences say two values of one thing: "The meeting is on Monday", then "The meeting is on Friday".

Only the value may differ: two rooms with their prices, or two days with their opening times, are no versions.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from resources.offline.fitting import is_date_or_number
from resources.offline.questions import WORD, Asked, Kind

_NEWS = frozenset(
    "new now neu neue neuer neues jetzt nun nueva nuevo ahora nouveau nouvelle maintenant nuovo nuova ora".split()
)
TELLS_CHANGE = re.compile(
    r"\b(?:instead|now|moved|changed|no longer|not any ?more|after all|postponed|cancel\w*|correction|"
    r"jetzt|verschoben|stattdessen|nicht mehr|ahora|al final|retras\w+|ya no|finalement|désormais|reporté\w*)\b",
    re.I,
)
_STATES = re.compile(
    r"\b(?:is|are|will be|takes place|ist|sind|findet|es|son|será|est|sont|sera|è|sono|sarà|zijn|são)\b", re.I
)
_OPENS = re.compile(r"\b(?:open|closed|geöffnet|offen|geschlossen|abierto|cerrado|ouvert|fermé|aperto|chiuso)\w*", re.I)


def are_versions(asked: Asked, one: str, other: str) -> bool:
    """Return whether two sentences differ in nothing but the value that a question asks for."""
    first, second = _words(one), _words(other)
    changes = [
        (first[start:end], second[begin:finish])
        for kind, start, end, begin, finish in SequenceMatcher(None, first, second, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    if not changes or not all(before and after for before, after in changes):
        return False
    if not all(is_date_or_number(word) for change in changes for side in change for word in side):
        return False
    if Kind.WHEN in asked.kinds:
        return bool(_STATES.search(one)) and not _OPENS.search(one)
    return len(changes) == 1


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.casefold()) if word not in _NEWS]
