"""What a file is taken in as: conversations of a format that is known, or a document.

How a format is told from the others belongs to ``imports``, what kind of file a document is to ``media_types``.
"""

from __future__ import annotations

from pathlib import Path

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports import detect_format, is_dialogue
from neurigraph_pipelines.text.media_types import HEAD_BYTES, MediaType, media_type_of

DOCUMENT = "document"
"""The format of a file that is kept as it is, with its text read out of it."""

_EXPORTS = ("application/zip", "application/json")
"""What exports of conversations come as: one that is not recognised is a mistake rather than a document."""

_PROSE = ("text/plain", "text/markdown")


def import_format(path: Path) -> str:
    """One of ``imports.FORMATS`` where a file holds conversations, else ``DOCUMENT``.

    Plain text is a conversation where its lines begin with the names of speakers.

    Raises:
        InvalidInputError: It cannot be read, or looks like an export and is none that is known.
    """
    media = _media_type(path)
    try:
        found = detect_format(path)
    except InvalidInputError as error:
        if media is None:
            raise
        if media.name in _EXPORTS:
            raise InvalidInputError(f"{error} To keep the file as it is: --format {DOCUMENT}.") from error
        return DOCUMENT
    prose = media is not None and media.file_type == "export" and media.name in _PROSE
    return DOCUMENT if found == "text" and not (prose and is_dialogue(path)) else found


def _media_type(path: Path) -> MediaType | None:
    """None where there is nothing to look at."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return None
    return media_type_of(head, path.name) if head else None
