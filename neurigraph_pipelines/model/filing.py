"""Outlines, placements and filings: where a segment belongs in the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from neurigraph_pipelines.views.kinds import ConceptKind


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """An existing node as a model sees it, for filing.

    Attributes:
        path: Node names from layer 1 down; the user root is the empty path.
        centroid: Mean of the records' embeddings (``RECORD_DIMENSIONS`` floats), None without records.
        of_persona: Whether it is a persona or lies below one, whose keys read it.
    """

    path: tuple[str, ...]
    kind: ConceptKind
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    record_count: int = 0
    centroid: tuple[float, ...] | None = None
    of_persona: bool = False


@dataclass(frozen=True, slots=True)
class NodeCandidate:
    """A person or thing that may get a node: weights add up until they suffice.

    Attributes:
        parent: Path of the node under which it was mentioned.
        confidence: 0 to 1, from one segment or combined over several.
        segments: Number of segments with a weight.
        edges: Stated relations, written once the node exists.
    """

    name: str
    kind: ConceptKind
    parent: tuple[str, ...]
    confidence: float
    segments: int = 1
    edges: tuple[PlannedEdge, ...] = ()


@dataclass(frozen=True, slots=True)
class Outline:
    """All nodes of one user below the root, shallowest first, and the most likely candidates for new nodes.

    Attributes:
        closed: Paths at which no node may be planned, because nodes are there that the outline leaves out.
    """

    nodes: tuple[OutlineNode, ...] = ()
    candidates: tuple[NodeCandidate, ...] = ()
    closed: tuple[tuple[str, ...], ...] = ()

    def without_personas(self) -> Outline:
        """Return the outline for words that no persona sent: nothing of them is filed where a persona's keys read."""
        closed = tuple(node.path for node in self.nodes if node.of_persona)
        return replace(self, nodes=tuple(node for node in self.nodes if not node.of_persona), closed=closed)


@dataclass(frozen=True, slots=True)
class NodeProposal:
    """One step of a path that a model proposes, existing or new.

    Attributes:
        confidence: 0 to 1, that a node of its own belongs at this place.
        summary: One or two sentences on what the node represents.
    """

    name: str
    kind: ConceptKind
    confidence: float
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that the content states between the placed node and a named person or thing.

    Attributes:
        other: Name of the other node (an existing node or one proposed in the same batch).
        label: In the words of the content, such as ``coworker``, ``spouse``, ``builder``.
        strength: 0 to 1.
        of_user: The relation is the user's, not the placed node's (``my coworker Dave`` in content filed under
            another person); its edge starts at the topic.
        kind: Kind of the other, if the model states it; only then can the other get a node of its own.
    """

    other: str
    label: str
    strength: float = 0.5
    of_user: bool = False
    kind: ConceptKind | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """A relation between existing nodes that the content says has ended, or never was.

    Attributes:
        other: Name of the one who was related.
        whose: Name of the one whose relation it was; None for the user.
        labels: What the relation may be called.
        denied: Whether it never was.
        until: When it ended.
    """

    other: str
    whose: str | None
    labels: tuple[str, ...]
    denied: bool = False
    until: datetime | None = None

    def ended_at(self, until: datetime) -> Ending:
        """Return the same with the time of its end."""
        return replace(self, until=until)


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name that the content explicitly gives to the person or thing called ``name``."""

    name: str
    alias: str


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model files a run of messages: the steps from layer 1 down, with stated relations and other names.

    Attributes:
        proposals: If the model is unsure, the paths of nodes between which a person decides, the likelier first. Each
            exists, or is an area of life that the user may not have yet.
    """

    steps: tuple[NodeProposal, ...]
    first_message: int
    last_message: int
    relations: tuple[Relation, ...] = ()
    aliases: tuple[Alias, ...] = ()
    endings: tuple[Ending, ...] = ()
    proposals: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedNode:
    """A node that a filing needs and that does not exist yet."""

    path: tuple[str, ...]
    kind: ConceptKind
    confidence: float
    summary: str = ""
    keywords: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedEdge:
    """An edge to write or to strengthen between two nodes, existing or planned, by their paths."""

    from_path: tuple[str, ...]
    to_path: tuple[str, ...]
    relation: str
    strength: float = 0.5


@dataclass(frozen=True, slots=True)
class PlannedAlias:
    """Another name to add to the node at ``path``."""

    path: tuple[str, ...]
    alias: str


@dataclass(frozen=True, slots=True)
class Filing:
    """The decision for one run of messages, which becomes one record.

    Attributes:
        path: The node of the record, by names from layer 1 down; the empty path is the user root.
        new_nodes: Nodes on ``path`` to provision first, shallowest first.
        notes: Decisions worth logging, such as a reached depth limit.
        beside: Nodes to provision outside ``path``: people whose weight suffices now.
        aliases: Other names to add.
        candidates: Weights to store for nodes that do not exist yet.
        endings: Relations that have ended or never were.
        proposals: The nodes between which a person decides, by their paths; see ``Placement``.
        left_out: The enrichment that a defect kept from being made, if this is only where such segments go.
    """

    path: tuple[str, ...]
    first_message: int
    last_message: int
    new_nodes: tuple[PlannedNode, ...] = ()
    edges: tuple[PlannedEdge, ...] = ()
    notes: tuple[str, ...] = ()
    beside: tuple[PlannedNode, ...] = ()
    aliases: tuple[PlannedAlias, ...] = ()
    candidates: tuple[NodeCandidate, ...] = ()
    endings: tuple[Ending, ...] = ()
    proposals: tuple[tuple[str, ...], ...] = ()
    left_out: str | None = None
