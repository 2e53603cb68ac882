"""Chooses which of the best sentences an answer quotes: those that answer as much of the question as the best ones.

A sentence that has only a part of the question's words that a better one has is about something else: of "the rent for
flat A" and "the rent for flat B", one answers a question about flat B. Scoring belongs in ``answers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise, takewhile

from neurigraph_pipelines.model import Quotable
from resources.offline.candidates import Candidate
from resources.offline.fitting import is_date_or_number
from resources.offline.lexicon import forms, word_lists
from resources.offline.questions import ASKS, WORD, Asked, Kind, Trust, asks_for_all, asks_for_several

_FORMS = forms("choosing")

REPEATED = 0.6
"""Share of a sentence that stands in another one from which it only repeats it."""

PARALLEL = 0.5
"""Share of their words, in order, that two parallel sentences have in common."""

LEAST_SHARE, LEAST_MATCH = 0.5, 0.15
"""Least match of another sentence than the best one: as a share of the match of the best one, and with an embedder."""

OPEN_SHARE, OPEN_MATCH = 0.4, 0.35
"""The same for open questions, where nothing shows that a sentence has the kind of answer."""

OPEN_CLOSE = 2.0
"""How far below the best sentence another one is quoted for an open question, in logits.

All are fitted to the development half of the labelled conversations and to one talk of LoCoMo, as is what follows."""

NEW = 0.25
"""Share of the question's words in a sentence from which it is quoted for an open question if one of them is new."""

COVERED = 0.8
"""Share of the question's words from which the best sentence is enough: others with fewer of them add nothing."""

_WORDS = word_lists("choosing")
_NEWS = _WORDS["news"]
TELLS_CHANGE = _FORMS.tells_change


MOST_OF_STATE = 6
"""Words after "is" up to which a sentence says no more than a state."""


def labels_of(text: str) -> frozenset[str]:
    """Return the single letters that name one of several things in a text."""
    return frozenset(_FORMS.label.findall(text))


def with_replies(
    best: Sequence[Candidate], candidates: Sequence[Candidate], quotable: Sequence[Quotable]
) -> list[Candidate]:
    """Let the reply to each question among the best sentences follow it, and leave out questions without a reply."""
    kept: list[Candidate] = []
    for one in best:
        if not one.is_question:
            kept += [] if any(other.number == one.number for other in kept) else [one]
            continue
        replying = [other for other in candidates if not other.is_question and _replies_to(other, one, quotable)]
        if replying:
            kept += [one, max(replying, key=lambda other: other.score)]
    return list({one.number: one for one in kept}.values())


def _replies_to(one: Candidate, other: Candidate, quotable: Sequence[Quotable]) -> bool:
    """Return whether a sentence is of the message that follows a message that asks."""
    asked = quotable[other.number].text.rstrip()
    return asked.endswith(ASKS) and quotable[one.number].before.rstrip() == asked


def undominated(
    asked: Asked, question: str, best: Sequence[Candidate], quotable: Sequence[Quotable]
) -> list[Candidate]:
    """Leave out sentences that answer less of the question than a better one: best first.

    Only parallel sentences are left out where an open question is answered by meaning, or a sentence has all the names
    of the question. Of others, the best one that was said later may be news and stays.
    """
    if len(asked.kinds) > 1:
        return list(best)
    labels = labels_of(question)
    matched = [(one.near & asked.anchors) | (labels_of(one.text) & labels) for one in best]
    kept: list[Candidate] = []
    has_news = False
    for one, own in zip(best, matched, strict=True):
        known = own or one.title & asked.anchors  # a title often is the first sentence of its memory
        better = [other for other, its in zip(best, matched, strict=True) if known < its and other.fit > 0]
        if better:
            is_open = asked.trust is Trust.NONE or bool(asked.names and asked.names <= own)
            if any(are_parallel(one.text, other.text) for other in better):
                continue
            if not is_open and (has_news or not all(_is_later(one, other, quotable) for other in better)):
                continue
            has_news = has_news or not is_open
        kept.append(one)
    return kept


def _is_later(one: Candidate, other: Candidate, quotable: Sequence[Quotable]) -> bool:
    return quotable[one.number].occurred_at > quotable[other.number].occurred_at


def are_parallel(one: str, other: str) -> bool:
    """Return whether two sentences say the same of two things, such as "Ana likes tea" and "Ben likes milk"."""
    first, second = (WORD.findall(text.casefold()) for text in (one, other))
    return SequenceMatcher(None, first, second, autojunk=False).ratio() >= PARALLEL


def with_more(asked: Asked, question: str, best: Sequence[Candidate], quotable: Sequence[Quotable]) -> list[Candidate]:
    """Leave out sentences that add nothing to the best one: best first, each question with its reply.

    If the best one has what is asked for and most of the question's words, only as good ones add to it. Beside another
    one, those stay that match nearly as well. A question for several things has no best one: less is left out.
    """
    if asks_for_all(question):
        return list(best)
    kept = list(best[:1])
    is_several = len(asked.kinds) > 1 or len(_FORMS.asked.findall(question)) > 1 or asks_for_several(question)
    for before, one in pairwise(best):
        is_reply = before.is_question and before in kept and _replies_to(one, before, quotable)
        is_more = is_reply or _is_news(asked, one, best[0], quotable) or _has_new_words(asked, one, kept)
        if is_more or _adds(asked, one, best[0], is_several=is_several):
            kept.append(one)
    return kept


def _is_news(asked: Asked, one: Candidate, first: Candidate, quotable: Sequence[Quotable]) -> bool:
    """Return whether a sentence tells of a later change, which need not repeat the question's words."""
    if asked.trust is Trust.NONE or one.fit < 1:
        return False
    return TELLS_CHANGE.search(one.text) is not None and _is_later(one, first, quotable)


def _has_new_words(asked: Asked, one: Candidate, kept: Sequence[Candidate]) -> bool:
    """Return whether a sentence has words of an open question that the ones before it lack."""
    known = frozenset().union(*(other.said for other in kept))
    return asked.trust is Trust.NONE and one.own >= NEW and bool((one.said & asked.anchors) - known)


def _adds(asked: Asked, one: Candidate, first: Candidate, *, is_several: bool) -> bool:
    is_open = asked.trust is Trust.NONE
    share, least = (OPEN_SHARE, OPEN_MATCH) if is_open else (LEAST_SHARE, LEAST_MATCH)
    is_enough = not is_open and not is_several and first.fit > 0 and not first.is_question and first.own >= COVERED
    if is_enough and one.own < first.own:
        return False
    is_like = one.match >= share * first.match and (one.match >= least or not first.meaning)
    return is_like and (is_several or not is_open or one.score >= first.score - OPEN_CLOSE)


def without_repetition(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Leave out sentences that say little more than a better one."""
    kept: list[Candidate] = []
    for one in candidates:
        if not any(_repeats(one.text, other.text) for other in kept):
            kept.append(one)
    return kept


def _repeats(text: str, other: str) -> bool:
    short, long = sorted((" ".join(text.casefold().split()), " ".join(other.casefold().split())), key=len)
    return short in long and len(short) >= REPEATED * len(long)


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
