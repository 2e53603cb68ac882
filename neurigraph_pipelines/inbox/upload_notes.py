"""Notes about an upload: assumptions, unread parts, and the treatment of repeated bytes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.model import Extraction, Privacy, ReceivedThrough
from neurigraph_pipelines.text.media_types import GIT_PACK, MediaType

_MAY_BE_CHATS = ("application/zip", "application/json", "application/jsonl", "application/yaml", "application/xml")
_OF_THE_WEB = ("page", "repository")
_ASSUMED = ("encoding", "main text", "cut short", "words read", "words in images")
"""Facts of a text that say what was assumed, or what of it was not read."""

_LONGEST_NOTE = 300


class KnownUpload(NamedTuple):
    """An upload that may have the bytes of a new one already, or be the version before it."""

    source_id: UUID
    sha256: bytes
    privacy: Privacy
    dates: str | None
    is_replaced: bool
    updated_at: datetime | None


def notes_of(reader: str, media: MediaType, found: Extraction) -> list[str]:
    """Return the notes about a document: that it is not read as a chat, if it could be one, and its unread parts."""
    could_be_chat = reader not in _OF_THE_WEB and (media.is_text or media.name in _MAY_BE_CHATS)
    notes = ["stored as a document"] if could_be_chat else []
    notes += [f"{name} {value}"[:_LONGEST_NOTE] for name, value in found.facts.items() if name in _ASSUMED]
    return notes + ([f"only its description is kept in words, because {found.unread}"] if found.unread else [])


def kept_as(known: KnownUpload, asked: Privacy | None) -> tuple[str, ...]:
    """Return the note for a sender whose bytes are stored already, with another privacy than the stated one."""
    if asked is None or known.privacy == asked:
        return ()
    return (
        f"the same file is there already and stays {known.privacy}: "
        f"PATCH /v1/uploads/{known.source_id} or `neurigraph source edit {known.source_id} {asked}` "
        f"makes it {asked}",
    )


def reader_of(media: MediaType, received_through: str) -> str:
    """Return the extractor's reader: of a page that was fetched, the main text is read; of an upload, everything.

    Only what was fetched is a repository: a pack that somebody uploads is a file like any other.
    """
    if media is GIT_PACK and received_through == ReceivedThrough.WEB:
        return "repository"
    if media.reader == "html" and received_through == ReceivedThrough.WEB:
        return "page"
    return media.reader or "media"
