"""Profiles of nodes, as callers see them: the themes of the records of a node, and how these change.

``profile_building`` makes them. Which records a caller's profile is made of is decided by row-level security: the owner
sees the one of all records, everybody else the one of shared records.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import require_found
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.graph import Centroid, Descriptor, Drift, NodeProfile, Profile

DESCRIPTORS_SHOWN = 16
CENTROID_DESCRIPTORS_SHOWN = 3

_QUERIES = statements("profiles")
_GRAPH = statements("graph")


def profile_of(database: Database, claims: Claims, node_id: UUID) -> NodeProfile:
    """Return a node's id with its profile, which is None as long as none was made.

    Raises:
        NotFoundError: No such node, or not visible to the caller.
    """
    with database.agent(claims) as tx:
        require_found(tx.execute(_GRAPH["node_by_id"], {"node_id": node_id}).fetchone())
        return NodeProfile(node_id=node_id, profile=find_profile(tx, node_id))


def find_profile(tx: Transaction, node_id: UUID) -> Profile | None:
    """Return the profile of a node for the caller, without its vectors; None if there is none.

    Names of the node itself describe nothing and are left out.
    """
    row = tx.execute(_QUERIES["read"], {"node_id": node_id}).fetchone()
    if row is None:
        return None
    own = frozenset(map(name_key, (row["node_name"], *row["aliases"])))
    drift = None
    if row["drift"] is not None:
        drift = Drift.model_validate({**row, "distance": row["drift"]})
    described = zip(row["descriptors"], row["weights"], strict=True)
    words = [Descriptor(word=word, weight=weight) for word, weight in described if name_key(word) not in own]
    themes = [Centroid(record_count=one.pop("records"), **one) for one in row["centroid_records"]]
    centroids = [_without_names(one, own) for one in themes]
    shown = {
        "record_count": row["records"],
        "descriptors": words[:DESCRIPTORS_SHOWN],
        "centroids": centroids,
        "drift": drift,
    }
    return Profile.model_validate({**row, **shown})


def _without_names(centroid: Centroid, own: frozenset[str]) -> Centroid:
    """Return a centroid with the first words that are no names of the node."""
    described = [word for word in centroid.descriptors if name_key(word) not in own][:CENTROID_DESCRIPTORS_SHOWN]
    return centroid.model_copy(update={"descriptors": described})
