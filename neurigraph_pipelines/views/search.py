"""The answer of a search: hits, messages, the nodes searched, and the reasons of the ranking."""

from __future__ import annotations

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.kinds import (
    CompressionState,
    Detector,
    ReceivedThrough,
    Role,
    SourceKind,
    Tier,
    Voice,
)
from neurigraph_pipelines.views.retention import EXPIRES_AT, EXPIRY_REASON, TIER
from neurigraph_pipelines.views.sources import Provenance


class Origin(View):
    """Where a record comes from, as the server knows it, whatever its author states.

    Records of older versions have no door, key and time.
    """

    voices: dict[Voice, int] = Field(description="The number of passages by who speaks in them, most first.")
    persona_id: UUID | None = Field(description="The persona that handed in the record or a part of it, if visible.")
    persona_path: str | None = Field(description="Its path; null is the owner, or a persona not visible.")
    received_through: ReceivedThrough | None = Field(description="The door that all of it came through.")
    key_id: UUID | None = Field(description="The API key that all of it came with. Only the owner sees it.")
    received_at: datetime | None = Field(description="When the last of it arrived.")
    restated: int = Field(description="How many passages of the nodes searched say the same as its best message.")
    source: Provenance = Field(description="The writer's statements on its source, and its place among the versions.")


STORED = Field(description="False for messages that are not stored yet: they have no record, node and file.")


class Hit(View):
    """A record that matches the question, or the messages of a source that are not stored yet."""

    record_id: UUID | None
    stored: bool = STORED
    node_id: UUID | None
    node_path: str | None
    title: str
    summary: str
    score: float
    occurred_at: datetime
    source_kind: SourceKind
    source_id: UUID
    source_external_id: str | None
    file_id: UUID | None
    file_state: CompressionState | None
    origin: Origin
    tier: Tier = TIER
    expires_at: datetime | None = EXPIRES_AT
    expiry_reason: str | None = EXPIRY_REASON
    superseded: bool | None = Field(
        default=None, description="True if a newer memory replaced this one; only with `include_superseded`."
    )
    explain: dict[str, float | None] | None = Field(
        default=None, description="Components of the score; only with `explain`."
    )

    @property
    def key(self) -> UUID:
        """The key that joins a hit with its messages: the record, or the source of unstored messages."""
        return self.record_id or self.source_id


class MessageHit(View):
    """A single message that matches the question; `seq` is its number in its conversation."""

    record_id: UUID | None
    source_id: UUID
    stored: bool = STORED
    external_id: str | None
    seq: int
    score: float
    section: str | None = Field(description="The part of a document that it is of: its headings, or its page.")
    author: str | None = Field(description="Who said it: a persona is shown as the persona, whatever author it stated.")
    voice: Voice | None = Field(description="Who speaks, as the server knows it; null if unknown.")
    restated: int = Field(description="How many passages of the nodes searched say the same, this one included.")
    role: Role | None = Field(
        default=None, description="The role that the writer stated; like `occurred_at` only if it is not stored yet."
    )
    occurred_at: datetime | None = None
    content: str | None = Field(
        default=None,
        description="Its text, or the part of it that the question is about, if it is not stored yet; else open the "
        "file of its record.",
    )
    explain: dict[str, float | None] | None = Field(
        default=None, description="Components of the score; only with `explain`."
    )

    @property
    def key(self) -> UUID:
        """The key that joins a hit with its messages: the record, or the source of unstored messages."""
        return self.record_id or self.source_id


class Anchor(View):
    """A node that was searched, and the reason."""

    node_id: UUID
    node_path: str
    reason: str
    score: float


class Period(View):
    """A period that the question names. Memories of things that happened in it score higher."""

    words: str
    starts_at: datetime | None
    ends_at: datetime | None = Field(description="The first moment after the period.")
    certain: bool = Field(description="False if the words allow several readings and this is the likeliest.")


class Duplicates(View):
    """Statements that say the same as a text."""

    facts: list[FoundFact] = Field(
        description="Facts of the same words, with a `score` of 1, and facts with at least `threshold` of the words in "
        "common, the same figures and no other name."
    )
    messages: list[MessageHit] = Field(description="Messages of the same words, stored or not.")
    threshold: float


class NamedNode(View):
    """A node that the question names."""

    node_id: UUID
    node_path: str
    match: Literal["exact", "nearly", "begun"] = Field(
        description="The name as it is, with one letter wrong, or only its beginning."
    )
    added: float = Field(description="The sum that the name adds to the scores of the node's records.")


class EvidenceOfEdge(View):
    """A piece of evidence of an edge."""

    record_id: UUID | None
    observed_by: str | None = Field(description="The person who stated it, where no record does.")
    messages: list[int]
    stance: str = Field(description="`asserts`, `ends` or `denies`.")
    detected_by: Detector


class EdgeOfName(View):
    """An edge between a node that the question names and another one, which was searched for it."""

    edge_id: UUID
    from_node_id: UUID
    from_node_path: str
    to_node_id: UUID
    to_node_path: str
    relation: str
    strength: float
    evidence_count: int
    evidence: list[EvidenceOfEdge] = Field(description="The newest.")


class LendingFact(View):
    """A fact that lent a score to the messages that say it."""

    fact_id: UUID
    lent: float = Field(description="The score that it adds.")


class Rationale(View):
    """Which names, edges and facts moved the ranking."""

    names: list[NamedNode]
    edges: list[EdgeOfName]
    facts: list[LendingFact]


class Found(View):
    """The result of a search."""

    hits: list[Hit] = Field(description="Records, best first.")
    messages: list[MessageHit] = Field(description="Single messages of all records in one ranking, best first.")
    anchors: list[Anchor]
    warmed: int = Field(description="Number of nodes that were prefetched for later questions.")
    notes: list[str] = Field(description="The parts that were missing for this answer, for example vectors.")
    periods: list[Period] = Field(description="Periods that the question names.")
    facts: list[FoundFact] | None = Field(
        default=None, description="Single statements, best first; only with `facts` in `include`."
    )
    rationale: Rationale | None = Field(default=None, description="The reasons for the ranking; only with `explain`.")
