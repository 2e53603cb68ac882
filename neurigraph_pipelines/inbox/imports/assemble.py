"""Steps that all formats share once their messages are read: times, ids and duplicates.

The modules of the formats read the messages.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from neurigraph_pipelines.model import EventKind, ImportedConversation, ImportNote, IncomingMessage, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS, clean_text, spoken
from neurigraph_pipelines.text.json_fields import Json, JsonObject

Item = ImportedConversation | RejectedItem | ImportNote
"""What a reader yields."""

Spoken = IncomingMessage | RejectedItem | ImportNote
"""What the reader of one conversation yields."""

UNKNOWN = "Unknown"
"""The author of a message whose writer has no name in the file; a message without an author is one of the owner."""

_SECONDS = re.compile(r"\d{9,11}\.\d+")

BY_FILE = ImportNote("conversations without a time of their own, dated by the file", 1)


@dataclass(frozen=True, slots=True)
class Opening:
    """Stands for the missing id of a conversation, which is then derived from its first words.

    Names of files, titles and people do not count, because they change; ``known_openings`` compares the rest.

    Attributes:
        prefix: The name of the format.
        time: The time at which the conversation begins if its first message has none, as the file states it.
        is_timed: Whether the times of the messages stand in the file, so that they count.
        former: Ids that earlier releases derived.
    """

    prefix: str
    time: datetime | None = None
    is_timed: bool = True
    former: tuple[str, ...] = ()

    def id_of(self, first: IncomingMessage) -> str:
        """Return the id of a conversation by its first message, before that gets a time of the file."""
        time = (first.occurred_at or self.time) if self.is_timed else None
        return derived_id(self.prefix, first.role, first.content, time)


def moment(value: Json) -> datetime | None:
    """Parse a time in seconds since 1970 or ISO 8601 with its offset; return None for anything else."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return spoken(datetime.fromtimestamp(float(value), UTC))
        if isinstance(value, str):
            seconds = _SECONDS.fullmatch(value)  # more digits than a number holds
            return spoken(datetime.fromtimestamp(float(value), UTC) if seconds else datetime.fromisoformat(value))
    except (ValueError, OverflowError, OSError, InvalidInputError):
        return None
    return None


def moment_of(row: JsonObject, *names: str) -> datetime | None:
    """Return the first of some fields that is a time, as ``moment`` reads it."""
    return next((time for name in names if (time := moment(row.get(name)))), None)


def derived_id(prefix: str, *parts: object) -> str:
    """Return an id derived from the given parts: the same parts always give the same id."""
    digest = hashlib.sha256()
    for part in parts:
        plain = part.astimezone(UTC) if isinstance(part, datetime) and part.tzinfo else part
        encoded = ("" if plain is None else str(plain)).encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(8) + encoded)
    return f"{prefix}-{digest.hexdigest()[:24]}"


def message_id(number: int, message: IncomingMessage) -> str:
    """Derive an id from position and content, so that a conversation that grew keeps the ids of its messages.

    Args:
        number: Position in the conversation, from 1.
        message: The message. With its content in the id, two conversations that are mistaken for one cannot hide each
            other's messages.
    """
    return derived_id(f"m{number:04}", message.role, message.author, message.content)[: len(f"m{number:04}-") + 8]


def assemble(
    where: str,
    external_id: str | Opening,
    messages: Iterable[Spoken],
    *,
    fallback_time: datetime | None,
    title: str | None = None,
    started_at: datetime | None = None,
    ended_at: datetime | None = None,
    event_kind: EventKind | None = None,
    details: SourceDetails = NO_DETAILS,
) -> Iterator[Item]:
    """Build a conversation or an event from its messages.

    Args:
        where: The place in the file, for rejections.
        external_id: The id in the system of origin, or what stands for one; empty for the next version of a source.
        messages: The messages in order, with the rejections from reading them.
        fallback_time: The time of the conversation if nothing else gives one.
        title: Truncated to ``MAX_NAME_CHARACTERS``.
        started_at, ended_at: Default: the time of the first message, and the latest time of one.

    Yields:
        The rejections and notes; then the conversation, or a rejection if it has no messages. A message with the id of
        an earlier one is dropped if their content is equal and rejected otherwise. A message without a time gets the
        time of the message before it, else of the next one, else of the conversation.
    """
    if isinstance(external_id, str) and len(external_id) > MAX_NAME_CHARACTERS:
        yield _too_long(where, external_id)
        return
    yield from _without_duplicates(messages, where, accepted := list[IncomingMessage]())
    if not accepted:
        return
    timed = _with_times(accepted, started_at or fallback_time)
    if started_at is None and fallback_time and not any(message.occurred_at for message in accepted):
        yield BY_FILE
    times = [message.occurred_at for message in timed if message.occurred_at is not None]
    name, former_ids = _ids(external_id, accepted[0])
    yield ImportedConversation(
        clean_text(name, "repair")[0],
        tuple(timed),
        title=_short(title),
        started_at=started_at or (times[0] if times else None),
        ended_at=ended_at or (max(times) if times else None),
        event_kind=event_kind,
        details=details,
        by_opening=isinstance(external_id, Opening),
        former_ids=former_ids,
    )


def _ids(external_id: str | Opening, first: IncomingMessage) -> tuple[str, tuple[str, ...]]:
    """Return the id of a conversation, and its former ones."""
    return (external_id, ()) if isinstance(external_id, str) else (external_id.id_of(first), external_id.former)


def _too_long(where: str, external_id: str) -> RejectedItem:
    reason = f"its external id has {len(external_id):,} characters and the limit is {MAX_NAME_CHARACTERS}"
    return RejectedItem(where, reason)


def _without_duplicates(
    messages: Iterable[Spoken], where: str, accepted: list[IncomingMessage]
) -> Iterator[RejectedItem | ImportNote]:
    """Append the messages to ``accepted``, each id once, and yield the other items."""
    by_id: dict[str, IncomingMessage] = {}
    for message in messages:
        if isinstance(message, RejectedItem | ImportNote):
            yield message
            continue
        known = by_id.get(message.external_id) if message.external_id else None
        if known is None:
            accepted.append(message)
            if message.external_id:
                by_id[message.external_id] = message
        elif not _same_content(known, message):
            yield RejectedItem(where, f"message {message.external_id!r} occurs twice with different content")
    if not accepted:
        yield RejectedItem(where, "no messages")


def _same_content(one: IncomingMessage, other: IncomingMessage) -> bool:
    return (one.role, one.author, one.content, one.tool_calls, one.event) == (
        other.role,
        other.author,
        other.content,
        other.tool_calls,
        other.event,
    )


def _short(title: str | None) -> str | None:
    if title is None or not title.strip():
        return None
    title = clean_text(title, "repair")[0]
    return title if len(title) <= MAX_NAME_CHARACTERS else title[: MAX_NAME_CHARACTERS - 1] + "…"


def _with_times(messages: Sequence[IncomingMessage], fallback: datetime | None) -> list[IncomingMessage]:
    known = next((message.occurred_at for message in messages if message.occurred_at), fallback)
    timed: list[IncomingMessage] = []
    for message in messages:
        known = message.occurred_at or known
        timed.append(message if message.occurred_at else replace(message, occurred_at=known))
    return timed
