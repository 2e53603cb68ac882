"""Stored objects, and files that are read for their text."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

KEYS = ".keys/"
"""Where an object store has the wrapped data keys of graphs: below it each graph's, by the slug of its user."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of an object store; ``sha256`` is of its bytes before any encryption, in hex."""

    key: str
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ExtractedPart:
    """A part of a file's text, such as a page; ``place`` locates it (``page-3``), ``section`` names it to people."""

    place: str
    text: str
    section: str | None = None


@dataclass(frozen=True, slots=True)
class Extraction:
    """The text and facts read from a file.

    Attributes:
        parts: Its text in order; empty if the file has no text or no reader supports it.
        facts: Other findings by name, such as ``pages`` or ``size``.
        unread: Why there is no text, in one clause; None if there is text.
    """

    parts: tuple[ExtractedPart, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    unread: str | None = None


@dataclass(slots=True)
class RepositoryFile:
    """A file of a repository: its path, its bytes, and the parts of its text; no parts if they cannot be read."""

    path: str
    content: bytes
    parts: list[ExtractedPart] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DroppedFile:
    """A file in a drop place: the slug of its user, its name below that folder, and its version.

    Attributes:
        title: What it says of itself, like the others; None for what only has a name.
        url: The page that it is of; what comes from the web has one.
        occurred_at: When it was written.
    """

    user_slug: str
    name: str
    version: str
    modified_at: datetime
    title: str | None = None
    url: str | None = None
    author: str | None = None
    occurred_at: datetime | None = None
