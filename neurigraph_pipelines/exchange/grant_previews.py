"""The effect of a grant before it is given: counts, subjects, and memories that look foreign to the node.

``python -m benchmarks filing`` measures the rule for foreign memories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from statistics import median
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.navigation import path_view
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import AreaReader, Transaction
from neurigraph_pipelines.views.access import GrantPreview, OpenedRecord

MOST_SHOWN = 20
"""Memories that a preview lists of each kind."""

MOST_COMPARED = 5_000
"""Memories of a node that are compared, the newest; they take two seconds of a core."""

LEAST_COMPARED = 4
"""Memories that name an area; of fewer, none looks foreign."""

LEAST_LIKE = 0.15
"""The least likeness of a memory to the others of its node, as a factor of the median of the node; it is the product of
their shares of each area."""

NEAR = 1.1
"""Cosine with the others, as a factor of the median of the node, from which a memory belongs there all the same."""

WEIGHT_OF_NAMES = 3.0
"""The names on the path of a node count as much as so many memories."""

CHARACTERS_READ = 300
"""Characters of a summary that are read: it begins with its subject."""

_QUERIES = statements("access")
_GRAPH = statements("graph")


class ForeignMemory(NamedTuple):
    """A memory that looks foreign to its node."""

    user: str
    node_id: UUID
    record_id: UUID


class _Granted(NamedTuple):
    node_id: UUID
    user_id: UUID
    slug: str
    schema_name: str
    names: list[str]
    new_records: list[UUID]


class _Opened(NamedTuple):
    record_id: UUID
    title: str
    occurred_at: datetime
    said: str
    cosine: float | None
    records: int
    first_at: datetime
    last_at: datetime


def preview_grant(context: Context, node_id: UUID) -> GrantPreview:
    """Return the memories that a grant on a node would open to anybody.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: There is no such node.
    """
    require_owner(context.claims)
    with context.database.agent(context.claims) as tx:
        node = require_found(tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone(), "there is no such node")
        opened = _opened(tx, node["user_id"], node["schema_name"])
    return GrantPreview(
        node_id=node_id,
        node_path=path_view(node["names"]),
        record_count=opened[0].records if opened else 0,
        compared=len(opened),
        first_at=opened[0].first_at if opened else None,
        last_at=opened[0].last_at if opened else None,
        newest=_shown(opened),
        foreign_looking=_shown(_foreign(context.area_reader, node["names"], opened)),
    )


def new_foreign_memories(context: Context) -> list[ForeignMemory]:
    """Return the memories of the last day that look foreign to their node and that a grant opens to somebody."""
    with context.database.pipeline() as tx:
        granted = rows_of(tx, _QUERIES["granted_with_news"], _Granted, {})
    found: list[ForeignMemory] = []
    for node in granted:
        new = set(node.new_records)
        with context.database.pipeline() as tx:
            opened = _opened(tx, node.user_id, node.schema_name)
        found += [
            ForeignMemory(node.slug, node.node_id, one.record_id)
            for one in _foreign(context.area_reader, node.names, opened)
            if one.record_id in new
        ]
    return found


def foreign_looking(
    reader: AreaReader, names: Sequence[str], texts: Sequence[str], cosines: Sequence[float | None]
) -> list[int]:
    """Return the positions of the texts that look foreign to a node, the least like its others first.

    Args:
        reader: Reads the areas of life of texts and names.
        names: The names on the path of the node, without the owner's.
        texts: The texts of its memories.
        cosines: The cosine of the vector of each with the sum of those of the others; None without a vector.
    """
    shares = reader.areas(texts)
    if sum(map(bool, shares)) < LEAST_COMPARED:
        return []
    named = [areas for areas in reader.areas(names) if areas]
    total: defaultdict[str, float] = defaultdict(float)
    for weight, some in ((1.0, shares), (WEIGHT_OF_NAMES / max(1, len(named)), named)):
        for areas in some:
            for area, share in areas.items():
                total[area] += weight * share
    near = NEAR * median([one for one in cosines if one is not None] or [1.0])
    likeness = {position: _likeness(areas, total) for position, areas in enumerate(shares) if areas}
    least = LEAST_LIKE * median(likeness.values())
    found = (one for one, like in likeness.items() if like < least and (cosines[one] or -1.0) < near)
    return sorted(found, key=likeness.__getitem__)


def _likeness(areas: Mapping[str, float], total: Mapping[str, float]) -> float:
    """Return how like a memory is to the others, whose areas are the rest of a total."""
    return sum(share * (total[area] - share) for area, share in areas.items()) / (sum(total.values()) - 1)


def _foreign(reader: AreaReader, names: Sequence[str], opened: Sequence[_Opened]) -> list[_Opened]:
    texts, cosines = [one.said for one in opened], [one.cosine for one in opened]
    return [opened[position] for position in foreign_looking(reader, names[1:], texts, cosines)]


def _shown(opened: Sequence[_Opened]) -> list[OpenedRecord]:
    return [OpenedRecord(**row._asdict()) for row in opened[:MOST_SHOWN]]


def _opened(tx: Transaction, user_id: UUID, schema_name: str) -> list[_Opened]:
    query = _QUERIES["opened_by_grant"].format(schema=sql.Identifier(schema_name))
    limits = {"most": MOST_COMPARED, "characters": CHARACTERS_READ}
    return rows_of(tx, query, _Opened, {"user_id": user_id, **limits})
