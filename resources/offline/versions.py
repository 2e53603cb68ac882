"""Whether two sentences say two values of one thing: "The meeting is on Monday", then "The meeting is on Friday".

Only the value may differ: two rooms with their prices, or two days with their opening times, are no versions.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from itertools import takewhile

from resources.offline.fitting import is_date_or_number
from resources.offline.lexicon import forms, word_lists
from resources.offline.questions import WORD, Asked, Kind

_FORMS = forms("versions")

_WORDS = word_lists("versions")
_NEWS = _WORDS["news"]
TELLS_CHANGE = _FORMS.tells_change


MOST_OF_STATE = 6
"""Words after "is" up to which a sentence says no more than a state."""


def are_states(asked: Asked, one: str, other: str) -> bool:
    """Return whether two sentences say two states of one thing: "The key is in the drawer", "The key is with Ana"."""
    first, second = _words(one), _words(other)
    common = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))]
    copula = max((place for place, word in enumerate(common) if _FORMS.states.fullmatch(word)), default=len(common))
    lengths = len(first), len(second)
    is_short = copula < len(common) < min(lengths) and max(lengths) - copula - 1 <= MOST_OF_STATE
    return is_short and Kind.WHERE in asked.kinds


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
        return bool(_FORMS.states.search(one)) and not _FORMS.opens.search(one)
    return len(changes) == 1


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.casefold()) if word not in _NEWS]
