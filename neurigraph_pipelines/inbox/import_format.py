"""The import format of a file: a known format of conversations, or a document.

``imports`` detects the formats of conversations; ``media_types`` detects the types of documents.
"""

from __future__ import annotations

from pathlib import Path

from neurigraph_pipelines.inbox.imports import detect_format, is_dialogue
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.media_types import HEAD_BYTES, MediaType, media_type_of

DOCUMENT = "document"
"""The format of a file that is stored as it is, with its text extracted."""

_EXPORTS = ("application/zip", "application/json")
"""Media types of conversation exports. An unrecognised file of these types is an error rather than a document."""

_PROSE = ("text/plain", "text/markdown")


def import_format(path: Path) -> str:
    """Return one of ``imports.FORMATS`` if a file contains conversations, else ``DOCUMENT``.

    Plain text is a conversation if its lines begin with the names of speakers.

    Raises:
        InvalidInputError: The file cannot be read, or looks like an export of an unknown format.
    """
    media = _media_type(path)
    try:
        found = detect_format(path)
    except InvalidInputError as error:
        if media is None:
            raise
        if media.name in _EXPORTS:
            raise type(error)(f"{error} To store the file as it is: --format {DOCUMENT}.") from error
        return DOCUMENT
    prose = media is not None and media.file_type == "export" and media.name in _PROSE
    return DOCUMENT if found == "text" and not (prose and is_dialogue(path)) else found


def why_document(path: Path) -> str | None:
    """Return why a text is not read as a conversation; None for a file of which nobody expects a conversation."""
    media = _media_type(path)
    if media is None or not media.is_text:
        return None
    if media.name in _PROSE:
        return "its lines do not begin with the names of people who speak in turn"
    return f"it is a file of the type {media.label}"


def _media_type(path: Path) -> MediaType | None:
    """Return the media type of a file, or None if it is empty or unreadable."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return None
    return media_type_of(head, path.name) if head else None
