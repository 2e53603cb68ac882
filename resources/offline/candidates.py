"""Sentences that may answer a question, and the reasons for each of them.

``answers`` chooses among them. Linear in the length of the passages.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from neurigraph_pipelines.model import Quotable, Voice
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Embedder
from resources.offline import questions
from resources.offline.fitting import fit, names_in, sets_date, uncapitalised
from resources.offline.lexicon import forms
from resources.offline.oneself import said_in_other_words, says_another, tells_deed
from resources.offline.prose import sentences
from resources.offline.questions import LISTS, Asked, Kind, Trust, Words
from resources.offline.whose import Others, is_of_asker, speaks_first, speaks_of_oneself, tells_of_itself

MAX_SENTENCES = 40
"""Most sentences that are embedded for one answer."""

SHORT = 8
"""A sentence of fewer words is embedded with the one before it."""

OF_TITLE = 0.5
"""How much a word of the question counts that only stands in the title."""

OF_PURITY = 0.3
"""How much the purity of a clause counts beside its share of the question's words."""

LEAST_CONTENT = 3
"""Letters of a word by which a clause may speak of something else."""

FRAGMENT = 4
"""A sentence of fewer words says nothing of its own subject: that stands in the sentence before it."""

USUAL_RELATION = 0.4
"""The usual cosine of an answer without names, which is taken for each where there is no embedder."""

RELATED = 6
"""Most sentences that are embedded without names."""

DEED = 0.9
"""How well the day or the speaker of a message that tells a deed fits a question for its time or its doer."""

_ANYBODY = "someone"

_FORMS = forms("candidates", anybody=_ANYBODY)
_SEVERAL = re.compile(rf",? (?:and|und|y|et) (?=(?:{'|'.join(' '.join(LISTS['asking'].values()).split())})\b)")
_CLAUSE_ENDS = re.compile(rf"[,;:](?!\d)\s*|\s[–-]\s|\b(?:{questions.any_of(LISTS['grammar']['joining'])})\b")
SUPPORT_OF_MEANING = 0.3

PROOF, CLAUSE, PURITY, OWN, AROUND, RELATION, PLACE = 0.5, 1.0, 1.2, 1.0, 0.9, 2.5, 1.1
"""What speaks for an amount, a count, a measure, a name or a number as the answer, in logits.

Fitted by logistic regression to the best sentence of each such question of the development half of the labelled
conversations: those that can be answered, the same without the sentences that hold the answer, and those that cannot.
Each conversation was judged by weights fitted to the others, then they were rounded.
"""

LEAST = 3.65
"""Least sum of these: more unanswerable questions would be declined with more, and more answers lost."""

SUPPORT_OF_PLACE, SUPPORT_OF_ANYTHING = 0.15, 0.25
"""Least fit times match for a time, a person or a place, and for what cannot be checked. The sum above gains nothing
there."""


def judged(question: str, asked: Asked, quotable: Sequence[Quotable], words: Words) -> list[Candidate]:
    """Return the sentences that share most with the question, without those that are about somebody else."""
    speakers = {one.speaker: frozenset(words.lexemes(one.speaker)) for one in quotable}
    ordinary = frozenset().union(*(uncapitalised(one.text) for one in quotable))
    capitalised = (names_in(one.text, words, ordinary) for one in quotable)
    people = words.first_names.union(*speakers.values(), *capitalised)
    found = [
        candidate
        for number, one in enumerate(quotable)
        for candidate in _candidates(number, one, speakers[one.speaker], words)
    ]
    askers = frozenset().union(*(speakers[one.speaker] for one in quotable if one.voice is Voice.OWNER))
    others = Others(question, asked, [f"{one.speaker}: {one.text}" for one in quotable], words, askers)
    found = [one for one in _without_others(found, others) if not says_another(question, one.text)]
    for one in found:
        if not asked.subjects <= one.near | one.title:
            continue
        implied = asked.anchors.intersection(*[words.lexemes(" ".join(said_in_other_words(question, one.text)))])
        one.said |= implied
        one.near |= implied
    kin = _add_families(asked, found)
    found = _of_subject(asked, found, quotable, speakers)
    spread = Counter(lexeme for one in found for lexeme in one.said & asked.anchors)
    weights = {lexeme: math.log(1 + (len(found) + 1) / (spread[lexeme] + 0.5)) for lexeme in asked.anchors}
    total = sum(weights.values()) or 1.0
    total_of_rest = sum(weights[lexeme] for lexeme in asked.rest) or 1.0
    for one in found:
        one.own = sum(weights[lexeme] for lexeme in one.said & asked.anchors) / total
        one.around = sum(weights[lexeme] for lexeme in one.near & asked.anchors) / total
        one.around += OF_TITLE * sum(weights[lexeme] for lexeme in (one.title - one.near) & asked.anchors) / total
        one.rest = sum(weights[lexeme] for lexeme in (one.near | one.title) & asked.rest) / total_of_rest
        one.place = 1 - one.number / len(quotable)
        one.fit = fit(asked, one.text, words, people)
        if not one.fit and Kind.WHEN in asked.kinds and _is_told_by_subject(question, asked, one, quotable, words):
            one.fit = DEED
        if not one.fit and Kind.WHO in asked.kinds and asked.anchors <= one.said and speaks_first(one.text):
            one.fit = DEED
        one.sets_date = sets_date(asked, one.text)
        one.proof = 1.0 if asked.trust is Trust.NONE else one.fit
    found.sort(key=lambda one: (-one.own - one.around - one.fit / 2, one.number))
    found = found[:MAX_SENTENCES]
    for one in found if asked.trust is Trust.STRICT else ():
        if one.fit and not one.is_question:
            _judge_clauses(one, asked, words, people, kin, weights)
    return found


def _without_others(found: Sequence[Candidate], others: Others) -> Iterator[Candidate]:
    """Yield the sentences that are about nobody else; a fragment is about whom the sentence before it is about."""
    left_out = -1
    for one in found:
        is_continued = left_out == one.number and len(one.text.split()) < FRAGMENT
        if is_continued or others.are_subject(one.text, one.near):
            left_out = one.number
        else:
            left_out = -1
            yield one


def _of_subject(
    asked: Asked,
    found: Sequence[Candidate],
    quotable: Sequence[Quotable],
    speakers: Mapping[str, frozenset[str]],
) -> list[Candidate]:
    """Set which sentences are about somebody else, and leave out an assistant's words about itself."""
    kept: list[Candidate] = []
    subjects = frozenset(name for name, lexemes in speakers.items() if lexemes & asked.anchors)
    named = frozenset().union(*(speakers[name] for name in subjects)) & asked.anchors
    of_asker = is_of_asker(asked)
    for one in found:
        spoken = quotable[one.number]
        if spoken.speaker not in subjects and _FORMS.second_person.search(one.text):
            one.said |= named
            one.near |= named
            one.understood |= named
        is_of_itself = spoken.voice is Voice.ASSISTANT and tells_of_itself(one.text)
        if (of_asker or asked.is_own) and is_of_itself and not _FORMS.second_person.search(one.text):
            continue
        is_foreign = _is_foreign(one, asked, spoken.speaker, subjects) or (asked.is_own and spoken.is_of_others)
        is_foreign = is_foreign or (of_asker and spoken.is_of_others and speaks_of_oneself(one.text))
        one.is_foreign = is_foreign and bool(_FORMS.first_person.search(one.text))
        one.is_of_other = one.is_foreign and bool(subjects)
        kept.append(one)
    return kept


def _is_told_by_subject(
    question: str, asked: Asked, one: Candidate, quotable: Sequence[Quotable], words: Words
) -> bool:
    """Return whether the person asked about tells that they did it, so that the message's day says when."""
    spoken = quotable[one.number]
    is_english = " when " in f" {asked.text} "
    is_asker = spoken.voice in (None, Voice.OWNER) and (asked.is_own or not is_english)
    is_subject = is_asker or not asked.subjects.isdisjoint(words.lexemes(spoken.speaker))
    return is_subject and tells_deed(question, one.text, asked.anchors, one.said, words)


def _judge_clauses(
    one: Candidate,
    asked: Asked,
    words: Words,
    people: frozenset[str],
    kin: Mapping[str, frozenset[str]],
    weights: Mapping[str, float],
) -> None:
    """Find the clause that has the kind of answer beside most of the question's words."""
    clauses = [clause for clause in _CLAUSE_ENDS.split(one.text) if fit(asked, clause, words, people)] or [one.text]
    total = sum(weights.values()) or 1.0
    for clause in clauses:
        lexemes = words.lexemes(clause)
        known = (
            one.understood.union(words.found_by(clause), *(kin[lexeme] for lexeme in kin.keys() & lexemes))
            & asked.anchors
        )
        content = [lexeme for lexeme in lexemes if len(lexeme) >= LEAST_CONTENT and not lexeme[0].isdigit()]
        asked_about = sum(lexeme in asked.anchors or lexeme in kin for lexeme in content)
        share, purity = sum(weights[lexeme] for lexeme in known) / total, (asked_about + 0.5) / (len(content) + 1)
        if share + OF_PURITY * purity > one.clause + OF_PURITY * one.purity:
            one.clause, one.purity = share, purity


def _candidates(number: int, one: Quotable, speaker: frozenset[str], words: Words) -> Iterator[Candidate]:
    """Yield the sentences of a message with their neighbours; the question before it is beside the first two."""
    replied = one.before.rstrip()
    asked = _FORMS.sentence_ends.split(replied)[-1] if replied.endswith(questions.ASKS) else ""
    beside, title = words.found_by(asked), words.found_by(one.title)
    texts = list(sentences(one.text))
    read = [words.found_by(text) for text in texts]
    for place, text in enumerate(texts):
        is_fragment = place > 0 and len(text.split()) < FRAGMENT
        replies = place < 2 and not is_fragment
        near = read[place].union(speaker, *read[max(0, place - 1) : place + 2 - is_fragment], beside if replies else ())
        context = asked if asked and place < 2 else texts[place - 1] if place and len(text.split()) < SHORT else ""
        understood = speaker | beside if replies else speaker
        yield Candidate(number, text, read[place] | speaker, near, title, context, understood)


def _add_families(asked: Asked, found: Sequence[Candidate]) -> dict[str, frozenset[str]]:
    """Let words of the family of a question's word count as that word, and return them."""
    kin = questions.families(asked.anchors, frozenset().union(*(one.near | one.title for one in found)))

    def known(lexemes: frozenset[str]) -> frozenset[str]:
        return lexemes.union(*(kin[lexeme] for lexeme in lexemes & kin.keys()))

    for one in found:
        one.said, one.near, one.title = known(one.said), known(one.near), known(one.title)
    return kin


def _is_foreign(one: Candidate, asked: Asked, speaker: str, subjects: frozenset[str]) -> bool:
    """Return whether a sentence in the first person is of somebody else than the question names."""
    if subjects:
        return speaker not in subjects and not one.said & asked.names
    return bool(asked.subjects) and not one.said & asked.subjects


def add_meaning(
    question: str, candidates: Sequence[Candidate], quotable: Sequence[Quotable], embedder: Embedder | None
) -> None:
    """Set each sentence's cosine to the question; without an embedder all stay 0."""
    if embedder is None or not candidates:
        return
    try:
        query = embedder.embed([question], kind="query")[0]
        vectors = embedder.embed(
            [f"{one.context} {quotable[one.number].speaker}: {one.text}".lstrip() for one in candidates]
        )
    except NeurigraphError:
        return
    for candidate, meaning in zip(candidates, (vectors @ query).tolist(), strict=True):
        candidate.meaning = max(0.0, meaning)


def add_relation(
    question: str,
    asked: Asked,
    candidates: Sequence[Candidate],
    quotable: Sequence[Quotable],
    words: Words,
    embedder: Embedder | None,
) -> list[Candidate]:
    """Set the relation of the best of those that may support an answer, and return them, best first."""
    best = sorted((one for one in candidates if one.may_support), key=lambda one: -one.score)[:RELATED]
    relations = [USUAL_RELATION] * len(best)
    if embedder is not None and best:
        speakers = (lexeme for one in quotable for lexeme in words.lexemes(one.speaker))
        names = asked.names if words.has_names else asked.names & words.first_names.union(speakers)
        parts = list(dict.fromkeys((question, *_SEVERAL.split(question))))
        texts = [*parts, *(f"{one.context} {one.text}".lstrip() for one in best)]
        with suppress(NeurigraphError):
            vectors = embedder.embed([_nameless(text, names, words) for text in texts])
            relations = (vectors[len(parts) :] @ vectors[: len(parts)].T).max(axis=1).tolist()
    for one, relation in zip(best, relations, strict=True):
        one.relation = relation
    return best


def _nameless(text: str, names: frozenset[str], words: Words) -> str:
    """Put a word for anybody in the place of each name."""
    hidden = _FORMS.capitalised.sub(
        lambda name: _ANYBODY if names.intersection(words.lexemes(name[0])) else name[0], text
    )
    return _FORMS.twice.sub(_ANYBODY, hidden)


@dataclass(slots=True)
class Candidate:
    """A sentence of the passage ``number``, which counts from 0, judged.

    Attributes:
        said: Lexemes of the sentence and of its speaker's name.
        near: These, and those of the sentences beside it and of the question that it replies to.
        title: Lexemes of its record's title.
        context: The text embedded with it: the question that it replies to, or the sentence before a short one.
        own, around: Weighted shares of the question's words in ``said``, and in ``near`` and the title.
        fit: How well it has the kind of answer that is asked for.
        proof: The same where all that is asked for can be checked; otherwise 1.
        clause: The share of the question's words in the clause that has it.
        purity: How much of that clause the question speaks of.
        understood: Lexemes of its speaker, of whom it speaks to, and of the question that it replies to.
        rest: The share of the question's ``rest`` in ``near`` and the title.
        place: 1 for the first passage of the search, near 0 for the last.
        meaning: Its cosine to the question.
        relation: The same where both have no names: whether it says what is asked, of whomever.
        is_foreign: Whether it speaks of somebody else than the question.
        sets_date: Whether it says that it gives the date that is asked for.
        is_of_other: The same, where the question is about somebody who speaks, too.
    """

    number: int
    text: str
    said: frozenset[str]
    near: frozenset[str]
    title: frozenset[str]
    context: str
    understood: frozenset[str]
    own: float = 0.0
    around: float = 0.0
    fit: float = 0.0
    proof: float = 0.0
    clause: float = 0.0
    purity: float = 0.0
    place: float = 0.0
    meaning: float = 0.0
    rest: float = 0.0
    relation: float = 0.0
    is_foreign: bool = False
    is_of_other: bool = False
    sets_date: bool = False
    score: float = 0.0

    @property
    def is_question(self) -> bool:
        """Whether it asks."""
        return self.text.rstrip(" \"'”»)").endswith(questions.ASKS)

    @property
    def match(self) -> float:
        """How well the sentence matches the question, wherever the search placed it."""
        return (self.own + self.around) / 2 + SUPPORT_OF_MEANING * self.meaning

    @property
    def may_support(self) -> bool:
        """Whether it has the kind of answer, and is of nobody else."""
        return not self.is_question and not self.is_foreign and bool(self.proof and self.match)

    def supports(self, trust: Trust) -> bool:
        """Return whether the sentence may answer the question at all; ``trust`` is how surely a sentence shows it."""
        if not self.may_support:
            return False
        if trust is not Trust.STRICT:
            least = SUPPORT_OF_PLACE if trust is Trust.LOOSE else SUPPORT_OF_ANYTHING
            return self.proof * self.match >= least
        found = (
            PROOF * self.proof
            + CLAUSE * self.clause
            + PURITY * self.purity
            + OWN * self.own
            + AROUND * self.around
            + RELATION * self.relation
            + PLACE * self.place
        )
        return found >= LEAST
