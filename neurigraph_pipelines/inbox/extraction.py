"""Conversion of an uploaded file to messages of its source, so that later steps treat it like a conversation.

The first message describes the file; a file without text has only that one. The others are parts of its text, with
their place in the file as external id. The ``TextExtractor`` reads the bytes; ``uploads`` stores them.
"""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.model import Extraction, IncomingMessage, Role
from neurigraph_pipelines.text.media_types import MediaType

DESCRIPTION = "file"
"""External id of the message that describes a file."""

_MAX_FACTS_LENGTH = 2_000


def document_messages(
    file_name: str, media: MediaType, size_bytes: int, found: Extraction, *, is_posted: bool = False
) -> Iterator[IncomingMessage]:
    """Yield a description of the file, then the parts of its text.

    Args:
        file_name: The name of the file.
        media: Its media type.
        size_bytes: Size of the uploaded file.
        found: The extracted text and facts.
        is_posted: Whether it is a text that was posted, which needs no description.
    """
    if not (is_posted and found.parts):
        yield IncomingMessage(Role.USER, _description(file_name, media, size_bytes, found), external_id=DESCRIPTION)
    for part in found.parts:
        yield IncomingMessage(Role.USER, part.text, external_id=part.place, section=part.section)


def _description(file_name: str, media: MediaType, size_bytes: int, found: Extraction) -> str:
    facts = "".join(f", {name} {value}" for name, value in found.facts.items())[:_MAX_FACTS_LENGTH]
    text = f"The file {file_name} is a {media.label} of {size_bytes:,} bytes{facts}"
    if found.unread is not None:  # in one sentence, so that a summary keeps it whole
        text += f": only this description is kept in words, because {found.unread}; the file itself is stored"
    return f"{text}."
