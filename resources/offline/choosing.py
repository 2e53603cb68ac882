"""Chooses which of the best sentences an answer quotes: those that answer as much of the question as the best ones.

A sentence that has only a part of the question's words that a better one has is about something else: of "the rent for
flat A" and "the rent for flat B", one answers a question about flat B. Scoring belongs in ``answers``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import combinations, pairwise

from neurigraph_pipelines.model import Quotable
from resources.offline.candidate import Candidate
from resources.offline.fitting import is_date_or_number
from resources.offline.lexicon import forms, word_lists
from resources.offline.questions import ASKS, WORD, Asked, Trust, Words, asks_for_all, asks_for_several
from resources.offline.versions import TELLS_CHANGE

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
_ARTICLES = _WORDS["articles"]
_AT = _WORDS["at"]
"""Words before that which tells one of several things from the others: "the password at the office"."""


def labels_of(text: str) -> frozenset[str]:
    """Return the single letters that name one of several things in a text."""
    return frozenset(_FORMS.label.findall(text))


def of_thing(asked: Asked, question: str, best: Sequence[Candidate], words: Words) -> list[Candidate]:
    """Leave out who did to another thing what the question says: who lent a drill, of "Who lent me the ladder?"."""
    asks = _FORMS.does_thing.match(question)
    thing = asked.anchors.intersection(words.lexemes(asks["thing"])) if asks else frozenset()
    if asks is None or not thing or len(asked.kinds) > 1:
        return list(best)
    does = asked.anchors.intersection(words.lexemes(asks["does"])) or asked.anchors - thing
    kept = [one for one in best if thing & (one.near | one.title) or (one.near & asked.anchors and not does & one.said)]
    return kept if any(does & one.said for one in best) else list(best)


def is_never_mentioned(asked: Asked, question: str, best: Sequence[Candidate], words: Words) -> bool:
    """Return whether parallel sentences tell of several things, and the question asks about another one of them.

    "How much is the yellow car?" is not answered by "The red car costs …" and "The blue car costs …".
    """
    known = frozenset().union(*(one.near | one.title for one in best))
    parts = _parts(question, words)
    texts = [one.text for one in best]
    for place, (_, lexemes) in enumerate(parts):
        if not lexemes or not lexemes <= asked.anchors or lexemes & known:
            continue
        is_number = is_date_or_number(parts[place][0])
        found: dict[frozenset[str], str] = {}
        for text in texts:
            found |= dict.fromkeys(_fillers(parts, place, text, asked, words, is_number=is_number), text)
        if any(are_parallel(one, other) for one, other in combinations(found.values(), 2)):
            return True
    return False


def _parts(text: str, words: Words) -> list[tuple[str, frozenset[str]]]:
    return [(word, frozenset(words.lexemes(word))) for word in WORD.findall(text.casefold()) if word not in _ARTICLES]


def _fillers(
    asked_parts: list[tuple[str, frozenset[str]]], place: int, text: str, asked: Asked, words: Words, *, is_number: bool
) -> Iterator[frozenset[str]]:
    """Yield what stands in a sentence beside the words that a word of the question stands beside."""
    before = asked_parts[place - 1] if place else ("", frozenset[str]())
    after = asked_parts[place + 1] if place + 1 < len(asked_parts) else ("", frozenset[str]())
    parts = [("", frozenset[str]()), *_parts(text, words), ("", frozenset[str]())]
    for left, (word, lexemes), right in zip(parts, parts[1:], parts[2:], strict=False):
        is_beside = (
            (left[0] in _AT and left[0] == before[0])
            or bool(before[1] & left[1] & asked.anchors)
            or bool(after[1] & right[1] & asked.anchors)
        )
        if is_beside and lexemes and lexemes.isdisjoint(asked.anchors) and is_number == is_date_or_number(word):
            yield lexemes


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


def varied(candidates: Sequence[Candidate], quotable: Sequence[Quotable]) -> list[Candidate]:
    """Return the best sentence of each memory before the second best of any."""
    seen: Counter[str] = Counter()
    turns: list[tuple[int, int, Candidate]] = []
    for one in candidates:
        title = quotable[one.number].title
        turns.append((seen[title], len(turns), one))
        seen[title] += 1
    return [one for _, _, one in sorted(turns, key=lambda turn: turn[:2])]


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
