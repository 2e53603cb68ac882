"""How much a sentence says that is worth remembering: figures, dates, names, decisions, corrections.

``Salience`` weighs the sentences of one conversation; ``summaries`` chooses by it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from neurigraph_pipelines.model import Role
from resources.offline.lexicon import forms, word_lists
from resources.offline.names import Names
from resources.offline.prose import Prose

_FORMS = forms("salience")

_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = re.compile(
    rf"\b(?=\w)(?:\d{{1,2}}(?:st|nd|rd|th)|{_MONTH}\s\d{{1,2}}|\d{{1,2}}\.?\s(?:of\s)?{_MONTH}|in\s{_MONTH}|in\s(?:19|20)\d\d|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|yesterday|today|tomorrow|tonight)\b",
    re.I,
)
_WORDS = word_lists("salience")
_DONE = _WORDS["done"]
_OWN = frozenset(["i", "i'm", "i've", "i'll", "my", "we", "our"])
_YOU = frozenset(["you", "you're", "you've", "your", "you'll"])

MAX_RARE = 6
"""Most messages of a conversation with a word by which one sentence corrects another."""


class Salience:
    """Weighs the sentences of a conversation."""

    def __init__(self, prose: Prose, names: Names) -> None:
        self._prose = prose
        self._measures: dict[int, tuple[int, int]] = {}
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
        """Return the parts that ``weight`` adds up."""
        sentence = self._prose.sentences[number]
        text, content = sentence.text, sentence.content
        lowers = [word.lower for word in sentence.words]
        words = set(lowers)
        is_own, has_digit = not _OWN.isdisjoint(words), any(word[0].isdigit() for word in lowers)
        days, amounts = self._measured(number)
        repeated = [count for word in content if (count := self._messages_with[word.stem]) > 1]
        return {
            "figures": min(3, len(_FORMS.figure.findall(text))) if has_digit else 0,
            "amounts": min(2, amounts),
            "days": min(2, days),
            "names": min(3, self._named[number]),
            "done": min(2, len(_DONE & words)),
            "changed": bool(_FORMS.changed.search(text)),
            "own": is_own,
            "praise": not (is_own or has_digit or _YOU.isdisjoint(words)),
            "theme": min(8.0, sum(map(math.log1p, repeated))),
            "content": min(12, len(content)),
            "excited": text.rstrip().endswith("!"),
            "assistant": self._aside if self._prose.message(sentence).role is Role.ASSISTANT else 0.0,
        }

    def corrected(self) -> set[int]:
        """Return the sentences that a later one corrects: it says that a date or a sum about the same has changed."""
        found: set[int] = set()
        stated: dict[tuple[str, str], list[int]] = {}
        for number, sentence in enumerate(self._prose.sentences):
            measures = [kind for kind, count in zip(("day", "amount"), self._measured(number), strict=True) if count]
            if not measures:
                continue
            keys = [(word.stem, kind) for word in sentence.content if self._is_rare(word.stem) for kind in measures]
            if _FORMS.changed.search(sentence.text):
                found.update(earlier for key in keys for earlier in stated.get(key, ()))
            for key in keys:
                stated.setdefault(key, []).append(number)
        return found

    def _is_rare(self, stem: str) -> bool:
        return 1 < self._messages_with[stem] <= MAX_RARE

    def _measured(self, number: int) -> tuple[int, int]:
        """Return how many days and sums a sentence names."""
        if number not in self._measures:
            text = self._prose.sentences[number].text
            amounts = len(_FORMS.amount.findall(text)) if _FORMS.digit.search(text) else 0
            self._measures[number] = len(_DAY.findall(text)), amounts
        return self._measures[number]


BASE = 0.6
"""Weight of a sentence without any of the features."""

WEIGHTS = {
    "figures": 1.0, "amounts": 0.3, "days": 0.3, "names": 0.45, "done": 0.2, "changed": 0.8, "own": 0.3,
    "praise": -0.4, "theme": 0.25, "content": 0.15, "excited": -0.6, "assistant": -0.9,
}  # fmt: skip
"""Weights of the features; their proportions follow a logistic regression over labelled conversations."""
