"""Segments for the offline language model, made from turns."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

from neurigraph_pipelines.model import Message, Role, Segment, SegmentRef, SourceKind, TriggerType
from resources.offline.language_model import OfflineLanguageModel

MONDAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
MODEL = OfflineLanguageModel(None)
JUNK = set(
    re.findall(
        r"\w+",
        "wow hey thanks awesome cool great yeah hi hello congrats good nice ok okay sure yes no may monday today user "
        "assistant someone project manager grad phd professor i you we she he it gonna lol bye",
    )
)


def chat(
    *turns: tuple[str, str],
    at: datetime = MONDAY,
    slug: str = "bob",
    title: str | None = None,
    external_id: str | None = None,
) -> Segment:
    """A segment of turns; ``user`` and ``assistant`` are roles, everything else is a named author."""
    messages = tuple(
        Message(
            seq=i + 1,
            role=Role.ASSISTANT if who == "assistant" else Role.USER,
            content=text,
            token_count=len(text) // 4,
            occurred_at=at + timedelta(seconds=20 * i),
            author=None if who in {"user", "assistant"} else who,
        )
        for i, (who, text) in enumerate(turns)
    )
    ref = SegmentRef(
        trigger_id=uuid4(),
        user_id=UUID(int=1),
        user_slug=slug,
        source_kind=SourceKind.CONVERSATION,
        source_id=uuid4(),
        source_external_id=external_id,
        title=title,
        trigger_type=TriggerType.CONVERSATION_END,
        first_message=1,
        last_message=len(messages),
        token_count=1,
        attempts=0,
    )
    return Segment(ref, messages)
