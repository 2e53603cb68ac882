"""Answers without a model: the sentences of the passages that answer the question, quoted.

``questions`` reads what kind of answer is wanted, and ``fitting`` whether a sentence has it. A sentence is judged by
that, by the words that it shares with the question together with its neighbours, by meaning if there is an embedder, by
who says it and when. Nothing is quoted if no sentence has what is asked for beside what it is asked about. What others
wrote is left out where the owner speaks to the question, but not what other people said: an answer says that it is
theirs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neurigraph_pipelines.model import Quotable, Statement, Voice
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.text.languages import language_of_parts
from resources.offline import questions
from resources.offline.asked_days import of_asked_days
from resources.offline.candidates import Candidate, add_meaning, add_relation, judged
from resources.offline.choosing import (
    TELLS_CHANGE,
    are_states,
    are_versions,
    undominated,
    with_more,
    with_replies,
    without_repetition,
)
from resources.offline.dated_quotes import dated
from resources.offline.fitting import values
from resources.offline.prose import sentences
from resources.offline.questions import Asked, Kind, Trust

MAX_STATEMENTS = 4

QUOTED_CHARACTERS = 300
"""Messages up to this length are quoted whole."""

OWN_WORDS, NEAR_WORDS, FIT, IN_PLACE, MEANING, ORDER = 3.0, 2.2, 2.5, 1.0, 3.0, 2.7
LATE, WRONG_SUBJECT, ASKS, OF_ASSISTANT = 1.3, -0.9, -2.4, -1.0
"""What a sentence's score is made of, in logits: fitted to LoCoMo and the development half of the labelled
conversations, each conversation judged by weights fitted to the others."""

SETS_DATE = 2.0
"""What a word such as "deadline" beside a date adds, in logits. Set by hand."""

CLOSE = 3.5
"""How far below the best sentence another one is quoted, too, in logits."""

SPEAKS = 0.6
"""Share of the best match of others from which what the owner said speaks to the question: then others are left out."""

OF_OTHER = -1.5
"""The question names the wrong speaker if what somebody else says of themselves is at most so far below the best other
sentence, in logits."""

OF_REST = 0.5
"""How much the question's words apart from names count beside the cosine without names."""

LEAST_SAID = 0.45
"""Least sum of the cosines without names and these words, for times, persons, places and open questions."""

SAME = 0.6
"""Share of the question's words that two sentences have in common if one replaces the other."""


def answer(
    question: str, quotable: Sequence[Quotable], embedder: Embedder | None, language: str = "en"
) -> list[Statement]:
    """Return the best sentences, each of another piece of passages, best first; none if nothing answers."""
    language = language_of_parts([question, *(one.text for one in quotable)]) or language
    words = questions.words_of(language)
    asked = questions.read(question, words)
    candidates = of_asked_days(question, asked, judged(question, asked, quotable, words), quotable)
    add_meaning(question, candidates, quotable, embedder)
    _score(candidates, quotable)
    best_of = add_relation(question, asked, candidates, quotable, words, embedder)
    if not any(one.supports(asked.trust) for one in best_of) or _says_something_else(asked, best_of, language):
        return []
    candidates = _without_others(candidates, quotable)
    if _names_wrong_speaker(candidates):
        return []
    best: dict[int, Candidate] = {}
    for candidate in sorted(candidates, key=lambda one: -one.score):
        best.setdefault(candidate.number, candidate)
    first = next(iter(best.values())).score
    close = [one for one in best.values() if one.score >= first - CLOSE and (one.own or one.around or one.meaning)]
    if any(one.fit for one in close):
        close = [one for one in close if one.fit]
    close = with_replies(undominated(asked, question, close, quotable), candidates, quotable)
    close = with_more(asked, question, close, quotable)
    chosen = without_repetition(close)[:MAX_STATEMENTS]
    if not chosen:
        return []
    return list(_stated(asked, chosen, quotable, language))


def _score(candidates: Sequence[Candidate], quotable: Sequence[Quotable]) -> None:
    times = sorted({one.occurred_at for one in quotable})
    lateness = {time: place / max(1, len(times) - 1) for place, time in enumerate(times)}
    for one in candidates:
        spoken = quotable[one.number]
        one.score = (
            OWN_WORDS * one.own
            + NEAR_WORDS * (one.around - one.own)
            + FIT * one.fit
            + IN_PLACE * one.fit * one.around
            + MEANING * one.meaning
            + ORDER * one.place
            + LATE * lateness[spoken.occurred_at]
            + SETS_DATE * one.sets_date
            + WRONG_SUBJECT * one.is_foreign
            + ASKS * one.is_question
            + OF_ASSISTANT * (spoken.voice is Voice.ASSISTANT)
        )


def _says_something_else(asked: Asked, best: Sequence[Candidate], language: str) -> bool:
    """Return whether no sentence answers the question for any person, so that only a name matches. English only."""
    if asked.trust is Trust.STRICT or not asked.rest or language != "en":
        return False
    said = best[0].relation + OF_REST * best[0].rest + max(one.relation for one in best)
    return said < LEAST_SAID


def _names_wrong_speaker(candidates: Sequence[Candidate]) -> bool:
    """Return whether another speaker's words about themselves answer nearly as well as anything else."""
    others = max((one.score for one in candidates if one.is_of_other), default=-math.inf)
    rest = max((one.score for one in candidates if not one.is_of_other and not one.is_question), default=-math.inf)
    return others > rest + OF_OTHER


def _without_others(candidates: list[Candidate], quotable: Sequence[Quotable]) -> list[Candidate]:
    """Leave out the words of others than people if the owner speaks to the question, too."""
    others = [one for one in candidates if _yields(quotable[one.number])]
    owners = [one for one in candidates if quotable[one.number].voice is Voice.OWNER]
    if not others or not owners or max(o.match for o in owners) < SPEAKS * max(o.match for o in others):
        return candidates
    return [one for one in candidates if not _yields(quotable[one.number])]


def _yields(one: Quotable) -> bool:
    return one.is_of_others and one.voice is not Voice.OTHER_PERSON


def _stated(asked: Asked, chosen: list[Candidate], quotable: Sequence[Quotable], language: str) -> Iterator[Statement]:
    """Yield the statements; where the first one is replaced, the latest comes first and the others are of before."""
    same = [chosen[0], *(one for one in chosen[1:] if _replaces(asked, one, chosen[0], quotable))]
    latest = max(same, key=lambda one: quotable[one.number].occurred_at)
    yield _statement(latest, quotable, language)
    for one in sorted(same, key=lambda one: quotable[one.number].occurred_at, reverse=True):
        if one is not latest:
            yield replace(_statement(one, quotable, language), is_superseded=True)
    yield from (_statement(one, quotable, language) for one in chosen if one not in same)


def _replaces(asked: Asked, one: Candidate, other: Candidate, quotable: Sequence[Quotable]) -> bool:
    """Return whether one of two sentences says another value of the same thing on a later day."""
    words, others = one.near & asked.anchors, other.near & asked.anchors
    earlier, later = sorted((quotable[one.number], quotable[other.number]), key=lambda said: said.occurred_at)
    texts = (_shown(quotable[one.number], one.text), _shown(quotable[other.number], other.text))
    found = [values(asked, text) for text in texts]
    if are_states(asked, *texts):
        return earlier.occurred_at.date() != later.occurred_at.date() and not asked.is_past
    is_place = Kind.WHERE in asked.kinds  # lacks a form of its own, and the sentences differ
    is_possible = (
        earlier.occurred_at.date() != later.occurred_at.date()
        and (all(found) or is_place)
        and not asked.is_past
        and min(one.fit, other.fit) > 0
        and not (one.is_question or other.is_question)
    )
    if not is_possible or are_versions(asked, one.text, other.text):
        return is_possible
    # "3 June 2025" and "10 June 2025" have the year in common.
    are_others = bool(found[0] - found[1] and found[1] - found[0])
    return (
        (are_others or is_place)
        and bool(TELLS_CHANGE.search(later.text))
        and len(words & others) >= SAME * max(1, len(words | others))
    )


def _statement(one: Candidate, quotable: Sequence[Quotable], language: str) -> Statement:
    """Quote a sentence with its speaker and day, and with the days that its relative dates mean."""
    said = quotable[one.number]
    quote = _excerpt(said, one.text)
    if said.voice not in (Voice.DOCUMENT, Voice.FETCHED):  # the day of a file is often only that of its arrival
        quote = dated(quote, said.occurred_at, language, said.before)
    return Statement(f"{said.speaker}, {said.occurred_at.day} {said.occurred_at:%B %Y}: {quote}", (one.number + 1,))


def _excerpt(one: Quotable, sentence: str) -> str:
    """Return the whole of a short message, or the sentence with those beside it that a short message has room for."""
    shown = _shown(one, sentence)
    if shown != sentence:
        return shown
    texts = list(sentences(one.text))
    place = texts.index(sentence)
    first = last = place
    if place and len(texts[place - 1]) + len(sentence) < QUOTED_CHARACTERS:
        first -= 1
    if last + 1 < len(texts) and sum(map(len, texts[first : last + 2])) + last + 1 - first <= QUOTED_CHARACTERS:
        last += 1
    return " ".join(texts[first : last + 1])


def _shown(one: Quotable, sentence: str) -> str:
    """Return the whole of a short message, or the sentence."""
    whole = " ".join(one.text.split())
    return whole if len(whole) <= QUOTED_CHARACTERS else sentence
