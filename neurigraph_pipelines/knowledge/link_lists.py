"""Links as a caller sees them: of a fact, or of a memory with its facts, page by page, newest first.

Some are stored, and others are computed when they are read: from verdicts on pairs of facts, from their versions, and
from the digests that a memory is in.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from psycopg.rows import DictRow
from pydantic import Field

from neurigraph_pipelines.database.paging import NEWEST, Listing, Page
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.knowledge.belief_lists import REASONS
from neurigraph_pipelines.knowledge.signing import attest_of, end_attest_of
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.links import SUPERSEDES
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.kinds import EndKind, Verdict
from neurigraph_pipelines.views.links import Link

_QUERIES = statements("links")
_ENDS = ("from", "to")
# Nobody states links of a digest, so this kind is not in `EndKind`.
_KINDS = (*(kind.value for kind in EndKind), "digest")


class _PlacedLink(Link):
    """A link with its place among the links of the same time."""

    place: UUID = Field(exclude=True)


@dataclass(frozen=True, slots=True)
class LinkFilter:
    """Which links to list.

    Attributes:
        fact_id: Of this fact; or else of ``record_id`` and its facts.
        relation: Only in this relation.
        with_ended: Whether rejected and ended ones are listed, too.
    """

    fact_id: UUID | None = None
    record_id: UUID | None = None
    relation: str | None = None
    with_ended: bool = False


def list_links(asked: Listing, wanted: LinkFilter) -> Page[_PlacedLink]:
    """Return a page of the links of which the caller sees both ends.

    Raises:
        InvalidInputError: The cursor is not one of this list.
    """

    def read(place: dict[str, object]) -> list[_PlacedLink]:
        return _rows(asked.database, asked.claims, wanted, **place)

    return asked.by_time("links", asdict(wanted), read, lambda one: (one.created_at, one.place))


def link(database: Database, claims: Claims, link_id: UUID) -> Link:
    """Return a link, as it stands.

    Raises:
        NotFoundError: There is no such link, or the caller does not see both its ends.
    """
    found = _rows(database, claims, LinkFilter(with_ended=True), link_id=link_id)
    return require_found(next(iter(found), None))


def _rows(database: Database, claims: Claims, wanted: LinkFilter, **values: Any) -> list[_PlacedLink]:
    place = {
        "fact_id": wanted.fact_id,
        "record_id": wanted.record_id,
        "link_id": None,
        "relation": None if wanted.relation is None else clean_text(wanted.relation, "repair")[0],
        "stands": not wanted.with_ended,
        "at": NEWEST[0],
        "id": NEWEST[1],
        "limit": 1,
    }
    return [_shaped(row) for row in database.ask(claims, _QUERIES["links_at"], place | values)]


def _shaped(row: DictRow) -> _PlacedLink:
    """Return a link with its ends as a kind and an id each, its direction, and who signed it."""
    kinds = {end: next(kind for kind in _KINDS if row.get(f"{end}_{kind}_id") is not None) for end in _ENDS}
    reason = row["reason"]
    if row["computed_from"] == "verdict" and reason is None:
        # Others than the owner: a model's own words may tell of what they may not see.
        reason = REASONS[Verdict.UPDATES if row["relation"] == SUPERSEDES else Verdict(row["relation"])]
    return _PlacedLink.model_validate(
        {
            **row,
            **{f"{end}_kind": kind for end, kind in kinds.items()},
            **{f"{end}_id": row[f"{end}_{kind}_id"] for end, kind in kinds.items()},
            "reason": reason,
            "direction": "out" if row["is_out"] else "in",
            "attest": attest_of(row),
            "end_attest": end_attest_of(row),
        }
    )
