"""Sums of evidence: strengths, counts and aliases, computed in Python from the rows, and as they are stored."""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Any
from uuid import UUID

from neurigraph_pipelines.wiring import Installation
from tests.support.memories import rows


def sums_of_rows(here: Installation, user_id: UUID) -> dict[str, Any]:
    """Compute strengths, counts and aliases from the rows of evidence, in Python."""
    evidence = rows(
        here,
        """SELECT v.edge_id, v.record_id, v.weight, i.source, NOT i.quarantined AND NOT i.superseded AS counts
        FROM neurigraph.edge_evidence AS v INNER JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
        WHERE v.user_id = %s AND v.edge_id IS NOT NULL""",
        user_id,
    )
    sums: dict[str, Any] = {}
    by_edge: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in evidence:
        by_edge[row["edge_id"]].append(row)
    for edge_id, found in by_edge.items():
        sources: dict[str, float] = {}
        for row in found:
            if row["counts"]:
                sources[row["source"]] = max(row["weight"], sources.get(row["source"], 0.0))
        strength = 1 - prod(1 - weight for weight in sources.values())
        count = len({row["record_id"] for row in found if row["counts"]})
        sums[str(edge_id)] = (round(strength, 4), count)
    used = rows(
        here,
        """SELECT DISTINCT a.node_id, a.value FROM neurigraph.node_aliases AS a
        INNER JOIN neurigraph.graph_index AS g ON a.node_id = g.node_id AND a.value_key <> g.name_key
        WHERE a.user_id = %s AND (a.given_by IS NOT NULL OR EXISTS (
            SELECT FROM neurigraph.mentions AS m
            INNER JOIN neurigraph.record_index AS i ON m.record_id = i.record_id
            INNER JOIN neurigraph.sources AS s ON i.source = s.kind || ':' || s.source_id
            WHERE m.alias_id = a.alias_id AND NOT i.quarantined AND s.privacy = 'shared'))""",
        user_id,
    )
    sums["aliases"] = sorted((str(row["node_id"]), row["value"]) for row in used)
    return sums


def stored_sums(here: Installation, user_id: UUID) -> dict[str, Any]:
    edges = rows(here, "SELECT * FROM neurigraph.node_edges WHERE user_id = %s", user_id)
    nodes = rows(here, "SELECT node_id, aliases FROM neurigraph.graph_index WHERE user_id = %s", user_id)
    sums: dict[str, Any] = {
        str(edge["edge_id"]): (round(edge["strength"], 4), edge["evidence_count"]) for edge in edges
    }
    sums["aliases"] = sorted((str(node["node_id"]), alias) for node in nodes for alias in node["aliases"])
    return sums
