"""Answers without a model: the sentences of the evidence that best match the question, quoted.

A sentence's score adds lexical overlap, weighted by how rare a word is in the evidence, similarity of meaning if there
is an embedder, and the rank of the evidence. The speaker's name counts as part of a sentence, because a question about
Ana is about what she said. What others wrote is left out where the owner speaks to the question, but not what other
people said: an answer says that it is theirs. ``prose`` defines sentences and words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.model import Evidence, Statement, Voice
from neurigraph_pipelines.ports import Embedder
from neurigraph_pipelines.text.languages import language_of_parts
from resources.offline.prose import Reader, sentences

MAX_STATEMENTS = 5
MAX_SENTENCES = 64
"""Most sentences that are embedded for one answer."""

QUOTED_CHARACTERS = 300
"""Messages up to this length are quoted whole."""

LEAST_OVERLAP = 0.2
"""Least weighted share of the question's words in a relevant sentence: with more, as many questions lose their answer
as are rightly left without one."""

LEAST_MEANING = 0.45
"""Cosine from which a sentence is relevant whatever its words."""

SPEAKS = 0.6
"""Share of the best match of others from which what the owner said speaks to the question: then others are left out."""

LEAST_SHARE = 0.5
"""Share of the best sentence's score that another sentence needs to be quoted, too."""

_QUESTION_WEIGHT = 0.4
_MEANING_WEIGHT = 1.0
_ORDER_WEIGHT = 1.0


@dataclass(slots=True)
class _Candidate:
    """A sentence with the stems of its words and of its speaker's name; ``evidence`` counts from 0."""

    evidence: int
    text: str
    stems: frozenset[str]
    overlap: float = 0.0
    meaning: float = 0.0
    score: float = 0.0

    @property
    def match(self) -> float:
        """How well the sentence matches the question, wherever the search placed it."""
        return self.overlap + _MEANING_WEIGHT * self.meaning


def answer(
    question: str, evidence: Sequence[Evidence], embedder: Embedder | None, language: str = "en"
) -> list[Statement]:
    """Return the best sentence of each piece of evidence that has a relevant one, best first."""
    reader = Reader(language_of_parts([question, *(one.text for one in evidence)]) or language)
    asked = _stems(reader, question)
    candidates = [
        _Candidate(number, text, _stems(reader, f"{one.speaker} {text}"))
        for number, one in enumerate(evidence)
        for text in sentences(one.text)
    ]
    spread = Counter(stem for candidate in candidates for stem in candidate.stems & asked)
    weights = {stem: math.log(1 + (len(candidates) + 1) / (spread[stem] + 0.5)) for stem in asked}
    total = sum(weights.values()) or 1.0
    for candidate in candidates:
        candidate.overlap = sum(weights[stem] for stem in candidate.stems & asked) / total
    candidates.sort(key=lambda candidate: (-candidate.overlap, candidate.evidence))
    del candidates[MAX_SENTENCES:]
    _add_meaning(question, candidates, embedder)
    relevant = [one for one in candidates if one.overlap >= LEAST_OVERLAP or one.meaning >= LEAST_MEANING]
    relevant = _without_others(relevant, evidence)
    for candidate in relevant:
        candidate.score = (candidate.match + _ORDER_WEIGHT * (1 - candidate.evidence / len(evidence))) * (
            _QUESTION_WEIGHT if candidate.text.rstrip(" \"')").endswith("?") else 1.0
        )
    best: dict[int, _Candidate] = {}
    for candidate in sorted(relevant, key=lambda one: -one.score):
        best.setdefault(candidate.evidence, candidate)
    chosen = [one for one in best.values() if one.score >= LEAST_SHARE * next(iter(best.values())).score]
    return [
        Statement(_quoted(evidence[one.evidence], one.text), (one.evidence + 1,)) for one in chosen[:MAX_STATEMENTS]
    ]


def _without_others(candidates: list[_Candidate], evidence: Sequence[Evidence]) -> list[_Candidate]:
    """Leave out what others than people said if the owner speaks to the question, too."""
    others = [one for one in candidates if _yields(evidence[one.evidence])]
    owners = [one for one in candidates if evidence[one.evidence].voice is Voice.OWNER]
    if not others or not owners or max(o.match for o in owners) < SPEAKS * max(o.match for o in others):
        return candidates
    return [one for one in candidates if not _yields(evidence[one.evidence])]


def _yields(one: Evidence) -> bool:
    return one.is_of_others and one.voice is not Voice.OTHER_PERSON


def _stems(reader: Reader, text: str) -> frozenset[str]:
    return frozenset(word.stem for word in reader.words(text) if not word.empty)


def _add_meaning(question: str, candidates: Sequence[_Candidate], embedder: Embedder | None) -> None:
    """Set each sentence's cosine to the question; without an embedder all stay 0."""
    if embedder is None or not candidates:
        return
    try:
        query = embedder.embed([question], kind="query")[0]
        vectors = embedder.embed([candidate.text for candidate in candidates])
    except NeurigraphError:
        return
    for candidate, meaning in zip(candidates, (vectors @ query).tolist(), strict=True):
        candidate.meaning = meaning


def _quoted(one: Evidence, sentence: str) -> str:
    """Quote a sentence with its speaker and day; a short message is quoted whole."""
    whole = " ".join(one.text.split())
    day = one.occurred_at
    return f"{one.speaker}, {day.day} {day:%B %Y}: {whole if len(whole) <= QUOTED_CHARACTERS else sentence}"
