"""Response bodies about nodes, the records in them, and the tree."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import BaseModel, Field

from neurigraph_pipelines.faces.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.model import (
    CompressionState,
    ConceptKind,
    ContentType,
    NodeType,
    SourceKind,
    Tier,
    TriggerType,
)
from neurigraph_pipelines.views.retention import EXPIRES_AT, EXPIRY_REASON, TIER

LANGUAGE = Field(
    description="Language of most memories at the node, such as `de`; `other` without a stemmer, null without memories."
)


class NewNode(BaseModel):
    """A node that was created."""

    node_id: UUID


class Child(BaseModel):
    """A node directly below another."""

    node_id: UUID
    name: str
    node_type: NodeType
    kind: ConceptKind
    state: CompressionState
    record_count: int


class Edge(BaseModel):
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


class Descriptor(BaseModel):
    """A frequent entity or topic of a node's memories."""

    word: str
    weight: float = Field(description="The share of the memories that have it.")


class Centroid(BaseModel):
    """What some of a node's memories gather around."""

    share: float
    records: int
    record_id: UUID = Field(description="The memory nearest to it.")
    descriptors: list[str] = Field(description="Entities and topics that set these memories apart.")


class Drift(BaseModel):
    """The newest memories of a node compared with those before."""

    distance: float = Field(
        description="Cosine distance of the two means: 0 is the same direction, 1 an unrelated one."
    )
    recent_records: int
    baseline_records: int
    recent_from: datetime = Field(description="When the first of the newest memories occurred.")


class Profile(BaseModel):
    """What characterises the memories of a node, without those below it.

    The owner's is made of all current memories, everybody else's of shared ones.
    """

    records: int
    sampled: int = Field(description="Memories that the profile is made of: of a large node, a sample.")
    embedded: int = Field(description="Those of them with vectors.")
    descriptors: list[Descriptor]
    centroids: list[Centroid] = Field(description="At most four, the largest share first.")
    drift: Drift | None = Field(description="Null if fewer than eight memories have vectors.")
    first_at: datetime = Field(description="When the first memory occurred.")
    last_at: datetime
    is_stale: bool = Field(description="Whether memories came or were replaced since; it is rebuilt at night.")
    rebuilt_at: datetime


class NodeProfile(BaseModel):
    """A node with its profile."""

    node_id: UUID
    profile: Profile | None = Field(
        description="Null until the next night, for a new node and after memories were revised, moved, hidden or "
        "forgotten."
    )


class Shell(BaseModel):
    """The part of a node that is always open: identity, state, profile, children and edges."""

    node_id: UUID
    name: str
    node_type: NodeType
    kind: ConceptKind
    depth: int = Field(description="0 is the root.")
    path: str
    parent_node_id: UUID | None
    state: CompressionState
    keywords: list[str]
    aliases: list[str]
    summary: str | None
    record_count: int
    language: Annotated[str | None, LANGUAGE]
    last_accessed_at: datetime
    created_at: datetime
    profile: Profile | None
    children: list[Child]
    edges: list[Edge]


class Record(BaseModel):
    """One row of a node's metadata layer, with its file."""

    record_id: UUID
    title: str
    summary: str
    content_type: ContentType
    trigger_type: TriggerType | None
    embedding_pending: bool
    entities: list[str]
    topics: list[str]
    dates: list[str]
    relationships: list[str]
    occurred_at: datetime
    created_at: datetime
    file_id: UUID | None
    file_name: str | None
    file_state: CompressionState | None
    size_bytes: int | None
    stored_bytes: int | None
    tier: Tier = TIER
    expires_at: datetime | None = EXPIRES_AT
    expiry_reason: str | None = EXPIRY_REASON


class Records(BaseModel):
    """A page of records, newest first."""

    records: list[Record]
    next_cursor: str | None = NEXT_CURSOR


class ListedRecord(Record):
    """A record of a list, with its node and source."""

    node_id: UUID
    node_path: str
    source_kind: SourceKind
    source_id: UUID
    superseded_by: UUID | None = Field(description="The newer memory that replaces this one in searches.")


class ListedRecords(BaseModel):
    """A page of records, those stored last first."""

    records: list[ListedRecord]
    next_cursor: str | None = NEXT_CURSOR


class ListedNode(BaseModel):
    """A node of a list."""

    node_id: UUID
    parent_node_id: UUID | None = Field(description="Null for the root, and if the caller does not see the parent.")
    name: str
    path: str
    node_type: NodeType
    kind: ConceptKind
    depth: int = Field(description="0 is the root.")
    state: CompressionState
    summary: str | None
    aliases: list[str]
    record_count: int
    language: Annotated[str | None, LANGUAGE]
    last_accessed_at: datetime
    created_at: datetime


class Nodes(BaseModel):
    """A page of nodes, parents before their children."""

    nodes: list[ListedNode]
    next_cursor: str | None = NEXT_CURSOR


class TreeEdge(BaseModel):
    """A relation of a node to another one."""

    relation: str
    node_id: UUID = Field(description="The other node.")
    strength: float = Field(description="From 0 to 1, over the evidence that the caller sees.")


class TreeNode(BaseModel):
    """A node with everything below it."""

    node_id: UUID
    name: str
    node_type: NodeType
    kind: ConceptKind
    depth: int
    state: CompressionState
    record_count: int
    summary: str
    children: list[TreeNode]
    links: list[str] = Field(description="Relations to other nodes, such as `coworker → Business/Ana`.")
    edges: list[TreeEdge] = Field(description="The same relations with ids and strengths.")


class Tree(TreeNode):
    """The topmost node that the caller sees, with everything visible below it."""

    others: list[TreeNode] = Field(description="Other nodes that were granted, one by one; empty for the owner.")
    next_cursor: str | None = Field(description="Continues a graph that is larger than `limit`; null on the last page.")
