"""Mentions of nodes, evidence of edges, and other names of nodes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.kinds import AliasType, Detector, MentionRole, Stance
from neurigraph_pipelines.views.pages import NEXT_CURSOR

_MESSAGES = Field(description="Numbers of the messages that say it, at most 32; empty for the whole memory.")


class Mention(View):
    """A memory that speaks of a node."""

    COLUMNS = ("record_id", "role", "alias", "node_path", "title")

    mention_id: UUID
    record_id: UUID
    title: str | None
    node_path: str | None = Field(description="Path of the memory's own node.")
    role: MentionRole = Field(description="`subject` is the node that the memory is filed at.")
    alias: str | None = Field(description="The other name that it uses, if any.")
    messages: list[int] = _MESSAGES
    confidence: float
    detected_by: Detector
    occurred_at: datetime | None
    superseded: bool = Field(description="Whether a newer memory replaces this one.")
    created_at: datetime


class Mentions(View):
    """A page of mentions, the last stored first."""

    mentions: list[Mention]
    next_cursor: str | None = NEXT_CURSOR


class StatedEdge(View):
    """An edge, with strength and counts over the evidence that the caller sees."""

    edge_id: UUID
    from_node_id: UUID
    from_name: str
    to_node_id: UUID
    to_name: str
    relation: str
    inverse: str | None = Field(description="The relation as read from its other end, if it has a name.")
    is_circular: bool = Field(description="Whether the edge closes a circle, although its type has none.")
    strength: float
    evidence_count: int
    unproven_count: int = Field(description="Statements from before evidence was kept, whose memories are unknown.")
    valid: str = Field(description="The times at which the relation holds, as a Postgres multirange.")


class EdgeEvidence(View):
    """A piece of evidence that asserts, ends or denies an edge."""

    evidence_id: UUID
    record_id: UUID | None = Field(description="The memory that states it; null if a person does, or if unproven.")
    title: str | None
    observed_by: str | None = Field(description="The person who states it, where no memory does.")
    statements: int = Field(description="More than 1 only for unproven statements.")
    proven: bool = Field(description="False for statements whose memories are unknown.")
    messages: list[int] = _MESSAGES
    weight: float
    stance: Stance
    valid_from: datetime | None
    valid_until: datetime | None
    detected_by: Detector
    superseded: bool = Field(description="Whether a newer memory replaces the memory; then it does not count.")
    created_at: datetime


class StatedEvidence(View):
    """A person's statement about an edge."""

    evidence_id: UUID
    edge_id: UUID
    stance: Stance
    valid_from: datetime | None
    valid_until: datetime | None
    created: bool = Field(description="False if you said the same already.")


class Evidence(View):
    """An edge, and a page of its evidence, the newest first."""

    edge: StatedEdge
    evidence: list[EdgeEvidence]
    next_cursor: str | None = NEXT_CURSOR


class NodeAlias(View):
    """Another name or a typed id of a node."""

    alias_id: UUID
    node_id: UUID
    type: AliasType
    value: str
    verified: bool
    created_at: datetime


class ListedAlias(NodeAlias):
    """An alias of a list."""

    node_path: str
    verified_by: str | None
    given_by: str | None = Field(description="The person who gave it; null if memories use it.")
    mention_count: int


class Aliases(View):
    """A page of aliases, the oldest first."""

    aliases: list[ListedAlias]
    next_cursor: str | None = NEXT_CURSOR


class RemovedAliases(View):
    """How many aliases were removed."""

    removed: int
