"""How much a sentence says that is worth remembering: figures, dates, names, decisions, relations, corrections.

``Salience`` weighs the sentences of one conversation; ``summaries`` chooses by it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from neurigraph_pipelines.model import Role
from resources.offline.fixed_dates import MONTHS
from resources.offline.lexicon import english
from resources.offline.names import Names
from resources.offline.prose import Prose

_MONTH = rf"(?:{'|'.join(MONTHS)})"
_FIGURE = re.compile(r"(?<![\w.,])[^\w\s]?\d[\d.,:/-]*\d|(?<![\w.,])[^\w\s]?\d")
_AMOUNT = re.compile(
    r"[$€£¥]\s?\d|\d\s?(?:%|percent|euros?|dollars?|pounds?|francs?|pesos?|yen|kroner|shillings?|lakh|million|thousand|"
    r"kilos?|kg|g|mg|ml|km|m|cm|mm|miles?|hours?|minutes?|days?|weeks?|months?|years?|degrees?|grams?|litres?|pages?|"
    r"people|a month|each|per)\b",
    re.I,
)
_DAY = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)|{_MONTH}\s\d{{1,2}}|\d{{1,2}}\.?\s(?:of\s)?{_MONTH}|in\s{_MONTH}|in\s(?:19|20)\d\d|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|yesterday|today|tomorrow|tonight)\b",
    re.I,
)
_DONE = re.compile(
    r"\b(?:agreed|decided|signed|booked|bought|paid|ordered|promised|cancelled|moved|sold|chose|chosen|got|quit|"
    r"started|finished|married|hired|will|won't|going to|is due|starts?|ends?|costs?|owes?|earns?|takes? over|"
    r"works? (?:at|for|as))\b",
    re.I,
)
_CHANGED = re.compile(
    r"\b(?:now|instead|after all|no longer|in the end|not any ?more|anymore|put off|postponed|cancelled|is off|was off|"
    r"new (?:date|end date|plan)|correction|rather than|moved (?:to|it|the))\b",
    re.I,
)
_HEDGED = re.compile(r"\b(?:maybe|perhaps|might|would|could|should|if|suppose|hope|wish|guess|probably)\b", re.I)
_KIN = re.compile(r"\b(?:my|our|his|her|their|your|\w+['’]s)\s(?:\w+\s)?(?P<kin>\w+)", re.I)
_COUNTS = frozenset(
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty half both".split()
)
_OWN = frozenset(["i", "i'm", "i've", "i'll", "my", "we", "our"])
_YOU = frozenset(["you", "you're", "you've", "your", "you'll"])

MAX_RARE = 6
"""Most messages of a conversation with a word by which one sentence corrects another."""


class Salience:
    """Weighs the sentences of a conversation."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._lexicon = english()
        self._weights: dict[int, float] = {}
        self._named: Counter[int] = Counter()
        speakers = set(names.speakers.values())
        for one in (*names.persons, *names.projects, *names.others):
            if one.name not in speakers:
                self._named.update(one.sentences)
        self._messages_with = Counter(
            stem
            for sentences in prose.by_message.values()
            for stem in {word.stem for sentence in sentences for word in sentence.content}
        )
        said = Counter[bool]()
        for sentence in prose.sentences:
            said[prose.message(sentence).role is Role.ASSISTANT] += len(sentence.words)
        # Where an assistant wrote nearly all of it, such as a report, that is the content.
        self._aside = min(1.0, 2 * said[False] / max(1, said[True]))

    def weight(self, number: int) -> float:
        """Return the weight of a sentence, about 0 for small talk and 5 for a decision with a date and a sum."""
        if number not in self._weights:
            self._weights[number] = BASE + sum(WEIGHTS[name] * value for name, value in self.features(number).items())
        return self._weights[number]

    def of_unit(self, numbers: Sequence[int]) -> float:
        """Return the weight of several sentences together."""
        return sum(max(0.0, self.weight(number)) for number in numbers)

    def features(self, number: int) -> dict[str, float]:
        """Return what ``weight`` adds up."""
        sentence = self._prose.sentences[number]
        text = sentence.text
        lowers = [word.lower for word in sentence.words]
        message = self._prose.message(sentence)
        kin = any((match["kin"] or "").lower() in self._lexicon.relations for match in _KIN.finditer(text))
        theme = sum(
            math.log1p(self._messages_with[word.stem])
            for word in sentence.content
            if self._messages_with[word.stem] > 1
        )
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
            "own": not _OWN.isdisjoint(lowers),
            "praise": not _YOU.isdisjoint(lowers)
            and _OWN.isdisjoint(lowers)
            and not any(word[0].isdigit() for word in lowers),
            "theme": min(8.0, theme),
            "content": min(12, len(sentence.content)),
            "excited": text.rstrip().endswith("!"),
            "assistant": self._aside if message.role is Role.ASSISTANT else 0.0,
            "short": len(lowers) < 6,
        }

    def corrected(self) -> set[int]:
        """Return the sentences that a later one corrects: it says that a date or a sum about the same has changed."""
        found: set[int] = set()
        stated: dict[tuple[str, str], list[int]] = {}
        for number, sentence in enumerate(self._prose.sentences):
            measures = self._measures(number)
            if not measures:
                continue
            keys = [(word.stem, kind) for word in sentence.content if self._is_rare(word.stem) for kind in measures]
            if _CHANGED.search(sentence.text):
                found.update(earlier for key in keys for earlier in stated.get(key, ()))
            for key in keys:
                stated.setdefault(key, []).append(number)
        return found

    def _is_rare(self, stem: str) -> bool:
        return 1 < self._messages_with[stem] <= MAX_RARE

    def _measures(self, number: int) -> set[str]:
        text = self._prose.sentences[number].text
        found = {"day"} if _DAY.search(text) else set()
        return found | ({"amount"} if _AMOUNT.search(text) else set())


BASE = 0.6
"""Weight of a sentence without any of the features."""

WEIGHTS = {
    "figures": 1.0, "counts": 0.2, "amounts": 0.3, "days": 0.3, "names": 0.45, "done": 0.2, "changed": 0.8, "kin": 0.2,
    "hedged": -0.4, "own": 0.3, "praise": -0.4, "theme": 0.25, "content": 0.15, "excited": -0.6, "assistant": -0.9,
    "short": -0.3,
}  # fmt: skip
"""Weights of the features; their proportions follow a logistic regression over labelled conversations."""
