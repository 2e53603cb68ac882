"""Links of a fact that are computed when somebody asks: from common mentions, their times, and their words.

Nothing of this is stored, and no walk follows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.duplicates import likeness
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.links import MAX_LINK_MESSAGES
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.views.kinds import Attest, Detector, EndKind, LinkVerdict
from neurigraph_pipelines.views.links import Link, Links
from neurigraph_pipelines.views.scalars import Row

OBSERVER = "pipeline:computed"

MAX_COMPUTED = 10
"""Most links of one relation."""

MAX_SIMILAR = 3
SIMILAR = 0.5
"""Least share of common words of two similar facts."""

_MAX_AROUND = 400
_SYMMETRIC = {"relates_to", "cooccurred_with", "similar_to"}
_QUERIES = statements("computed_links")


class _End(NamedTuple):
    """The thing that a computed link leads to."""

    kind: EndKind
    id: UUID
    text: str | None
    record_id: UUID | None = None


class _Computed(NamedTuple):
    """A link that starts at a fact, and the rows that it is computed from."""

    relation: str
    computed_from: Literal["mentions", "times", "words", "place"]
    start: Row
    end: _End
    strength: float
    is_out: bool = True


def computed_links(context: Context, fact_id: UUID, relation: str | None = None) -> Links:
    """Return the computed links of a fact to things that the caller sees, as a page of stored links.

    Args:
        relation: Only in this relation.

    Raises:
        NotFoundError: The fact does not exist, or the caller does not see it.
    """
    database, claims = context.database, context.claims
    facts = database.ask(claims, _QUERIES["fact"], {"fact_id": fact_id})
    if not facts:
        raise NotFoundError
    asked = facts[0]
    rows = database.ask(claims, _QUERIES["around"], {"fact_id": fact_id, "limit": _MAX_AROUND})
    around = _said_once(asked, rows)
    worded = {row["relation"]: row for row in database.ask(claims, _QUERIES["words"], {})}
    found = [*_places(asked), *_related(asked, around), *_in_time(asked, around)]
    found += _similar(asked, around, context.settings.language)
    links = [_link(one, worded[one.relation]) for one in found if relation in (None, one.relation)]
    return Links(links=links, next_cursor=None)


def _said_once(asked: Row, rows: Sequence[Row]) -> list[Row]:
    """Return the first of the facts that say the same, without facts that say the same as the asked fact."""
    first: dict[int, Row] = {}
    for row in rows:
        first.setdefault(statement_key(row["statement"]), row)
    first.pop(statement_key(asked["statement"]), None)
    return list(first.values())


def _places(asked: Row) -> Iterator[_Computed]:
    yield _Computed("owned_by", "place", asked, _End(EndKind.NODE, asked["node_id"], asked["node_path"]), 1.0)
    if asked["source_id"] is not None:
        yield _Computed("mentioned_in", "place", asked, _End(EndKind.SOURCE, asked["source_id"], asked["title"]), 1.0)


def _related(asked: Row, around: Sequence[Row]) -> Iterator[_Computed]:
    """Yield the facts that mention the same nodes, those with most in common first."""
    others = (one for one in around if one["shared"] and one["root_id"] != asked["root_id"])
    for one in islice(others, MAX_COMPUTED):
        yield _Computed("relates_to", "mentions", asked, _fact(one), one["shared"] / one["named"])


def _in_time(asked: Row, around: Sequence[Row]) -> Iterator[_Computed]:
    """Yield the facts that happened at the same time, and the nearest one before and after it."""
    if asked["since"] is None or asked["until"] is None:
        return
    dated = [one for one in around if one["since"] and one["until"] and one["root_id"] != asked["root_id"]]
    same = (one for one in dated if one["since"] < asked["until"] and asked["since"] < one["until"])
    for one in islice(same, MAX_COMPUTED):
        yield _Computed("cooccurred_with", "times", asked, _fact(one), 1.0)
    earlier = [one for one in dated if one["until"] <= asked["since"]]
    if earlier:
        yield _Computed("preceded_by", "times", asked, _fact(max(earlier, key=lambda one: one["until"])), 1.0)
    later = [one for one in dated if asked["until"] <= one["since"]]
    if later:
        one = min(later, key=lambda one: one["since"])
        yield _Computed("preceded_by", "times", one, _fact(asked), 1.0, is_out=False)


def _similar(asked: Row, around: Sequence[Row], language: str) -> Iterator[_Computed]:
    shares = [likeness(asked["statement"], one["statement"], language) for one in around]
    for number in sorted(range(len(around)), key=lambda number: -shares[number])[:MAX_SIMILAR]:
        if shares[number] >= SIMILAR:
            yield _Computed("similar_to", "words", asked, _fact(around[number]), shares[number])


def _fact(row: Row) -> _End:
    return _End(EndKind.FACT, row["fact_id"], row["statement"], row["record_id"])


def _link(found: _Computed, words: Row) -> Link:
    """Return a link in the form of a stored one; the fields of statements and decisions are empty."""
    start = found.start
    messages = range(start["first_message"], start["last_message"] + 1)
    return Link(
        link_id=None,
        computed_from=found.computed_from,
        from_kind=EndKind.FACT,
        from_id=start["fact_id"],
        from_text=start["statement"],
        from_record_id=start["record_id"],
        relation=found.relation,
        to_kind=found.end.kind,
        to_id=found.end.id,
        to_text=found.end.text,
        to_record_id=found.end.record_id,
        forward=words["forward"],
        backward=words["backward"],
        direction="out" if found.is_out else "in",
        bidirectional=found.relation in _SYMMETRIC,
        strength=found.strength,
        confidence=found.strength,
        reason=None,
        messages=list(messages)[:MAX_LINK_MESSAGES],
        valid_from=None,
        valid_until=None,
        observed_by=OBSERVER,
        detected_by=Detector.RULE,
        attest=Attest.UNSIGNED,
        verdict=LinkVerdict.UNVERIFIED,
        verdict_by=None,
        verdict_at=None,
        created_at=start["recorded_at"],
        ended_by=None,
        ended_at=None,
        end_attest=Attest.UNSIGNED,
    )
