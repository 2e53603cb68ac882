"""Sources that restate themselves: what one source says again and again is one statement, however often it is found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from neurigraph_pipelines.enriching import enriched
from neurigraph_pipelines.model import Statement

RESTATED = 3
"""From how many messages of a source that say the same it restates itself; two may be a correction."""

ALIKE = 0.5
"""Share of the words of two messages that both hold, from which they say the same."""

Restated = Mapping[int, tuple[str, int]]
"""The source and how often it says the same, by the numbers (from 1) of messages of sources that restate themselves."""


def restated(messages: Iterable[tuple[str, frozenset[str]]]) -> Restated:
    """Return which of some messages are of sources that restate themselves; none if a defect ends that.

    Args:
        messages: The source of each message, and its words.
    """
    return enriched("restatements", lambda: _restated(messages), dict[int, tuple[str, int]])


def _restated(messages: Iterable[tuple[str, frozenset[str]]]) -> Restated:
    words: dict[str, list[frozenset[str]]] = defaultdict(list)
    numbers: list[str] = []
    for source, said in messages:
        words[source].append(said)
        numbers.append(source)
    times = {
        source: max(sum(_are_alike(one, other) for other in found) for one in found)
        for source, found in words.items()
        if len(found) >= RESTATED
    }
    return {
        number: (source, times[source])
        for number, source in enumerate(numbers, start=1)
        if times.get(source, 0) >= RESTATED
    }


def once_a_source(statements: Iterable[Statement], found: Restated) -> list[Statement]:
    """Leave out statements that rest on nothing but sources that restate themselves and were quoted before."""
    kept, quoted = [], set[str]()
    for statement in statements:
        sources = {found[number][0] if number in found else "" for number in statement.evidence}
        if sources <= quoted:
            continue
        quoted |= sources - {""}
        kept.append(statement)
    return kept


def times_said(numbers: Sequence[int], found: Restated) -> int:
    """Return how often the sources of messages say the same; 0 if a source among them does not restate itself."""
    return max((found[number][1] for number in numbers), default=0) if all(one in found for one in numbers) else 0


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other) > 0
