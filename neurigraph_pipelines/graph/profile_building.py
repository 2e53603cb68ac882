"""Building the profiles of nodes, at night or on request, and checking them.

A node is rebuilt in one transaction that locks its graph, so that no record is erased, hidden or revised meanwhile.
What is done is no longer due: an interrupted run is continued by the next one, and a second run does nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import UUID

import numpy as np
from pgvector import HalfVector
from psycopg import sql
from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.clusters import Cluster, Floats, clusters, direction, scaled
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.profiles import CENTROID_DESCRIPTORS_SHOWN, DESCRIPTORS_SHOWN
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

MOST_NODES = 10_000
"""Default limit of nodes per run."""

MOST_SAMPLED = 1_024
"""Records of a larger node that its profile is made of: they take about 0.1 s of processor time."""

LEAST_FOR_DRIFT = 8
"""Records with vectors from which the newest are compared with those before."""

MOST_RECENT = 32
"""The newest quarter of the records is recent, but no more than these."""

_SPARE = 8  # words stored beyond those shown, because names of the node are left out when they are read
_DIGITS = 4
_TOLERANCE = 2e-3  # of the stored vectors, which have half precision
_NODES_AT_ONCE = 100
_SMALLEST_ID = UUID(int=0)
_QUERIES = statements("profiles")


@dataclass(slots=True)
class Rebuilt:
    """The result of a run.

    Attributes:
        nodes: Nodes that were due.
        profiles: Profiles that were written.
        removed: Profiles whose records are all gone.
        limit_reached: Whether more nodes may be due.
    """

    nodes: int = 0
    profiles: int = 0
    removed: int = 0
    limit_reached: bool = False


class _Due(NamedTuple):
    """A node whose profile is missing or stale."""

    node_id: UUID
    user_id: UUID
    schema_name: str


class _Extent(NamedTuple):
    """The count and span of records."""

    is_private: bool
    records: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class _Record:
    record_id: UUID
    occurred_at: datetime
    words: Mapping[str, str]  # by the name key of each
    is_private: bool
    vector: HalfVector | None


@dataclass(slots=True)
class _Made:
    """The columns of a profile that follow from its sample."""

    sampled: int
    embedded: int = 0
    centroids: list[HalfVector] = field(default_factory=list)
    centroid_records: list[dict[str, object]] = field(default_factory=list)
    descriptors: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    recent: HalfVector | None = None
    baseline: HalfVector | None = None
    recent_records: int = 0
    baseline_records: int = 0
    recent_from: datetime | None = None
    drift: float | None = None


def rebuild_profiles(
    database: Database,
    limit: int = MOST_NODES,
    user_id: UUID | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Rebuilt:
    """Rebuild the profiles of up to ``limit`` nodes that are missing or stale.

    Args:
        database: Used as the pipeline.
        limit: Maximum number of nodes.
        user_id: Only this user's nodes.
        on_done: Called with 1 after each node.
    """
    done, after = Rebuilt(), _SMALLEST_ID
    while done.nodes < limit:
        with database.pipeline() as tx:
            most = min(_NODES_AT_ONCE, limit - done.nodes)
            due = rows_of(tx, _QUERIES["due"], _Due, {"after": after, "user_id": user_id, "limit": most})
        if not due:
            return done
        for node in due:
            with suppress(NotFoundError), database.pipeline() as tx:  # the node or its user was removed meanwhile
                lock_graph_exclusive(tx, node.user_id)
                require_node(tx, node.node_id)
                _rebuild(tx, node, done)
            done.nodes += 1
            if on_done is not None:
                on_done(1)
        after = due[-1].node_id
    done.limit_reached = True
    return done


def _rebuild(tx: Transaction, node: _Due, done: Rebuilt) -> None:
    """Rebuild the profiles of one node that are due, and remove those without records."""
    key = {"node_id": node.node_id}
    stale = {row["covers"]: row["is_stale"] for row in tx.execute(_QUERIES["of_node"], key)}
    extents = _extents(tx, node.node_id)
    sample: list[_Record] = []
    for covers in ("all", "shared"):
        extent = extents.get(covers)
        if extent is None:
            done.removed += tx.execute(_QUERIES["remove"], {**key, "covers": covers}).rowcount
        elif stale.get(covers, True):
            sample = sample or _sample(tx, node.node_id, node.schema_name)
            model = tx.execute(_QUERIES["model_of_user"], {"user_id": node.user_id}).fetchone()
            assert model is not None
            made = _made(_covered(sample, covers))
            values = {name: getattr(made, name) for name in _Made.__slots__}
            values |= {"centroid_records": Jsonb(made.centroid_records), "covers": covers, **extent._asdict(), **model}
            tx.execute(_QUERIES["write"], {**values, **key, "user_id": node.user_id})
            done.profiles += 1


def _extents(tx: Transaction, node_id: UUID) -> dict[str, _Extent]:
    """Return the count and span of the records that each profile of a node covers, of those that it needs."""
    found = rows_of(tx, _QUERIES["extents"], _Extent, {"node_id": node_id})
    extents = {"all" if one.is_private else "shared": one for one in found}
    if "all" in extents:
        times = [(one.first_at, one.last_at) for one in found]
        extents["all"] = _Extent(True, sum(one.records for one in found), min(times)[0], max(last for _, last in times))
    return extents


def _sample(tx: Transaction, node_id: UUID, schema_name: str) -> list[_Record]:
    query = _QUERIES["sample"].format(schema=sql.Identifier(schema_name))
    key_of = cache(name_key)  # the same words come again and again
    return [
        _Record(
            row["record_id"],
            row["occurred_at"],
            {key_of(word): word for word in (*(row["kw_entities"] or ()), *(row["kw_topics"] or ()))},
            row["is_private"],
            row["vector"],
        )
        # Vectors as text would take ten times as long.
        for row in tx.execute(query, {"node_id": node_id, "limit": MOST_SAMPLED}, binary=True)
    ]


def _covered(sample: Iterable[_Record], covers: str) -> list[_Record]:
    return [record for record in sample if covers == "all" or not record.is_private][:MOST_SAMPLED]


def _made(records: Sequence[_Record]) -> _Made:
    """Return the profile of a sample."""
    in_order = sorted(records, key=lambda record: (record.occurred_at, record.record_id))
    counts, spelling = _counted(in_order)
    made = _Made(len(in_order))
    for key in _most_frequent(counts, DESCRIPTORS_SHOWN + _SPARE):
        made.descriptors.append(spelling[key])
        made.weights.append(round(counts[key] / len(in_order), _DIGITS))
    embedded = [record for record in in_order if record.vector is not None]
    made.embedded = len(embedded)
    if embedded:
        vectors = scaled(np.array([each.vector.to_numpy() for each in embedded if each.vector is not None], np.float32))
        for cluster in clusters(vectors):
            made.centroids.append(HalfVector(cluster.centroid))
            made.centroid_records.append(_described(cluster, embedded, counts, spelling))
        _compare_newest(made, embedded, vectors)
    return made


def _counted(records: Iterable[_Record]) -> tuple[Counter[str], dict[str, str]]:
    """Return how many records have each word, and its first spelling."""
    spelling: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for record in records:
        counts.update(record.words.keys())
        for key, word in record.words.items():
            spelling.setdefault(key, word)
    return counts, spelling


def _most_frequent(counts: Mapping[str, float], most: int) -> list[str]:
    return sorted(counts, key=lambda key: (-counts[key], key))[:most]


def _described(
    cluster: Cluster, records: Sequence[_Record], counts: Counter[str], spelling: Mapping[str, str]
) -> dict[str, object]:
    """Return the view of a centroid: its share, its nearest record, and words that are its own."""
    members = [records[number] for number in cluster.members]
    inside, _ = _counted(members)
    # A word that all its records have and no others weighs most; the square lets frequent ones win over single ones.
    own = {key: count * count / counts[key] for key, count in inside.items()}
    return {
        "share": round(len(members) / len(records), _DIGITS),
        "records": len(members),
        "record_id": str(members[0].record_id),
        "descriptors": [spelling[key] for key in _most_frequent(own, CENTROID_DESCRIPTORS_SHOWN + _SPARE)],
    }


def _compare_newest(made: _Made, records: Sequence[_Record], vectors: Floats) -> None:
    """Compare the mean of the newest records with the mean of those before, if there are enough."""
    if len(records) < LEAST_FOR_DRIFT:
        return
    newest = min(len(records) // 4, MOST_RECENT)
    recent, baseline = direction(vectors[-newest:]), direction(vectors[:-newest])
    made.recent, made.baseline = HalfVector(recent), HalfVector(baseline)
    made.recent_records, made.baseline_records = newest, len(records) - newest
    made.recent_from = records[-newest].occurred_at
    made.drift = round(float(1 - recent @ baseline), _DIGITS)


def find_wrong_profiles(tx: Transaction, node_id: UUID, schema_name: str) -> list[str]:
    """Return a sentence for each profile of a node that is not stale and yet differs from the node's records.

    Args:
        tx: A transaction of the pipeline that reads one snapshot, so that records and profiles fit each other.
    """
    rows = [row for row in tx.execute(_QUERIES["of_node"], {"node_id": node_id}) if not row["is_stale"]]
    if not rows:
        return []
    extents, sample = _extents(tx, node_id), _sample(tx, node_id, schema_name)
    found = []
    for row in rows:
        extent = extents.get(row["covers"])
        made = None if extent is None else _made(_covered(sample, row["covers"]))
        if made is None or extent is None or _differs(row, made, extent):
            found.append(f"the profile of {row['covers']} records differs from them")
    return found


def _differs(row: DictRow, made: _Made, extent: _Extent) -> bool:
    exact = ("sampled", "embedded", "centroid_records", "descriptors", "recent_records", "baseline_records")
    if any(row[name] != getattr(made, name) for name in exact) or any(
        row[name] != getattr(extent, name) for name in ("records", "first_at", "last_at")
    ):
        return True
    stored = (*row["centroids"], row["recent"], row["baseline"])
    expected = (*made.centroids, made.recent, made.baseline)
    return len(stored) != len(expected) or any(
        (one is None) != (other is None)
        or (
            one is not None and other is not None and not np.allclose(one.to_numpy(), other.to_numpy(), atol=_TOLERANCE)
        )
        for one, other in zip(stored, expected, strict=True)
    )
