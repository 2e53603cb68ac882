"""Two places for a record that is filed above them because nobody is sure: a person decides between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.graph.edges import Places
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.provisioning import resolve_node, resolve_path
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.kinds import ActionKind

OPEN_HOURS = 24.0 * 30
"""How long a proposal stays open. After that the record stays where it is."""

_WORD = re.compile(r"[A-Za-z]{1,40}")


def propose_places(tx: Transaction, places: Places, record_id: UUID, paths: Sequence[tuple[str, ...]]) -> None:
    """Propose two places to the owner: each a node, or an area of life that has no node yet."""
    found = [written for path in paths if (written := _written(places, path)) is not None]
    if len(dict.fromkeys(found)) > 1:
        details = {"first": found[0], "second": found[1]}
        propose(
            tx,
            Doubt(
                ActionKind.MOVE,
                places.user_id,
                "unsure",
                "filing",
                record_id=record_id,
                details=details,
                hours=OPEN_HOURS,
            ),
        )


def _written(places: Places, path: tuple[str, ...]) -> str | None:
    """Return a place as an action has it: the id of a node, or the name of an area, which is no remembered text."""
    node_id = places.find(path)
    if node_id is not None:
        return str(node_id)
    return path[0] if len(path) == 1 and _WORD.fullmatch(path[0]) else None


def node_of(database: Database, user_id: UUID, written: str) -> UUID:
    """Return the node of a proposed place, which is made if it is an area without a node.

    Raises:
        NotFoundError: The node is gone, or the area is a persona.
    """
    with database.owner() as tx:
        if _WORD.fullmatch(written) is None:
            node = resolve_node(tx, UUID(written))
        else:
            slug = lock_graph_exclusive(tx, user_id)
            node = resolve_path(tx, user_id, slug, (written,), [PlannedNode((written,), ConceptKind.TOPIC, 1.0)])
    if node is None or not node.names:
        raise NotFoundError("the proposed place is gone")
    return node.node_id
