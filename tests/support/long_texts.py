"""Texts and segments of any length, for tests of how time grows with the input."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from neurigraph_pipelines.model import Message, Role, Segment, SegmentRef, SourceKind, TriggerType
from resources.tokens.tokenizer import EstimatedCounter

START = datetime(2024, 5, 1, tzinfo=UTC)


def name_of(number: int) -> str:
    """Return a different pronounceable name for each number."""
    syllables = []
    number += 20
    while number:
        number, rest = divmod(number, 60)
        syllables.append("bcdfghjklmnp"[rest // 5] + "aeiou"[rest % 5])
    return "".join(syllables).capitalize()


def lives(characters: int) -> str:
    """Return a text of which every third sentence is a fact."""
    told = (
        f"{name_of(number % 400)} moved to Porto on {number % 28 + 1} March because the rent was {number} euros. "
        f"I told {name_of(number % 300)} that we decided to buy {number} boxes of tea. That is why we were late. "
        for number in range(characters // 100)
    )
    return "".join(told)[:characters]


def segment_of(text: str, characters: int | None, authors: int = 0) -> Segment:
    """Return a segment of one message, or of messages with so many characters each."""
    width = characters or max(1, len(text))
    tokens = EstimatedCounter()
    messages = tuple(
        Message(
            number,
            Role.ASSISTANT if number % 2 == 0 and not authors else Role.USER,
            text[start : start + width],
            tokens.count(text[start : start + width]),
            START + timedelta(seconds=number),
            author=f"{name_of(number % authors)} {name_of(number % authors // 3)}" if authors else None,
        )
        for number, start in enumerate(range(0, max(1, len(text)), width), start=1)
    )
    ref = SegmentRef(
        UUID(int=1),
        UUID(int=2),
        "bob",
        SourceKind.CONVERSATION,
        UUID(int=3),
        None,
        None,
        TriggerType.CONVERSATION_END,
        1,
        len(messages),
        sum(message.token_count for message in messages),
        0,
    )
    return Segment(ref, messages)
