"""Segments, proposed nodes and outlines for the placement rules."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from neurigraph_pipelines.model import (
    ConceptKind,
    Message,
    NodeProposal,
    Outline,
    OutlineNode,
    Placement,
    Relation,
    Role,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)

USER = UUID(int=1)
START = datetime(2024, 5, 1, tzinfo=UTC)


def segment_of(authors: Sequence[str | None], *, at: datetime = START, first: int = 1, user: UUID = USER) -> Segment:
    messages = tuple(
        Message(first + i, Role.USER, f"message {i}", 2, at + timedelta(minutes=i), author=author)
        for i, author in enumerate(authors)
    )
    last = first + len(messages) - 1
    return Segment(
        SegmentRef(
            trigger_id=uuid4(),
            user_id=user,
            user_slug="bob",
            source_kind=SourceKind.CONVERSATION,
            source_id=uuid4(),
            source_external_id=None,
            title=None,
            trigger_type=TriggerType.CONVERSATION_END,
            first_message=first,
            last_message=last,
            token_count=1,
            attempts=0,
        ),
        messages,
    )


def topic(
    name: str, confidence: float = 0.9, keywords: tuple[str, ...] = (), aliases: tuple[str, ...] = ()
) -> NodeProposal:
    return NodeProposal(name, ConceptKind.TOPIC, confidence, keywords=keywords, aliases=aliases)


def person(
    name: str, confidence: float = 0.9, keywords: tuple[str, ...] = (), aliases: tuple[str, ...] = ()
) -> NodeProposal:
    return NodeProposal(name, ConceptKind.PERSON, confidence, keywords=keywords, aliases=aliases)


def placed(*steps: NodeProposal, first: int = 1, last: int = 4, relations: tuple[Relation, ...] = ()) -> Placement:
    return Placement(steps, first, last, relations)


def outline(*paths: str, kinds: dict[str, ConceptKind] | None = None) -> Outline:
    kinds = kinds or {}
    return Outline(tuple(OutlineNode(tuple(p.split("/")), kinds.get(p, ConceptKind.TOPIC)) for p in paths))


MARTA = Relation("Marta", "coworker", 0.8, of_user=True, kind=ConceptKind.PERSON)
