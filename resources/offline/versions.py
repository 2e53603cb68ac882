"""Whether two sentences say two values of one thing: "The meeting is on Monday", then "The meeting is on Friday".

Only the value may differ: two rooms with their prices, or two days with their opening times, are no versions.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from itertools import takewhile

from resources.offline.fitting import is_date_or_number
from resources.offline.lexicon import word_lists
from resources.offline.questions import WORD, Asked, Kind

_WORDS = word_lists("versions")
_NEWS = _WORDS["news"]
TELLS_CHANGE = re.compile(
    r"\b(?:instead|now|moved|changed|no longer|not any ?more|after all|postponed|cancel\w*|correction|upgraded|"
    r"switched|replaced|migrated|rescheduled|renamed|raised|lowered|from now on|"
    r"jetzt|nun|verschoben|stattdessen|nicht mehr|geändert|verlegt|umgestellt|gewechselt|abgesagt|"
    r"ahora|al final|retras\w+|ya no|aplaz\w+|cambi(?:ó|ado|amos|é)|mov(?:í|imos|ido)|"
    r"maintenant|finalement|désormais|reporté\w*|déplacé\w*|changé\w*|"
    r"ora|adesso|ormai|spostat[oaie]|rimandat[oaie]|cambiat[oaie]|non più|invece|nu|voortaan|verplaatst|verzet|"
    r"verschoven|gewijzigd|niet meer|agora|adiad[oa]|mudou|mudámos|mudei|mudad[oa]|já não)\b"
    r"|现在|改成|改到|改为|搬到|換成|今は|変更|になりました|移し|이제|변경|바뀌|바뀐|옮겼",
    re.I,
)
_STATES = re.compile(
    r"\b(?:is|are|will be|takes place|ist|sind|findet|liegt|es|son|está|están|será|est|sont|sera|è|sono|sarà|zijn|ligt|"
    r"é|são|fica)\b",
    re.I,
)
_OPENS = re.compile(r"\b(?:open|closed|geöffnet|offen|geschlossen|abierto|cerrado|ouvert|fermé|aperto|chiuso)\w*", re.I)


MOST_OF_STATE = 6
"""Words after "is" up to which a sentence says no more than a state."""


def are_states(asked: Asked, one: str, other: str) -> bool:
    """Return whether two sentences say two states of one thing: "The key is in the drawer", "The key is with Ana"."""
    first, second = _words(one), _words(other)
    common = [word for word, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))]
    copula = max((place for place, word in enumerate(common) if _STATES.fullmatch(word)), default=len(common))
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
        return bool(_STATES.search(one)) and not _OPENS.search(one)
    return len(changes) == 1


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.casefold()) if word not in _NEWS]
