"""How people belong to organisations and to each other, as verbs state it: ``Ana works at Acme``.

``relations`` says who is meant, and reads what nouns state.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from resources.offline.written_names import NAME

MARRIED = "married to"
_VERBS = {
    "works at": r"work(?:s|ed|ing)?\s(?:at|for)|arbeite(?:t|te|n)?\s(?:bei|für)|trabaj(?:a|o|aba)\s(?:en|para)|"
    r"travaill(?:e|ait)\s(?:chez|pour)",
    "reports to": r"report(?:s|ed)?\s(?:directly\s)?to",
    "owns": r"own(?:s|ed)",
    "manages": r"manage[sd]",
    "founded": r"founded|gründete|fundó|a\sfondé",
    "teaches at": r"t(?:each(?:es)?|aught)\sat",
    "studies at": r"stud(?:y|ies|ied)\sat|studiert\san(?:\sder)?",
    "member of": r"(?:is|am|was)\sa\smember\sof|belongs?\sto|joined|ist\sMitglied\s(?:bei|im|der)|es\smiembro\sde",
    MARRIED: r"(?:(?:is|was|got)\s)?married(?:\sto)?",
}
_ADVERBS = r"(?:(?:now|still|also|currently|only|already|has|have|used\sto|who|che|qui|que)\s|['’](?:s|ve|m)\s){0,2}"
_TIE = re.compile(
    rf"(?P<who>{NAME}|\b(?:I|ich|yo)\b),?\s?{_ADVERBS}\b(?:"
    + "|".join(f"(?P<v{number}>{verb})" for number, verb in enumerate(_VERBS.values()))
    + rf")\s(?:(?:the|(?:my|our)(?:\s[a-z-]{{3,20}})?|der|dem|den|la|el|le)\s)?(?P<what>{NAME})"
)
_FIRST_PERSON = frozenset(["i", "ich", "yo"])
_HAS_VERB = re.compile(rf"\b(?=\w)(?:{'|'.join(_VERBS.values())})")


def ties_in(text: str) -> Iterator[tuple[str | None, str, str]]:
    """Yield who, the verb and what, as the text writes them; who is None for the speaker."""
    if not _HAS_VERB.search(text):
        return
    for match in _TIE.finditer(text):
        verb = next(name for number, name in enumerate(_VERBS) if match[f"v{number}"])
        yield None if match["who"].lower() in _FIRST_PERSON else match["who"], verb, match["what"]
