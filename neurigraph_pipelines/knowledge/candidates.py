"""The known facts to compare a new fact with: facts of its slot, then other facts about its subject.

What the owner said without a name is about the owner, and so is most of the rest. Such facts are compared where one
denies what another says or gives another figure, and where they share rare words.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, pairwise

from neurigraph_pipelines.model.verdicts import KnownFact, Pair
from neurigraph_pipelines.text.assertions import Difference, assertions_of, differences
from neurigraph_pipelines.text.ended import ended_by, ends
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.slots import may_be_one, plain_slot, plain_subject

MAX_CANDIDATES = 20
"""Most facts that one fact is compared with."""

LEAST_OVERLAP = 0.3
"""Least share of the words of the shorter of two facts about the same people that the other has, too."""


MAX_OWN = 3
"""Most facts of the owner that another one of the owner is compared with, because it may be at odds with them."""

MAX_ENDED = 20
"""Most pairs of one record in which a fact says that another one no longer holds."""

MAX_ALIKE = 5
"""Most facts of the owner that a language model compares another one of the owner with, because they are alike."""

LEAST_DENIED = 0.45
"""Least weight of the words that a denial shares with the deed, relative to the denial."""

LEAST_MEASURED = 0.12
LEAST_ALIKE = 0.4
"""Least weight of the words that two statements with figures share, relative to the shorter one: if a word beside one
of the figures stands in the other statement, too; and otherwise."""

LEAST_SHARED = 0.25
"""Least weight of the words that two statements of the owner share, relative to the lighter one, for a model to compare
them."""

_NAME = re.compile(r"[^\W\d_]+")
_SHARED_OF_MEASURED = 3
"""Least number of those words, unless the same word stands beside both figures: then two are enough."""

LEAST_WEIGHT = 4.0
"""Least weight of the words that a denial shares, unless the other statement names the same thing word for word: the
words of what somebody speaks of all the time weigh little."""


@dataclass(frozen=True, slots=True)
class OwnPair:
    """Two facts that the owner said, and how likely they are at odds."""

    pair: Pair
    weight: float


def pairs_of(fact: KnownFact, known: Sequence[KnownFact], language: str) -> list[Pair]:
    """Return a fact with each fact that it is to be compared with, at most ``MAX_CANDIDATES``, the likeliest first."""
    mine = plain_slot(fact.slot, fact.statement)
    about = _about(fact)
    ranked: list[tuple[bool, float, tuple[object, ...], KnownFact]] = []
    for one in known:
        if one.fact_id == fact.fact_id:
            continue
        theirs = plain_slot(one.slot, one.statement)
        is_general = may_be_one(fact.slot, one.slot)
        if is_general and is_of_several(fact, one, known):
            continue
        is_slot = is_general or (
            mine is not None and theirs is not None
            and (mine.subject, mine.relation) == (theirs.subject, theirs.relation)
        )  # fmt: skip
        overlap = _overlap(_words(fact.statement, language), _words(one.statement, language))
        if is_slot or (overlap >= LEAST_OVERLAP and about & _about(one) and not _are_of_two(fact, one)):
            ranked.append((is_slot, overlap, one.order, one))
    ranked.sort(key=lambda each: each[:3], reverse=True)
    return [_pair(fact, one) for *_, one in ranked[:MAX_CANDIDATES]]


def is_of_several(one: KnownFact, other: KnownFact, known: Iterable[KnownFact]) -> bool:
    """Return whether the general one of two things may be any of several: the gate, of a workshop and of a garden."""
    general = min((one, other), key=lambda fact: len(_subject(fact)))
    things = {_subject(fact) for fact in known if may_be_one(fact.slot, general.slot)}
    exact = [thing for thing in things if thing > _subject(general)]
    return any(not (mine <= theirs or theirs <= mine) for mine, theirs in combinations(exact, 2))


def mistaken_pairs(new: Iterable[KnownFact], known: Sequence[KnownFact]) -> list[Pair]:
    """Return pairs of known facts that passed for one thing until a new fact named another thing of the kind."""
    found = []
    for fact in new:
        general = [one for one in known if may_be_one(fact.slot, one.slot) and _subject(one) < _subject(fact)]
        exact = [one for one in known if any(may_be_one(one.slot, other.slot) for other in general)]
        found += [_pair(one, other) for one in general for other in exact if may_be_one(one.slot, other.slot)]
    return [one for one in found if is_of_several(one.later, one.earlier, known)]


def own_pairs(new: Iterable[KnownFact], known: Iterable[KnownFact]) -> list[Pair]:
    """Return pairs of a new fact of the owner and a known one that may contradict it, the likeliest first.

    Args:
        new: Each is compared with the known ones and with the others of its record.
        known: With the new ones.
    """
    own = [one for one in known if one.is_own]
    weight = _weight_in(own)
    found: list[OwnPair] = []
    for fact in new:
        if fact.is_own:
            found += _at_odds(fact, own, weight)
    found.sort(key=lambda one: one.weight, reverse=True)
    return [one.pair for one in found]


def ended_pairs(new: Iterable[KnownFact], known: Sequence[KnownFact]) -> list[Pair]:
    """Return new facts that say that something no longer holds with the facts that say that it does. English only."""
    found = []
    for fact in new:
        for other in known if ended_by(fact.statement) else ():
            pair = _pair(fact, other)
            if (
                pair.later is fact
                and other is not fact
                and ends(fact.statement, other.statement, other.slot.object if other.slot is not None else "")
            ):
                found.append(pair)
    return found[:MAX_ENDED]


def alike_pairs(new: Iterable[KnownFact], known: Iterable[KnownFact]) -> list[Pair]:
    """Return pairs of a new fact of the owner and a known one that share most rare words, the most alike first.

    Rules cannot tell what these have to do with each other; a language model can.
    """
    said = [one for one in known if one.is_own]
    weight = _weight_in(said)
    words = {one.fact_id: assertions_of(one.statement).words for one in said}
    weights = {fact_id: weight(each) for fact_id, each in words.items()}
    found: list[OwnPair] = []
    for fact in (one for one in new if one.is_own):
        alike = []
        for other in said:
            shared = weight(words[fact.fact_id] & words[other.fact_id])
            share = shared / (min(weights[fact.fact_id], weights[other.fact_id]) or 1.0)
            is_other = (other.record_id, other.message) != (fact.record_id, fact.message)
            if is_other and shared >= LEAST_WEIGHT and share >= LEAST_SHARED:
                alike.append(OwnPair(_pair(fact, other), share))
        found += sorted(alike, key=lambda one: one.weight, reverse=True)[:MAX_ALIKE]
    return [one.pair for one in sorted(found, key=lambda one: one.weight, reverse=True)]


def _weight_in(own: Sequence[KnownFact]) -> Callable[[Iterable[str]], float]:
    """Return a function that weighs words: a word in few facts of the owner weighs much."""
    counts = Counter(word for one in own for word in assertions_of(one.statement).words)
    weights = {word: math.log((len(own) + 1) / count) for word, count in counts.items()}
    return lambda words: sum(weights.get(word, 0.0) for word in words)


def _at_odds(fact: KnownFact, own: Sequence[KnownFact], weight: Callable[[Iterable[str]], float]) -> list[OwnPair]:
    found: list[OwnPair] = []
    for other in own:
        if other.fact_id == fact.fact_id or (other.record_id, other.message) == (fact.record_id, fact.message):
            continue
        pair = _pair(fact, other)
        likely = [_likelihood(one, weight) for one in differences(pair.later.statement, pair.earlier.statement)]
        if best := max(likely, default=0.0):
            found.append(OwnPair(pair, best))
    found.sort(key=lambda one: (one.weight, one.pair.earlier.order), reverse=True)
    return found[:MAX_OWN]


def _likelihood(one: Difference, weight: Callable[[Iterable[str]], float]) -> float:
    """Return how likely a difference is one about the same thing; 0 if it is too little to compare."""
    shared, share = weight(one.shared), weight(one.shared) / (weight(one.of) or 1.0)
    if one.is_denial:
        return 1 + share if share >= LEAST_DENIED and (one.is_whole or shared >= LEAST_WEIGHT) else 0.0
    if len(one.shared) < _SHARED_OF_MEASURED - one.is_named:
        return 0.0
    return share + 0.3 * one.is_named if share >= (LEAST_MEASURED if one.is_spoken_of else LEAST_ALIKE) else 0.0


def shared_first_names(names: Iterable[str]) -> frozenset[str]:
    """Return the first names, in lower case, of several people among some full names."""
    full: dict[str, set[str]] = {}
    for name in names:
        first, _, rest = plain_subject(name).partition(" ")
        if rest:
            full.setdefault(first, set()).add(rest)
    return frozenset(first for first, rests in full.items() if len(rests) > 1)


def distinct(pairs: Iterable[Pair]) -> list[Pair]:
    """Return pairs without those that are there already."""
    return list({(one.later.fact_id, one.earlier.fact_id): one for one in pairs}.values())


def _pair(one: KnownFact, other: KnownFact) -> Pair:
    return Pair(one, other) if one.order > other.order else Pair(other, one)


def _subject(fact: KnownFact) -> frozenset[str]:
    return frozenset(plain_subject(fact.slot.subject).split()) if fact.slot is not None else frozenset()


def _about(fact: KnownFact) -> frozenset[str]:
    names: Sequence[str] = (*fact.who, *([fact.slot.subject] if fact.slot is not None else []))
    return frozenset(map(plain_subject, names))


def _are_of_two(one: KnownFact, other: KnownFact) -> bool:
    """Whether two facts speak of two people with one first name: of Tomas Novak and of Tomas Svoboda."""
    firsts = {name.split(" ")[0] for name in _about(one)} & {name.split(" ")[0] for name in _about(other)}
    surnames = [(_surnames(one, first), _surnames(other, first)) for first in firsts if first]
    return any(mine and theirs and mine.isdisjoint(theirs) for mine, theirs in surnames)


def _surnames(fact: KnownFact, first: str) -> set[str]:
    """Return the names that follow a first name in a fact, in lower case."""
    texts = (fact.statement, *fact.who, *([fact.slot.subject] if fact.slot is not None else []))
    words = [_NAME.findall(text) for text in texts]
    pairs = (pair for each in words for pair in pairwise(each))
    return {word.casefold() for name, word in pairs if name.casefold() == first and word[0].isupper()}


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@lru_cache(maxsize=20_000)
def _words(statement: str, language: str) -> frozenset[str]:
    return frozenset(lexer_of(language).lexemes(statement))
