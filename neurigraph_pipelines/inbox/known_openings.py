"""Conversations of files without ids that are stored already, recognised by their words in order.

Names of files, titles and people change, so none of them counts. Two conversations that begin alike stay two as soon as
a later message differs. ``known_chats`` recognises the days of chats; ``importing`` adds what this returns.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.array_literals import columns
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.imports.assemble import derived_id
from neurigraph_pipelines.inbox.intake import content_hash
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, SourceKind
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("inbox")

_ASKED_FIRST = 4
"""Conversations that begin alike for which the database is asked at first; twice as many each time they all exist."""

_LEAST_BEFORE_CHANGE = 3
"""Messages of a recording that are the same before its last one, whose sentence goes on in a longer file."""

_LONGEST_PARTED = 200_000
_MOST_LINES_PARTED = 1_000
"""Limits of a message that is compared by its first lines, because each number of lines is tried."""

_Name = tuple[str, str]
"""The kind and the external id of a source."""


class _Row(NamedTuple):
    """A stored message."""

    external_id: str
    author: str | None
    content_hash: bytes


class KnownOpenings:
    """Recognises the conversations of one import.

    Args:
        inbox: Checks and redacts messages as it does before it stores them.
    """

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox
        self._taken: dict[_Name, bytes] = {}

    def recognised(
        self, tx: Transaction, user_id: UUID, conversations: Sequence[ImportedConversation]
    ) -> list[ImportedConversation]:
        """Return conversations with the ids of those that are stored already, or with an id of their own.

        Args:
            tx: A transaction of the caller.
            user_id: The owner.
            conversations: In the order of the file. Those with ids of their own are returned as they are.
        """
        by_opening = [one for one in conversations if is_by_opening(one)]
        stored = _stored(tx, user_id, by_opening) if by_opening else {}
        return [self._named(one, stored) if is_by_opening(one) else one for one in conversations]

    def _named(self, one: ImportedConversation, stored: Mapping[_Name, Sequence[_Row]]) -> ImportedConversation:
        kind, said = _kind(one), list(self._said(one.messages))
        digest = hashlib.sha256(b"".join(content_hash(message) for message in said)).digest()
        best: tuple[int, str, list[IncomingMessage]] | None = None
        for name in _names(one, kind, stored):
            if self._taken.get((kind, name), digest) != digest:  # another conversation of this file has it
                continue
            messages, parted = _parted(one.messages, said, stored[kind, name])
            shared = _shared(parted, stored[kind, name], is_recording=one.event_kind is not None)
            if shared and (best is None or shared > best[0]):
                best = (shared, name, messages)
        if best is None:
            free = (name for name in _numbered(one.external_id) if (kind, name) not in stored)
            name = next(name for name in free if self._taken.get((kind, name), digest) == digest)
        else:
            name = best[1]
        self._taken[kind, name] = digest
        rows = stored[kind, name][: best[0]] if best is not None else ()
        messages = best[2] if best is not None else list(one.messages)
        same = (
            replace(message, external_id=row.external_id, author=row.author)
            for message, row in zip(messages, rows, strict=False)
        )
        return replace(one, external_id=name, messages=(*same, *messages[len(rows) :]))

    def _said(self, messages: Iterable[IncomingMessage]) -> Iterator[IncomingMessage]:
        """Yield messages as they are stored; one that cannot be stored as it is."""
        for message in messages:
            try:
                yield self._inbox.checked([message])[0].message
            except InvalidInputError:
                yield message


def is_by_opening(one: ImportedConversation) -> bool:
    """Return whether the words of a conversation decide which one it is."""
    return one.by_opening and one.details.replaces is None


def _kind(one: ImportedConversation) -> str:
    return (SourceKind.CONVERSATION if one.event_kind is None else SourceKind.EVENT).value


def _numbered(opening: str) -> Iterator[str]:
    """Yield the ids of conversations that begin alike."""
    yield opening
    yield from (f"{opening}-{number}" for number in count(2))


def _names(one: ImportedConversation, kind: str, stored: Mapping[_Name, Sequence[_Row]]) -> Iterator[str]:
    """Yield the ids of stored conversations that begin as one does."""
    for opening in (one.external_id, *one.former_ids):
        yield from (name for found, name in stored if found == kind and (name == opening or _is_of(name, opening)))


def _is_of(name: str, opening: str) -> bool:
    return name.startswith(f"{opening}-") and name[len(opening) + 1 :].isdecimal()


def _stored(tx: Transaction, user_id: UUID, conversations: Sequence[ImportedConversation]) -> dict[_Name, list[_Row]]:
    """Return the messages of stored conversations that begin alike, by kind and id."""
    openings = {(_kind(one), name) for one in conversations for name in (one.external_id, *one.former_ids)}
    found: defaultdict[_Name, list[_Row]] = defaultdict(list)
    first, more = 1, _ASKED_FIRST
    while openings:
        numbers = range(first, first + more)
        wanted: list[dict[str, object]] = [
            {"kind": kind, "external_id": opening if number == 1 else f"{opening}-{number}"}
            for kind, opening in openings
            for number in numbers
        ]
        for row in tx.execute(_QUERIES["messages_of_names"], {"user_id": user_id, **columns(wanted)}):
            message = _Row(row["external_id"], row["author"], bytes(row["content_hash"]))
            found[row["kind"], row["name"]].append(message)
        openings = {(kind, opening) for kind, opening in openings if (kind, f"{opening}-{numbers[-1]}") in found}
        first, more = numbers[-1] + 1, more * 2
    return dict(found)


def _parted(
    messages: Sequence[IncomingMessage], said: Sequence[IncomingMessage], rows: Sequence[_Row]
) -> tuple[list[IncomingMessage], list[IncomingMessage]]:
    """Return messages, in the file and as they are stored, of which one that begins with a stored one is two.

    So the lines that follow the last ones of a file are a message of their own.
    """
    new, stored = list(messages), list(said)
    for place, row in enumerate(rows):
        lines = _lines_of_row(stored[place], row) if place < len(stored) else None
        if lines is None:
            break
        if lines:
            new[place : place + 1] = _split(new[place], lines)
            stored[place : place + 1] = _split(stored[place], lines)
    return new, stored


def _lines_of_row(message: IncomingMessage, row: _Row) -> int | None:
    """Return with how many of its lines a message is a stored one; 0 if with all of them, None if with none."""
    known = replace(message, author=row.author)
    if content_hash(known) == row.content_hash:
        return 0
    lines = message.content.split("\n")
    if len(message.content) > _LONGEST_PARTED or message.tool_calls or message.event is not None:
        return None
    beginnings = ((at, "\n".join(lines[:at])) for at in range(1, min(len(lines), _MOST_LINES_PARTED)))
    return next((at for at, one in beginnings if content_hash(replace(known, content=one)) == row.content_hash), None)


def _split(message: IncomingMessage, lines: int) -> tuple[IncomingMessage, IncomingMessage]:
    parts = message.content.split("\n")
    rest = replace(message, content="\n".join(parts[lines:]).strip("\n"))
    return (
        replace(message, content="\n".join(parts[:lines])),
        replace(rest, external_id=derived_id("m", message.external_id, rest.content)),
    )


def _shared(said: Sequence[IncomingMessage], rows: Sequence[_Row], *, is_recording: bool) -> int:
    """Return the number of first messages that two conversations share; 0 if neither is the beginning of the other.

    People may have other names than before, as long as one of several keeps the name.
    """
    names: dict[str | None, str | None] = {}
    shared = 0
    for message, row in zip(said, rows, strict=False):
        known = message if message.author == row.author else replace(message, author=row.author)
        if content_hash(known) != row.content_hash or names.setdefault(message.author, row.author) != row.author:
            break
        shared += 1
    are_names = len(set(names.values())) == len(names) and (
        len(names) == 1 or any(new == old for new, old in names.items())
    )
    is_open = is_recording and shared >= max(_LEAST_BEFORE_CHANGE, len(rows) - 1)
    return shared if are_names and (is_open or shared == min(len(said), len(rows))) else 0
