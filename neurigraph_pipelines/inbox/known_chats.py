"""Days of chats that are stored already, recognised by words and minutes, because the files of some apps have no ids.

Names of chats and people change, and the order of day and month may have been read wrongly: neither counts.
``importing`` adds what this returns.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.array_literals import columns
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.imports.assemble import derived_id
from neurigraph_pipelines.inbox.intake import content_hash
from neurigraph_pipelines.inbox.redaction import redact_message
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage
from neurigraph_pipelines.model.ports import Redactor, Transaction

_QUERIES = statements("inbox")

_LEAST_SHARED = 0.6
"""Share of the messages of the time that two exports have in common: deleted messages and files differ."""

_Said = tuple[datetime, bytes]
"""The minute of a message, and the hash of its author and words."""


class Known(NamedTuple):
    """A conversation as it is to be added.

    Attributes:
        conversation: With the ids of stored messages, or as the next version of it if its dates are corrected.
        shared: Messages of a corrected day that were stored already.
    """

    conversation: ImportedConversation
    shared: int = 0


@dataclass(slots=True)
class _Stored:
    """A stored day, with the external ids of its messages by their words, and its people.

    Attributes:
        said: With the moments of the messages.
        on_clock: With the times on the clock of those who spoke.
        offset: Of that clock, in minutes; None if nobody has said its zone.
    """

    source_id: UUID
    name: str
    said: list[_Said]
    external_ids: list[str]
    people: set[str | None]
    on_clock: list[_Said] = field(default_factory=list)
    offset: int | None = None


@dataclass(slots=True)
class _Match:
    """A stored day, and the imported one with its times as they are stored, and its words by stored names."""

    stored: _Stored
    shared: int
    read: ImportedConversation
    is_swapped: bool
    said: list[_Said]
    offset: int | None = None


class KnownChats:
    """Recognises the days of the chats of one import.

    Args:
        redactor: Of stored messages, so that redacted words are recognised.
    """

    def __init__(self, redactor: Redactor | None) -> None:
        self._redactor = redactor
        self._are_dates_swapped = False

    def recognised(self, tx: Transaction, user_id: UUID, conversations: Sequence[ImportedConversation]) -> list[Known]:
        """Return conversations with the ids of those that are stored already.

        If the order of day and month is certain and differs from the stored one, the day becomes the next version of
        the stored day. If it is only assumed, the stored order counts for the whole file.

        Args:
            tx: A transaction of the caller.
            user_id: The owner.
            conversations: In the order of the file. Those with ids of their own are returned as they are.
        """
        by_words = {number: one for number, one in enumerate(conversations) if one.by_words}
        stored = _near(tx, user_id, by_words) if by_words else {}
        matches = {number: self._best(one, stored.get(number, [])) for number, one in by_words.items()}
        assumed = [match for number, match in matches.items() if match and not by_words[number].has_certain_times]
        if assumed:
            self._are_dates_swapped = sum(match.is_swapped for match in assumed) * 2 > len(assumed)
        found: list[Known] = []
        for number, one in enumerate(conversations):
            if number in by_words:
                found.append(self._known(one, matches[number], stored.get(number, [])))
            else:
                found.append(Known(one))
        return found

    def _known(self, one: ImportedConversation, match: _Match | None, stored: Sequence[_Stored]) -> Known:
        is_assumed = not one.has_certain_times
        if match is not None and not is_assumed:
            if match.read is not one and match.shared == len(match.stored.said):
                details = replace(one.details, replaces=match.stored.source_id)
                return Known(replace(one, external_id="", details=details), match.shared)
            return Known(self._with_ids(one, match))
        read = _swapped(one) if is_assumed and (match.is_swapped if match else self._are_dates_swapped) else one
        if match is not None:
            return Known(self._with_ids(read, match))
        if any(day.name == one.external_id for day in stored):  # another chat that begins the day with the same words
            return Known(replace(read, external_id=derived_id(one.external_id, *self._said(one))))
        return Known(read)

    def _best(self, one: ImportedConversation, stored: Sequence[_Stored]) -> _Match | None:
        matches = [
            _Match(day, shared, read, is_swapped, said, offset)
            for read, is_swapped in _readings(one)
            for own in [self._said(read)]
            for day in stored
            for said in [self._by_stored_names(read, own, day)]
            for then, offset in ((day.said, None), (day.on_clock, day.offset))
            if (shared := _shared(said, then))
        ]
        return max(matches, key=lambda match: (match.shared, match.read is one, not match.is_swapped), default=None)

    def _with_ids(self, one: ImportedConversation, match: _Match) -> ImportedConversation:
        """Return a conversation with the ids of its stored messages."""
        stored = match.stored
        ids: defaultdict[_Said, deque[str]] = defaultdict(deque)
        known = stored.said if match.offset is None else stored.on_clock
        for said, external_id in zip(known, stored.external_ids, strict=True):
            ids[said].append(external_id)
        messages = [
            replace(message, external_id=ids[said].popleft()) if ids[said] else _on_clock(message, match.offset)
            for message, said in zip(one.messages, match.said, strict=True)
        ]
        return replace(one, external_id=stored.name, messages=tuple(messages))

    def _by_stored_names(self, read: ImportedConversation, said: list[_Said], day: _Stored) -> list[_Said]:
        """Return the messages of a day under the stored names of people who have others by now."""
        people = {message.author for message in read.messages}
        new, gone = people - day.people, day.people - people
        if not new or not gone or new == people:  # somebody keeps the name
            return said
        stored = {*day.said, *day.on_clock}
        minutes = {minute for minute, _ in stored}
        votes: Counter[tuple[str | None, str | None]] = Counter()
        for message, (minute, _) in zip(read.messages, said, strict=True):
            if message.author in new and minute in minutes:
                for name in gone:
                    hashed = content_hash(self._redacted(replace(message, author=name)))
                    votes[message.author, name] += (minute, hashed) in stored
        names: dict[str | None, str | None] = {}
        for (author, name), count in votes.most_common():
            if count and author not in names and name not in names.values():
                names[author] = name
        messages = tuple(replace(one, author=names.get(one.author, one.author)) for one in read.messages)
        return self._said(replace(read, messages=messages)) if names else said

    def _redacted(self, message: IncomingMessage) -> IncomingMessage:
        return message if self._redactor is None else redact_message(self._redactor, message)[0]

    def _said(self, one: ImportedConversation) -> list[_Said]:
        messages = map(self._redacted, one.messages)
        return [(_minute(time), content_hash(message)) for message, time in zip(messages, _times(one), strict=True)]


def _near(tx: Transaction, user_id: UUID, by_words: Mapping[int, ImportedConversation]) -> dict[int, list[_Stored]]:
    """Return for each conversation the stored days near its times, in either order of day and month."""
    wanted: list[dict[str, object]] = []
    for number, one in by_words.items():
        for read in {_times(read) for read, _ in _readings(one)}:
            if read:
                wanted.append({"number": number, "origin": one.details.origin, "begins": min(read), "ends": max(read)})
    found: defaultdict[int, dict[UUID, _Stored]] = defaultdict(dict)
    seen: set[tuple[int, UUID, str]] = set()
    for row in tx.execute(_QUERIES["days_of_chats"], {"user_id": user_id, **columns(wanted)}) if wanted else ():
        number, source_id = row["number"], row["source_id"]
        if (number, source_id, row["external_id"]) in seen:  # near both readings
            continue
        seen.add((number, source_id, row["external_id"]))
        day = found[number].setdefault(source_id, _Stored(source_id, row["name"], [], [], set()))
        moment, offset, hashed = row["occurred_at"], row["utc_offset"], bytes(row["content_hash"])
        day.said.append((_minute(moment), hashed))
        if offset:
            day.offset = offset
        day.on_clock.append((_minute(moment + timedelta(minutes=offset or 0)), hashed))
        day.external_ids.append(row["external_id"])
        day.people.add(row["author"])
    return {number: list(days.values()) for number, days in found.items()}


def _shared(new: Sequence[_Said], stored: Sequence[_Said]) -> int:
    """Return the number of messages that two days share; 0 if they are not parts of one day of a chat.

    An export may begin later or end earlier than another one, so one of them begins where they meet, and from there on
    both have the same messages up to the end of one of them.
    """
    shared = sum((Counter(new) & Counter(stored)).values())
    if not shared:
        return 0
    in_new, in_stored = set(new), set(stored)
    left = next(number for number, said in enumerate(new) if said in in_stored)
    right = next(number for number, said in enumerate(stored) if said in in_new)
    return shared if shared >= _LEAST_SHARED * min(len(new) - left, len(stored) - right) else 0


def _times(one: ImportedConversation) -> tuple[datetime, ...]:
    """Return the times of the messages; a day of a chat has no message without one."""
    return tuple(message.occurred_at for message in one.messages if message.occurred_at is not None)


def _readings(one: ImportedConversation) -> Iterator[tuple[ImportedConversation, bool]]:
    """Yield a conversation as its times may be stored: in either order of day and month, in its zone or in none."""
    for read, is_swapped in ((one, False), (_swapped(one), True)):
        yield read, is_swapped
        if any(time.utcoffset() for time in _times(read)):
            yield _without_zone(read), is_swapped


def _without_zone(one: ImportedConversation) -> ImportedConversation:
    messages = (
        replace(message, occurred_at=message.occurred_at.replace(tzinfo=UTC) if message.occurred_at else None)
        for message in one.messages
    )
    return replace(one, messages=tuple(messages))


def _on_clock(message: IncomingMessage, offset: int | None) -> IncomingMessage:
    """Return a message whose zone nobody has said in the zone of the day that it goes on."""
    time = message.occurred_at
    if offset is None or time is None or time.utcoffset():
        return message
    return replace(message, occurred_at=time.replace(tzinfo=timezone(timedelta(minutes=offset))))


def _minute(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0)


def _swapped(one: ImportedConversation) -> ImportedConversation:
    """Return a conversation with day and month of its times exchanged, where both can be months."""
    began, title = _swapped_time(one.started_at), one.title
    if title is not None and began is not None and one.started_at is not None:
        title = title.replace(str(one.started_at.date()), str(began.date()))
    return replace(
        one,
        messages=tuple(_swapped_message(message) for message in one.messages),
        title=title,
        started_at=began,
        ended_at=_swapped_time(one.ended_at),
    )


def _swapped_message(message: IncomingMessage) -> IncomingMessage:
    return replace(message, occurred_at=_swapped_time(message.occurred_at))


def _swapped_time(time: datetime | None) -> datetime | None:
    return time.replace(day=time.month, month=time.day) if time is not None and time.day <= 12 else time
