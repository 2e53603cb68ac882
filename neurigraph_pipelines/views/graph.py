"""Nodes with their profiles and edges, and the tree."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import CompressionState, ConceptKind, NodeType
from neurigraph_pipelines.views.pages import NEXT_CURSOR

LANGUAGE = Field(
    description="Language of most memories at the node, such as `de`; `other` without a stemmer, null without memories."
)


class CreatedNode(View):
    """A node that was created."""

    node_id: UUID


class Child(View):
    """A node directly below another."""

    node_id: UUID
    name: str
    node_type: NodeType
    kind: ConceptKind
    state: CompressionState
    record_count: int


class Edge(View):
    """A relation, with the node at its other end. Strength and counts are over the evidence that the caller sees."""

    edge_id: UUID
    relation: str
    strength: float
    evidence_count: int
    unproven_count: int = Field(description="Statements from before evidence was kept, whose memories are unknown.")
    valid: str = Field(description="The times at which the relation holds, as a Postgres multirange.")
    node_id: UUID
    node_name: str
    node_state: CompressionState
    direction: Literal["in", "out"]

    @property
    def held(self) -> str:
        """When it holds, in words; nothing if it always does."""
        return {"{(,)}": "", "{}": ", denied"}.get(self.valid, f", holds {self.valid}")

    @property
    def arrow(self) -> str:
        """Where it leads, as a sign before the other node."""
        return "→" if self.direction == "out" else "←"


class Descriptor(View):
    """A frequent entity or topic of a node's memories."""

    word: str
    weight: float = Field(description="The share of the memories that have it.")


class Centroid(View):
    """A theme of a node's memories."""

    share: float
    record_count: int
    record_id: UUID = Field(description="The memory nearest to it.")
    descriptors: list[str] = Field(description="Entities and topics that set these memories apart.")


class Drift(View):
    """The newest memories of a node compared with earlier ones."""

    distance: float = Field(
        description="Cosine distance of the two means: 0 is the same direction, 1 an unrelated one."
    )
    recent_records: int
    baseline_records: int
    recent_from: datetime = Field(description="When the first of the newest memories occurred.")


class Profile(View):
    """The characteristics of the memories of a node itself, without nodes below it.

    The owner's is made of all current memories, everybody else's of shared ones.
    """

    record_count: int
    sampled: int = Field(description="Memories that the profile is made of: of a large node, a sample.")
    embedded: int = Field(description="The sampled memories with vectors.")
    descriptors: list[Descriptor]
    centroids: list[Centroid] = Field(description="At most four, the largest share first.")
    drift: Drift | None = Field(description="Null if fewer than eight memories have vectors.")
    first_at: datetime = Field(description="When the first memory occurred.")
    last_at: datetime
    is_stale: bool = Field(description="Whether memories came or were replaced since; it is rebuilt at night.")
    rebuilt_at: datetime


class NodeProfile(View):
    """A node with its profile."""

    node_id: UUID
    profile: Profile | None = Field(
        description="Null until the next night, for a new node and after memories were revised, moved, hidden or "
        "forgotten."
    )


class ListedNode(Child):
    """A node of a list."""

    COLUMNS = ("node_id", "path", "kind", "record_count", "state")

    parent_node_id: UUID | None = Field(description="Null for the root, and if the caller does not see the parent.")
    path: str
    depth: int = Field(description="0 is the root.")
    summary: str | None
    aliases: list[str]
    language: Annotated[str | None, LANGUAGE]
    last_accessed_at: datetime
    created_at: datetime


class Shell(ListedNode):
    """The part of a node that is always open: identity, state, profile, children and edges."""

    keywords: list[str]
    profile: Profile | None
    children: list[Child]
    edges: list[Edge]


class Nodes(View):
    """A page of nodes, parents before their children."""

    nodes: list[ListedNode]
    next_cursor: str | None = NEXT_CURSOR


class TreeEdge(View):
    """A relation of a node to another one."""

    relation: str
    node_id: UUID = Field(description="The other node.")
    strength: float = Field(description="From 0 to 1, over the evidence that the caller sees.")


class TreeNode(Child):
    """A node with everything below it."""

    depth: int
    summary: str
    children: list[TreeNode]
    links: list[str] = Field(description="Relations to other nodes, such as `coworker → Business/Ana`.")
    edges: list[TreeEdge] = Field(description="The same relations with ids and strengths.")


class Tree(TreeNode):
    """The topmost node that the caller sees, with everything visible below it."""

    others: list[TreeNode] = Field(description="Other nodes that were granted, one by one; empty for the owner.")


class TreePage(Tree):
    """A page of the tree: some nodes with the nodes above them."""

    next_cursor: str | None = Field(description="Continues a graph that is larger than `limit`; null on the last page.")


class GraphChange(View, json_schema_serialization_defaults_required=True):
    """The result of a change to the graph, or of its dry run."""

    node_id: UUID | None = Field(
        description="The node that was changed, or that the records moved to; null if a dry run would create it."
    )
    node_path: str = Field(description="New path of that node.")
    record_count: int = Field(default_factory=int, description="Number of records that moved to another node.")
    nodes_moved: int = Field(default_factory=int, description="Number of nodes with a new path, nodes below included.")
    nodes_removed: int = Field(default_factory=int, description="Number of nodes that were merged into others.")
    grants_ended: int = Field(
        default_factory=int, description="Number of grants that ended because their node was removed."
    )
    dry_run: bool
