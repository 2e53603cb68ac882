"""Answers without a model: the sentences of the evidence that answer the question, quoted.

``questions`` reads what kind of answer is wanted, and ``fitting`` whether a sentence has it. A sentence is judged by
that, by the words that it shares with the question together with its neighbours, by meaning if there is an embedder, by
who says it and when. Nothing is quoted if no sentence has what is asked for beside what it is asked about. What others
wrote is left out where the owner speaks to the question, but not what other people said: an answer says that it is
theirs.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.model import Evidence, Statement, Voice
from neurigraph_pipelines.ports import Embedder
from neurigraph_pipelines.text.languages import language_of_parts
from resources.offline import questions
from resources.offline.dated_quotes import dated
from resources.offline.fitting import fit, names_in, uncapitalised, values
from resources.offline.prose import sentences
from resources.offline.questions import Asked, Trust, Words

MAX_STATEMENTS = 4
MAX_SENTENCES = 40
"""Most sentences that are embedded for one answer."""

QUOTED_CHARACTERS = 300
"""Messages up to this length are quoted whole."""

OWN_WORDS, NEAR_WORDS, FIT, IN_PLACE, MEANING, ORDER = 3.0, 1.5, 2.5, 1.0, 3.0, 2.7
LATE, WRONG_SUBJECT, ASKS, OF_ASSISTANT = 1.3, -0.9, -2.4, -1.0
"""What a sentence's score is made of, in logits: fitted to LoCoMo and the development half of the labelled
conversations, each conversation judged by weights fitted to the others."""

CLOSE = 3.5
"""How far below the best sentence another one is quoted, too, in logits."""

SUPPORT = {Trust.STRICT: 0.35, Trust.LOOSE: 0.15, Trust.NONE: 0.2}
"""Least support of an answer by how surely a sentence shows that it is one: more unanswerable questions would be
declined with more, and more answers lost."""

SUPPORT_OF_MEANING, SUPPORT_OF_WRONG_SUBJECT = 0.3, 0.5

OF_TITLE = 0.5
"""How much a word of the question counts that only stands in the title."""

SPEAKS = 0.6
"""Share of the best match of others from which what the owner said speaks to the question: then others are left out."""

SAME = 0.6
"""Share of the question's words that two sentences have in common if one replaces the other."""

REPEATED = 0.6
"""Share of a sentence that stands in another one from which it only repeats it."""

_FIRST_PERSON = re.compile(
    r"\b(?:i|my|me|mine|we|our|us|ich|mein\w*|mir|mich|wir|uns\w*|yo|mi|mis|me|nos\w*|je|mon|ma|mes|nous)\b", re.I
)
_SECOND_PERSON = re.compile(r"\b(?:you|yours?|du|dein\w*|dir|dich|ihr|tú|tus?|te|vous|votre|toi)\b", re.I)
_CHANGE = re.compile(
    r"\b(?:instead|now|moved|changed|no longer|not any ?more|after all|postponed|cancel\w*|correction|"
    r"jetzt|verschoben|stattdessen|nicht mehr|ahora|al final|retras\w+|ya no|finalement|désormais|reporté\w*)\b",
    re.I,
)
_CLAUSES = re.compile(r"(?<=[.!?])\s+")


@dataclass(slots=True)
class _Candidate:
    """A sentence of ``evidence``, which counts from 0, judged.

    Attributes:
        said: Lexemes of the sentence and of its speaker's name.
        near: These, and those of the sentences beside it and of the question that it replies to.
        title: Lexemes of its record's title.
        own, around: Weighted shares of the question's words in ``said``, and in ``near`` and the title.
        fit: How well it has the kind of answer that is asked for.
        proof: The same where all that is asked for can be checked; otherwise 1.
        is_foreign: Whether it speaks of somebody else than the question.
    """

    evidence: int
    text: str
    said: frozenset[str]
    near: frozenset[str]
    title: frozenset[str]
    own: float = 0.0
    around: float = 0.0
    fit: float = 0.0
    proof: float = 0.0
    meaning: float = 0.0
    is_foreign: bool = False
    score: float = 0.0

    @property
    def is_question(self) -> bool:
        return self.text.rstrip(" \"'”»)").endswith("?")

    @property
    def match(self) -> float:
        """How well the sentence matches the question, wherever the search placed it."""
        return (self.own + self.around) / 2 + SUPPORT_OF_MEANING * self.meaning

    @property
    def support(self) -> float:
        """How sure it is that the sentence answers the question at all."""
        if self.is_question:
            return 0.0
        return self.proof * self.match * (SUPPORT_OF_WRONG_SUBJECT if self.is_foreign else 1.0)


def answer(
    question: str, evidence: Sequence[Evidence], embedder: Embedder | None, language: str = "en"
) -> list[Statement]:
    """Return the best sentences, each of another piece of evidence, best first; none if nothing answers."""
    language = language_of_parts([question, *(one.text for one in evidence)]) or language
    words = questions.words_of(language)
    asked = questions.read(question, words)
    candidates = _judged(asked, evidence, words)
    _add_meaning(question, candidates, evidence, embedder)
    if max((one.support for one in candidates), default=0.0) < SUPPORT[asked.trust]:
        return []
    candidates = _without_others(candidates, evidence)
    _score(candidates, evidence)
    best: dict[int, _Candidate] = {}
    for candidate in sorted(candidates, key=lambda one: -one.score):
        best.setdefault(candidate.evidence, candidate)
    first = next(iter(best.values())).score
    close = [one for one in best.values() if one.score >= first - CLOSE and (one.own or one.around or one.meaning)]
    if asked.trust is Trust.NONE:  # an open question, which no single memory answers
        close = _varied(close, evidence)
    chosen = _without_repetition(close)[:MAX_STATEMENTS]
    return list(_stated(asked, chosen, evidence, language))


def _judged(asked: Asked, evidence: Sequence[Evidence], words: Words) -> list[_Candidate]:
    """Return the sentences that share most with the question."""
    speakers = {one.speaker: frozenset(words.lexemes(one.speaker)) for one in evidence}
    ordinary = frozenset().union(*(uncapitalised(one.text) for one in evidence))
    capitalised = (names_in(one.text, words, ordinary) for one in evidence)
    people = words.first_names.union(*speakers.values(), *capitalised)
    subjects = frozenset(name for name, lexemes in speakers.items() if lexemes & asked.anchors)
    named = frozenset().union(*(speakers[name] for name in subjects)) & asked.anchors
    found = [
        candidate
        for number, one in enumerate(evidence)
        for candidate in _sentences(number, one, speakers[one.speaker], words)
    ]
    _add_families(asked, found)
    for one in found:
        spoken = evidence[one.evidence]
        if spoken.speaker not in subjects and _SECOND_PERSON.search(one.text):
            one.said |= named
            one.near |= named
        one.is_foreign = bool(_FIRST_PERSON.search(one.text)) and _is_foreign(one, asked, spoken.speaker, subjects)
    spread = Counter(lexeme for one in found for lexeme in one.said & asked.anchors)
    weights = {lexeme: math.log(1 + (len(found) + 1) / (spread[lexeme] + 0.5)) for lexeme in asked.anchors}
    total = sum(weights.values()) or 1.0
    for one in found:
        one.own = sum(weights[lexeme] for lexeme in one.said & asked.anchors) / total
        one.around = sum(weights[lexeme] for lexeme in one.near & asked.anchors) / total
        one.around += OF_TITLE * sum(weights[lexeme] for lexeme in (one.title - one.near) & asked.anchors) / total
        one.fit = fit(asked, one.text, words, people)
        one.proof = 1.0 if asked.trust is Trust.NONE else one.fit
    found.sort(key=lambda one: (-one.own - one.around - one.fit / 2, one.evidence))
    return found[:MAX_SENTENCES]


def _sentences(number: int, one: Evidence, speaker: frozenset[str], words: Words) -> Iterator[_Candidate]:
    """Yield the sentences of a message with their neighbours; the question before it is beside the first two."""
    replied = one.before.rstrip()
    asked = _CLAUSES.split(replied)[-1] if replied.endswith("?") else ""
    beside, title = frozenset(words.lexemes(asked)), frozenset(words.lexemes(one.title))
    texts = list(sentences(one.text))
    read = [frozenset(words.lexemes(text)) for text in texts]
    for place, text in enumerate(texts):
        near = read[place].union(speaker, *read[max(0, place - 1) : place + 2], beside if place < 2 else ())
        yield _Candidate(number, text, read[place] | speaker, near, title)


def _add_families(asked: Asked, found: Sequence[_Candidate]) -> None:
    """Let words of the family of a question's word count as that word."""
    kin = questions.families(asked.anchors, frozenset().union(*(one.near | one.title for one in found)))

    def known(lexemes: frozenset[str]) -> frozenset[str]:
        return lexemes.union(*(kin[lexeme] for lexeme in lexemes & kin.keys()))

    for one in found:
        one.said, one.near, one.title = known(one.said), known(one.near), known(one.title)


def _is_foreign(one: _Candidate, asked: Asked, speaker: str, subjects: frozenset[str]) -> bool:
    """Return whether a sentence in the first person is of somebody else than the question names."""
    if subjects:
        return speaker not in subjects and not one.said & asked.names
    return bool(asked.subjects) and not one.said & asked.subjects


def _add_meaning(
    question: str, candidates: Sequence[_Candidate], evidence: Sequence[Evidence], embedder: Embedder | None
) -> None:
    """Set each sentence's cosine to the question; without an embedder all stay 0."""
    if embedder is None or not candidates:
        return
    try:
        query = embedder.embed([question], kind="query")[0]
        vectors = embedder.embed([f"{evidence[one.evidence].speaker}: {one.text}" for one in candidates])
    except NeurigraphError:
        return
    for candidate, meaning in zip(candidates, (vectors @ query).tolist(), strict=True):
        candidate.meaning = max(0.0, meaning)


def _score(candidates: Sequence[_Candidate], evidence: Sequence[Evidence]) -> None:
    times = sorted({one.occurred_at for one in evidence})
    lateness = {time: place / max(1, len(times) - 1) for place, time in enumerate(times)}
    for one in candidates:
        spoken = evidence[one.evidence]
        one.score = (
            OWN_WORDS * one.own
            + NEAR_WORDS * (one.around - one.own)
            + FIT * one.fit
            + IN_PLACE * one.fit * one.around
            + MEANING * one.meaning
            + ORDER * (1 - one.evidence / len(evidence))
            + LATE * lateness[spoken.occurred_at]
            + WRONG_SUBJECT * one.is_foreign
            + ASKS * one.is_question
            + OF_ASSISTANT * (spoken.voice is Voice.ASSISTANT)
        )


def _without_others(candidates: list[_Candidate], evidence: Sequence[Evidence]) -> list[_Candidate]:
    """Leave out what others than people said if the owner speaks to the question, too."""
    others = [one for one in candidates if _yields(evidence[one.evidence])]
    owners = [one for one in candidates if evidence[one.evidence].voice is Voice.OWNER]
    if not others or not owners or max(o.match for o in owners) < SPEAKS * max(o.match for o in others):
        return candidates
    return [one for one in candidates if not _yields(evidence[one.evidence])]


def _yields(one: Evidence) -> bool:
    return one.is_of_others and one.voice is not Voice.OTHER_PERSON


def _varied(candidates: Sequence[_Candidate], evidence: Sequence[Evidence]) -> list[_Candidate]:
    """Return the best sentence of each memory before the second best of any."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, _Candidate]] = []
    for one in candidates:
        title = evidence[one.evidence].title
        turns.append((seen[title], len(turns), one))
        seen[title] += 1
    return [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]


def _without_repetition(candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """Leave out sentences that say little more than a better one."""
    kept: list[_Candidate] = []
    for one in candidates:
        if not any(_repeats(one.text, other.text) for other in kept):
            kept.append(one)
    return kept


def _repeats(text: str, other: str) -> bool:
    short, long = sorted((" ".join(text.casefold().split()), " ".join(other.casefold().split())), key=len)
    return short in long and len(short) >= REPEATED * len(long)


def _stated(asked: Asked, chosen: list[_Candidate], evidence: Sequence[Evidence], language: str) -> Iterator[Statement]:
    """Yield the statements; where the first one is replaced, the latest comes first and the others are of before."""
    same = [chosen[0], *(one for one in chosen[1:] if _replaces(asked, one, chosen[0], evidence))]
    latest = max(same, key=lambda one: evidence[one.evidence].occurred_at)
    yield _statement(latest, evidence, language)
    for one in same:
        if one is not latest:
            yield replace(_statement(one, evidence, language), is_superseded=True)
    yield from (_statement(one, evidence, language) for one in chosen if one not in same)


def _replaces(asked: Asked, one: _Candidate, other: _Candidate, evidence: Sequence[Evidence]) -> bool:
    """Return whether one of two sentences says another value of the same thing on a later day."""
    words, others = one.near & asked.anchors, other.near & asked.anchors
    earlier, later = sorted((evidence[one.evidence], evidence[other.evidence]), key=lambda said: said.occurred_at)
    texts = (_shown(evidence[one.evidence], one.text), _shown(evidence[other.evidence], other.text))
    found = [values(asked, text) for text in texts]
    return (
        earlier.occurred_at.date() != later.occurred_at.date()
        and all(found)
        and found[0].isdisjoint(found[1])
        and not asked.is_past
        and min(one.fit, other.fit) > 0
        and not (one.is_question or other.is_question)
        and bool(_CHANGE.search(later.text))
        and len(words & others) >= SAME * max(1, len(words | others))
    )


def _statement(one: _Candidate, evidence: Sequence[Evidence], language: str) -> Statement:
    """Quote a sentence with its speaker and day, and with the days that its relative dates mean."""
    said = evidence[one.evidence]
    quote = dated(_shown(said, one.text), said.occurred_at, language, said.before)
    return Statement(f"{said.speaker}, {said.occurred_at.day} {said.occurred_at:%B %Y}: {quote}", (one.evidence + 1,))


def _shown(one: Evidence, sentence: str) -> str:
    """Return the whole of a short message, or the sentence."""
    whole = " ".join(one.text.split())
    return whole if len(whole) <= QUOTED_CHARACTERS else sentence
