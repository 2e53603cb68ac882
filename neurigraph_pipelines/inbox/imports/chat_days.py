"""Chats without an end, split into days, as messengers have them.

The modules of the formats read the messages. ``assemble`` builds the conversation of a day.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby

from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, assemble, derived_id
from neurigraph_pipelines.model import ImportedConversation, ImportNote, IncomingMessage, RejectedItem
from neurigraph_pipelines.model.sources import SourceDetails

DAY_BEGINS = timedelta(hours=4)
"""A day ends at 4 in the morning, because people talk past midnight."""


def days(
    where: str,
    chat_id: str | None,
    title: str,
    messages: Iterable[Spoken],
    *,
    fallback_time: datetime | None,
    details: SourceDetails,
) -> Iterator[Item]:
    """Build a conversation of each day of a chat.

    Its id is that of the chat and the day. So an export that begins later or ends later adds only new messages.

    Args:
        where: The chat's place in the file, for rejections.
        chat_id: The id of the chat in the system of origin, with the name of the system. None for a file that has none:
            then words and minutes decide.
        title: The chat's name. The title of a conversation is the name and the day.
        messages: In the order of the file. One without a time belongs to the day of the message before it.
        fallback_time: The time of messages before the first one with a time.
        details: Where the chat comes from.
    """
    accepted: list[IncomingMessage] = []
    for message in messages:
        if isinstance(message, RejectedItem | ImportNote):
            yield message
        else:
            accepted.append(message)
    if not accepted:
        yield RejectedItem(where, "no messages")
    key = chat_id or _id_by_words(accepted, details)
    for day, spoken in groupby(_dated(accepted, fallback_time), key=_day):
        read = assemble(
            where,
            f"{key}:{day or 'undated'}",
            spoken,
            title=f"{title}, {day}" if day else title,
            fallback_time=fallback_time,
            details=details,
        )
        yield from read if chat_id else by_words(read, has_certain_times=True)


def _id_by_words(messages: Sequence[IncomingMessage], details: SourceDetails) -> str:
    """Return an id for the days of a chat that are not stored yet."""
    first = messages[0] if messages else None
    return derived_id(details.origin or "chat", first.content if first else None, first.occurred_at if first else None)


def by_words(items: Iterable[Item], *, has_certain_times: bool) -> Iterator[Item]:
    """Mark the days of a chat whose file has no ids, so that those stored are recognised by words and minutes."""
    for item in items:
        if isinstance(item, ImportedConversation):
            yield replace(item, by_words=True, has_certain_times=has_certain_times)
        else:
            yield item


def with_ids(messages: Iterable[Spoken]) -> Iterator[Spoken]:
    """Give messages without ids an id derived from time and words, and a number among equal ones: people get new names.

    The position counts only among equal messages. So a message keeps its id if an export begins later.
    """
    seen: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, IncomingMessage) and message.external_id is None:
            name = derived_id("m", message.occurred_at, message.content)
            seen[name] += 1
            yield replace(message, external_id=name if seen[name] == 1 else f"{name}-{seen[name]}")
        else:
            yield message


def _dated(messages: Iterable[IncomingMessage], time: datetime | None) -> Iterator[IncomingMessage]:
    for message in messages:
        time = message.occurred_at or time
        yield message if message.occurred_at else replace(message, occurred_at=time)


def _day(message: IncomingMessage) -> date | None:
    return (message.occurred_at.astimezone(UTC) - DAY_BEGINS).date() if message.occurred_at else None
