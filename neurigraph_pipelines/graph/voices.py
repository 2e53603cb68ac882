"""Who speaks in each message, as the server knows it, and where messages come from.

It follows from who handed the messages in and in which role. An author is what the writer states: it never gives a
message more authority.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.model import Message, ReceivedThrough, Role, SourceKind, Voice
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.origin import FETCHED_THROUGH

_OF_ROLES = {Role.ASSISTANT: Voice.ASSISTANT, Role.SYSTEM: Voice.SYSTEM, Role.TOOL: Voice.TOOL}


def voices_of(messages: Sequence[Message], kind: SourceKind, slug: str) -> dict[int, Voice]:
    """Return the voice of each message, by its number.

    What a persona or a fetched text says in any role is theirs. The owner is the one who has the role of the user and
    is not named otherwise: without an author, under the owner's own name, or as the only person beside an assistant.

    Args:
        messages: Of one source.
        kind: The kind of that source.
        slug: The name of the owner of the graph.
    """
    owners = enriched("names of the owner", lambda: _owners_names(messages, slug), lambda: frozenset([None]))
    return {message.seq: _voice(message, kind, owners) for message in messages}


def common_origin(messages: Sequence[Message]) -> tuple[UUID | None, UUID | None, ReceivedThrough | None]:
    """Return the persona that handed in any of the messages, and the key and the door that all came through."""
    personas = [message.persona_id for message in messages if message.persona_id is not None]
    keys = {message.key_id for message in messages}
    doors = {message.received_through for message in messages}
    return (
        personas[0] if personas else None,
        keys.pop() if len(keys) == 1 else None,
        doors.pop() if len(doors) == 1 else None,
    )


def _voice(message: Message, kind: SourceKind, owners: frozenset[str | None]) -> Voice:
    if message.received_through in FETCHED_THROUGH:
        return Voice.FETCHED
    if message.persona_id is not None:
        return Voice.PERSONA
    if kind is SourceKind.UPLOAD:
        return Voice.DOCUMENT
    if message.event is not None:
        return Voice.TOOL
    if message.role in _OF_ROLES:
        return _OF_ROLES[message.role]
    owner_speaks = enriched("name of a speaker", lambda: _key(message.author) in owners, lambda: False)
    return Voice.OWNER if owner_speaks else Voice.OTHER_PERSON


def _owners_names(messages: Sequence[Message], slug: str) -> frozenset[str | None]:
    """Return the authors, as keys, under which the owner speaks in some messages of a source."""
    people = {_key(m.author) for m in messages if m.role is Role.USER}
    alone = len(people) == 1 and any(m.role is Role.ASSISTANT for m in messages)
    return frozenset([None, name_key(slug), *(people if alone else ())])


def _key(author: str | None) -> str | None:
    return name_key(author) if author is not None else None
