"""Sums of evidence, computed in Python from the rows, and as they are stored."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from math import prod
from typing import Any
from uuid import UUID

from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import START, rows

_MOMENTS = {number: START + timedelta(hours=12 * number) for number in range(-4, 16)}
"""When validity is compared, by number: at and between the times that a test states."""


def sums_of_rows(here: Installation, user_id: UUID) -> dict[str, Any]:
    """Compute strengths, counts, validity and aliases from the rows of evidence, in Python."""
    evidence = rows(
        here,
        """SELECT v.*, coalesce(i.source_id::text, v.observed_by) AS source,
            coalesce(NOT i.quarantined AND NOT i.superseded, true) AS counts,
            coalesce(v.valid_from, i.occurred_at, v.created_at) AS since
        FROM neurigraph.edge_evidence AS v LEFT JOIN neurigraph.record_index AS i ON v.record_id = i.record_id
        WHERE v.user_id = %s AND v.edge_id IS NOT NULL""",
        user_id,
    )
    sums: dict[str, Any] = {}
    by_edge: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    for row in evidence:
        by_edge[row["edge_id"]].append(row)
    exclusive = {row["label"] for row in rows(here, "SELECT label FROM neurigraph.relation_types WHERE is_exclusive")}
    for edge_id, found in by_edge.items():
        sources: dict[str, float] = {}
        for row in found:
            if row["counts"] and row["stance"] == "asserts":
                sources[row["source"]] = max(row["weight"], sources.get(row["source"], 0.0))
        strength = 1 - prod(1 - weight for weight in sources.values())
        count = len({row["record_id"] for row in found if row["counts"] and row["stance"] == "asserts"})
        rivals = _rivals(evidence, found[0], exclusive)
        held = [number for number, time in _MOMENTS.items() if _holds(found, rivals, time)]
        sums[str(edge_id)] = (round(strength, 4), count, held)
    used = rows(
        here,
        """SELECT DISTINCT a.node_id, a.value FROM neurigraph.node_aliases AS a
        INNER JOIN neurigraph.graph_index AS g ON a.node_id = g.node_id AND a.value_key <> g.name_key
        WHERE a.user_id = %s AND (a.given_by IS NOT NULL OR EXISTS (
            SELECT FROM neurigraph.mentions AS m
            INNER JOIN neurigraph.record_index AS i ON m.record_id = i.record_id
            INNER JOIN neurigraph.sources AS s ON i.source_id = s.source_id
            WHERE m.alias_id = a.alias_id AND NOT i.quarantined AND s.privacy = 'shared'))""",
        user_id,
    )
    sums["aliases"] = sorted((str(row["node_id"]), row["value"]) for row in used)
    return sums


def _rivals(evidence: list[dict[str, Any]], one: dict[str, Any], exclusive: set[str]) -> list[dict[str, Any]]:
    """Return what is asserted of the other edges of an exclusive relation."""
    same = ("from_node_id", "relation")
    return [
        row
        for row in evidence
        if one["relation"] in exclusive and row["edge_id"] != one["edge_id"] and row["counts"]
        if row["stance"] == "asserts" and all(row[column] == one[column] for column in same)
    ]


def _holds(found: list[dict[str, Any]], rivals: list[dict[str, Any]], time: datetime) -> bool:
    """Return whether an assertion of an edge holds at a time: no model ends or denies what others asserted."""
    for own in [row for row in found if row["counts"] and row["stance"] == "asserts"]:
        others = [row for row in found if row["counts"] and row["stance"] != "asserts"]
        others = [row for row in others if own["detected_by"] == "model" or row["detected_by"] != "model"]
        later = [row["since"] for row in rivals if row["since"] > own["since"]]
        if own["detected_by"] != "model":
            later = [row["since"] for row in rivals if row["since"] > own["since"] and row["detected_by"] != "model"]
        begins = own["since"] if any(row["since"] < own["since"] for row in rivals) else None
        ends = [row["valid_until"] for row in others if row["stance"] == "ends"]
        ends = [end for end in ends if begins is None or end > begins] + later
        is_denied = any(row["stance"] == "denies" and (row["valid_from"] or time) <= time for row in others)
        if (begins is None or begins <= time) and all(time < end for end in ends) and not is_denied:
            return True
    return False


def stored_sums(here: Installation, user_id: UUID) -> dict[str, Any]:
    edges = rows(here, "SELECT * FROM neurigraph.node_edges WHERE user_id = %s", user_id)
    nodes = rows(here, "SELECT node_id, aliases FROM neurigraph.graph_index WHERE user_id = %s", user_id)
    sums: dict[str, Any] = {
        str(edge["edge_id"]): (
            round(edge["strength"], 4),
            edge["evidence_count"],
            [number for number, time in _MOMENTS.items() if any(time in span for span in edge["valid"])],
        )
        for edge in edges
    }
    sums["aliases"] = sorted((str(node["node_id"]), alias) for node in nodes for alias in node["aliases"])
    return sums
