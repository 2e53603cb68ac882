"""Writing of edges between nodes, with the records that state them. Edges belong to the graph as a whole.

Their strength, count and validity follow from the evidence by trigger. ``navigation`` reads edges.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.naming import display_name, name_key
from neurigraph_pipelines.graph.provisioning import NodeRef, walk_path
from neurigraph_pipelines.graph.witnesses import Said, Witness, as_columns
from neurigraph_pipelines.model import Ending, PlannedEdge, PlannedNode
from neurigraph_pipelines.model.ports import Transaction

DEFAULT_RELATION = "related to"
"""The label of a relation for which the model gave none."""

ENDING_WEIGHT = 0.8
"""Weight of a statement that a relation has ended or never was."""

_QUERIES = statements("evidence")
_GRAPH = statements("graph")

StatedEdge = tuple[Witness, PlannedEdge]


class Places:
    """Looks up the nodes of a user at paths, each once in a transaction that has locked the graph.

    Args:
        personas: Whether paths lead into personas, as ``resolve_path`` says.
    """

    def __init__(self, tx: Transaction, user_id: UUID, user_slug: str, *, personas: bool = False) -> None:
        self._tx = tx
        self.user_id = user_id
        self.user_slug = user_slug
        self._personas = personas
        self._reached: dict[tuple[str, ...], NodeRef] = {}

    def reach(self, path: tuple[str, ...], planned: Sequence[PlannedNode] = ()) -> NodeRef:
        """Return the deepest node on a path, by names from layer 1 down; missing nodes that are planned are created."""
        if path not in self._reached:
            nodes = walk_path(self._tx, self.user_id, self.user_slug, path, planned, personas=self._personas)
            self._reached |= {path[: node.layer_depth]: node for node in nodes} | {path: nodes[-1]}
        return self._reached[path]

    def find(self, path: tuple[str, ...]) -> UUID | None:
        """Return the node at a path; None if a step does not exist."""
        node = self.reach(path)
        return node.node_id if len(node.names) == len(path) else None


def write_edges(tx: Transaction, places: Places, edges: Sequence[StatedEdge]) -> list[Said]:
    """Insert the evidence of planned edges; skip those with an end that does not exist.

    Returns:
        The ends, which the records mention.
    """
    rows, ends = [], []
    for witness, edge in edges:
        source, target = places.find(edge.from_path), places.find(edge.to_path)
        if source is None or target is None or source == target:
            continue
        messages = witness.messages_with(edge.to_path[-1] if edge.to_path else "")
        rows.append(
            {
                "record_id": witness.record_id,
                "detected_by": witness.detected_by.value,
                "from_node_id": source,
                "to_node_id": target,
                "relation": display_name(edge.relation) or DEFAULT_RELATION,
                "weight": edge.strength,
                "messages": messages,
            }
        )
        ends += [Said(witness, node_id=end, messages=messages) for end in (source, target)]
    if rows:
        show_nodes(tx, {said.node_id for said in ends if said.node_id is not None})
        tx.execute(_QUERIES["assert_edges"], {"user_id": places.user_id, **as_columns(rows)})
    return ends


def write_endings(tx: Transaction, user_id: UUID, endings: Sequence[tuple[Witness, Ending]]) -> None:
    """Insert that records end or deny edges that exist. Names that no node has, or several, are skipped."""
    rows = [
        {
            "record_id": witness.record_id,
            "detected_by": witness.detected_by.value,
            "other_key": name_key(one.other),
            "whose_key": name_key(one.whose) if one.whose is not None else None,
            "label": label,
            "stance": "denies" if one.denied else "ends",
            "valid_until": None if one.denied else one.until,
            "messages": witness.messages_with(one.other),
        }
        for witness, one in endings
        for label in one.labels
    ]
    if rows:
        tx.execute(_QUERIES["end_edges"], {"user_id": user_id, "weight": ENDING_WEIGHT, **as_columns(rows)})


def show_nodes(tx: Transaction, node_ids: Set[UUID]) -> None:
    """Show nodes again that only records in quarantine had made."""
    tx.execute(_GRAPH["show_nodes"], {"node_ids": list(node_ids)})
