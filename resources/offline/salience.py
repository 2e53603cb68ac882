"""How much a sentence says that is worth remembering: figures, dates, names, decisions, relations, corrections.

``Salience`` weighs the sentences of one conversation; ``summaries`` chooses by it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from neurigraph_pipelines.model import Role
from resources.offline.fixed_dates import MONTHS
from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose, Sentence

_MONTH = rf"(?:{'|'.join(MONTHS)})"
_FIGURE = re.compile(r"(?<![\w.,])[^\w\s]?\d[\d.,:/-]*\d|(?<![\w.,])[^\w\s]?\d")
_AMOUNT = re.compile(
    r"[$€£¥]\s?\d|\d\s?(?:%|percent|euros?|dollars?|pounds?|francs?|pesos?|yen|kroner|shillings?|lakh|million|thousand|kilos?|"
    r"kg|g|mg|ml|km|m|cm|mm|miles?|hours?|minutes?|days?|weeks?|months?|years?|degrees?|grams?|litres?|pages?|people|a month|"
    r"each|per)\b",
    re.I,
)
_DAY = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)|{_MONTH}\s\d{{1,2}}|\d{{1,2}}\.?\s(?:of\s)?{_MONTH}|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|"
    rf"yesterday|today|tomorrow|tonight|in\s{_MONTH}|in\s(?:19|20)\d\d)\b",
    re.I,
)
_DONE = re.compile(
    r"\b(?:agreed|decided|signed|booked|bought|paid|ordered|promised|cancelled|moved|sold|chose|chosen|got|quit|started|"
    r"finished|married|hired|will|won't|going to|is due|starts?|ends?|costs?|owes?|earns?|takes? over|works? (?:at|for|as))\b",
    re.I,
)
_CHANGED = re.compile(
    r"\b(?:now|instead|after all|no longer|in the end|not any ?more|anymore|put off|postponed|cancelled|is off|was off|"
    r"new (?:date|end date|plan)|correction|rather than|moved (?:to|it|the))\b",
    re.I,
)
_HEDGED = re.compile(r"\b(?:maybe|perhaps|might|would|could|should|if|suppose|hope|wish|guess|probably)\b", re.I)
_KIN = re.compile(r"\b(?:my|our|his|her|their|your|\w+['’]s)\s(?:\w+\s)?(?P<kin>\w+)", re.I)
_COUNTS = frozenset("two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty half both".split())


class Salience:
    """Weighs the sentences of a conversation."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._lexicon = english()
        self._named: Counter[int] = Counter()
        speakers = set(names.speakers.values())
        for one in (*names.persons, *names.projects, *names.others):
            if one.name not in speakers:
                self._named.update(one.sentences)
        self._stems = Counter(
            stem
            for sentences in prose.by_message.values()
            for stem in {word.stem for sentence in sentences for word in sentence.content}
        )
        self._messages = max(1, len(prose.by_message))

    def weight(self, number: int) -> float:
        """Return the weight of a sentence, about 0 for small talk and 5 for a decision with a date and a sum."""
        features = self.features(number)
        return sum(WEIGHTS[name] * value for name, value in features.items())

    def unit(self, numbers: Sequence[int]) -> float:
        """Return the weight of several sentences together."""
        return sum(max(0.0, self.weight(number)) for number in numbers)

    def features(self, number: int) -> dict[str, float]:
        """Return what ``weight`` adds up."""
        sentence = self._prose.sentences[number]
        text = sentence.text
        lowers = [word.lower for word in sentence.words]
        message = self._prose.message(sentence)
        kin = any((match["kin"] or "").lower() in self._lexicon.relations for match in _KIN.finditer(text))
        theme = sum(math.log1p(self._stems[word.stem]) for word in sentence.content if self._stems[word.stem] > 1)
        return {
            "figures": min(3, len(_FIGURE.findall(text))),
            "counts": min(2, sum(word in _COUNTS for word in lowers)),
            "amounts": min(2, len(_AMOUNT.findall(text))),
            "days": min(2, len(_DAY.findall(text))),
            "names": min(3, self._named[number]),
            "done": min(2, len(_DONE.findall(text))),
            "changed": bool(_CHANGED.search(text)),
            "kin": kin,
            "hedged": min(2, len(_HEDGED.findall(text))),
            "own": not {"i", "i'm", "i've", "i'll", "my", "we"}.isdisjoint(lowers),
            "theme": min(8.0, theme),
            "content": min(12, len(sentence.content)),
            "excited": text.rstrip().endswith("!"),
            "assistant": message.role is Role.ASSISTANT,
            "short": len(lowers) < 6,
            "long": len(lowers) > 25,
        }

    def corrected(self, candidates: Iterable[int]) -> set[int]:
        """Return the sentences that a later one corrects: it says that a date or figure about the same has changed."""
        found: set[int] = set()
        marked = [n for n in candidates if _CHANGED.search(self._prose.sentences[n].text) and self._measures(n)]
        for later in marked:
            stems = self._rare(self._prose.sentences[later])
            for earlier in range(later):
                shared = stems & self._rare(self._prose.sentences[earlier])
                if shared and self._measures(earlier) & self._measures(later) and len(shared) >= 1:
                    found.add(earlier)
        return found

    def _rare(self, sentence: Sentence) -> set[str]:
        return {word.stem for word in sentence.content if 1 < self._stems[word.stem] <= max(6, self._messages // 6)}

    def _measures(self, number: int) -> set[str]:
        text = self._prose.sentences[number].text
        found = {"day"} if _DAY.search(text) else set()
        return found | ({"amount"} if _AMOUNT.search(text) else set())


WEIGHTS = {
    "figures": 1.0, "counts": 0.2, "amounts": 0.3, "days": 0.3, "names": 0.45, "done": 0.2, "changed": 0.8, "kin": 0.2,
    "hedged": -0.4, "own": 0.1, "theme": 0.25, "content": 0.15, "excited": -0.6, "assistant": -0.9, "short": -0.3,
    "long": 0.0,
}  # fmt: skip
"""Weights of the features; their proportions follow a logistic regression over labelled conversations."""
