"""Which known facts a new one is compared with: those of the same slot, then those that say something of the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from neurigraph_pipelines.model.verdicts import KnownFact, Pair
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.slots import plain_slot, plain_subject

MAX_CANDIDATES = 20
"""Most facts that one fact is compared with."""

LEAST_OVERLAP = 0.3
"""Least share of the words of the shorter of two facts about the same people that the other has, too."""


def pairs_of(fact: KnownFact, known: Iterable[KnownFact], language: str) -> list[Pair]:
    """Return a fact with each fact that it is to be compared with, at most ``MAX_CANDIDATES``, the likeliest first."""
    mine = plain_slot(fact.slot, fact.statement)
    about = _about(fact)
    ranked: list[tuple[bool, float, tuple[object, str], KnownFact]] = []
    for one in known:
        if one.fact_id == fact.fact_id:
            continue
        theirs = plain_slot(one.slot, one.statement)
        is_slot = mine is not None and theirs is not None and (
            (mine.subject, mine.relation) == (theirs.subject, theirs.relation)
        )  # fmt: skip
        overlap = _overlap(_words(fact.statement, language), _words(one.statement, language))
        if is_slot or (overlap >= LEAST_OVERLAP and about & _about(one)):
            ranked.append((is_slot, overlap, one.order, one))
    ranked.sort(key=lambda each: each[:3], reverse=True)
    return [_pair(fact, one) for *_, one in ranked[:MAX_CANDIDATES]]


def name_key(name: str) -> str:
    """Return a name as it is compared: whom a fact is about."""
    return plain_subject(name)


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


def _about(fact: KnownFact) -> frozenset[str]:
    names: Sequence[str] = (*fact.who, *([fact.slot.subject] if fact.slot is not None else []))
    return frozenset(map(plain_subject, names))


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0


@lru_cache(maxsize=20_000)
def _words(statement: str, language: str) -> frozenset[str]:
    return frozenset(lexer_of(language).lexemes(statement))
