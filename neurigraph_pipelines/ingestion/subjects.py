"""The subjects of a stored record: runs of messages that today's filing puts at different nodes. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, groupby

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import Filing, Segment

_Keys = tuple[str, ...]


def subjects_of(filings: Sequence[Filing], node: Sequence[str]) -> list[Filing]:
    """Join the filings of a record to one for each run of messages that belongs at one node.

    A filing at or above the record's node stays there, and messages without a subject (at the root, and no place is
    proposed) go with the messages before them, or else after them.

    Args:
        filings: Of all messages, in order.
        node: The names of the record's node, from layer 1 down.
    """
    stands = _keys(node)
    places = [_place(filing, stands) for filing in filings]
    for position, place in enumerate(places):
        if place is None and position > 0:
            places[position] = places[position - 1]
    first = next((place for place in places if place is not None), stands)
    runs = groupby(zip(filings, places, strict=True), key=lambda pair: first if pair[1] is None else pair[1])
    return [_joined([filing for filing, _ in run], place, stands, node) for place, run in runs]


def main_of(subjects: Sequence[Filing], node: Sequence[str], segment: Segment) -> int:
    """Return the place of the main subject: the longest at the record's node, else below it, else anywhere."""
    stands = _keys(node)

    def rank(place: int) -> tuple[bool, bool, int]:
        keys = _keys(subjects[place].path)
        is_below = bool(stands) and keys[: len(stands)] == stands
        part = segment.within(subjects[place].first_message, subjects[place].last_message)
        return bool(stands) and keys == stands, is_below, sum(len(message.content) for message in part.messages)

    return max(range(len(subjects)), key=rank)


def all_said(filing: Filing, filings: Sequence[Filing]) -> Filing:
    """Return a filing with the links, names and candidates of several."""
    return replace(
        filing,
        edges=tuple(chain.from_iterable(one.edges for one in filings)),
        beside=tuple(chain.from_iterable(one.beside for one in filings)),
        aliases=tuple(chain.from_iterable(one.aliases for one in filings)),
        candidates=tuple(chain.from_iterable(one.candidates for one in filings)),
        endings=tuple(chain.from_iterable(one.endings for one in filings)),
    )


def only_existing(filing: Filing) -> Filing:
    """Return a filing at the deepest node on its path that exists, as one without changes of the graph."""
    new = {node.path for node in filing.new_nodes}
    depth = next((depth for depth in range(len(filing.path)) if filing.path[: depth + 1] in new), len(filing.path))
    return Filing(filing.path[:depth], filing.first_message, filing.last_message)


def _place(filing: Filing, stands: _Keys) -> _Keys | None:
    keys = _keys(filing.path)
    if not keys:
        return () if filing.proposals else None
    return stands if stands[: len(keys)] == keys else keys


def _joined(filings: Sequence[Filing], place: _Keys, stands: _Keys, node: Sequence[str]) -> Filing:
    """Return one filing for a run; where it stays, at the record's node itself."""
    named = next((filing for filing in filings if _keys(filing.path) == place), filings[0])
    if place == stands:
        named = replace(named, path=tuple(node))
    notes = tuple(dict.fromkeys(chain.from_iterable(one.notes for one in filings)))
    first, last = filings[0].first_message, filings[-1].last_message
    return all_said(replace(named, first_message=first, last_message=last, notes=notes), filings)


def _keys(names: Sequence[str]) -> _Keys:
    return tuple(map(name_key, names))
