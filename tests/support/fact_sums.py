"""What a caller should see of facts, computed in Python from the rows, beside what lists show."""

from __future__ import annotations

from collections import defaultdict
from typing import Any
from uuid import UUID

from neurigraph_pipelines.knowledge.fact_lists import FactFilter, list_facts
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views.kinds import FactStatus
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows

Seen = dict[UUID, tuple[Any, ...]]


def computed(here: Installation, user_id: UUID, open_nodes: set[UUID] | None = None) -> Seen:
    """Return status, version, superseder, canonical and number of sources of each fact that a caller should see.

    Args:
        open_nodes: What a caller with grants may read; None for the owner.
    """
    found = rows(
        here,
        """SELECT f.*, i.source_id, i.node_id, i.quarantined, i.superseded, s.privacy,
            coalesce(i.occurred_at, i.created_at) AS said_at
        FROM neurigraph.facts AS f INNER JOIN neurigraph.record_index AS i ON f.record_id = i.record_id
        INNER JOIN neurigraph.sources AS s ON i.source_id = s.source_id WHERE f.user_id = %s""",
        user_id,
    )
    visible = [
        row
        for row in found
        if not row["quarantined"]
        and (open_nodes is None or (row["privacy"] == "shared" and row["node_id"] in open_nodes))
    ]
    chains: dict[UUID, list[dict[str, Any]]] = defaultdict(list)
    said: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(visible, key=lambda one: one["version"]):
        chains[row["root_id"]].append(row)
        said[row["statement_key"]].append(row)
    seen: Seen = {}
    for row in visible:
        chain = chains[row["root_id"]]
        same = said[row["statement_key"]]
        same = [one for one in same if one is row or one["status"] != "archived"]
        place = chain.index(row)
        after = next((one["fact_id"] for one in chain[place + 1 :] if one["status"] != "archived"), None)
        status = "superseded" if after is not None or row["superseded"] else row["status"]
        first = min(same, key=lambda one: (one["privacy"] == "private", one["said_at"], one["fact_id"]))
        seen[row["fact_id"]] = (
            "archived" if row["status"] == "archived" else status,
            place + 1,
            after,
            first["fact_id"],
            len({one["source_id"] for one in same}),
        )
    return seen


def listed(here: Installation, claims: Claims) -> Seen:
    """Return the same of what the lists show a caller."""
    found = [
        one
        for status in FactStatus
        for one in list_facts(here.listing(claims, limit=200), FactFilter(status=status)).items
    ]
    names = ("status", "version", "superseded_by", "canonical_id", "source_count")
    return {one.fact_id: tuple(getattr(one, name) for name in names) for one in found}
