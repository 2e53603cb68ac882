"""What an uploaded file says, as messages of its source, so that everything behind treats it like a conversation.

The first message describes the file, which is all there is of one without text; the others are its text, part by
part, named by where it stands. Reading the bytes is for the ``TextExtractor``; keeping them is for ``uploads``.
"""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.model import Extraction, NewMessage, Role
from neurigraph_pipelines.text.media_types import MediaType

DESCRIPTION = "file"
"""External id of the message that describes a file."""

_LONGEST_FACTS = 2_000


def document_messages(file_name: str, media: MediaType, size_bytes: int, found: Extraction) -> Iterator[NewMessage]:
    """A description of the file, then its text.

    Args:
        size_bytes: Of the file as it was uploaded.
        found: What could be read of it.
    """
    yield NewMessage(Role.USER, _description(file_name, media, size_bytes, found), external_id=DESCRIPTION)
    for part in found.parts:
        yield NewMessage(Role.USER, part.text, external_id=part.place)


def _description(file_name: str, media: MediaType, size_bytes: int, found: Extraction) -> str:
    facts = "".join(f", {name} {value}" for name, value in found.facts.items())[:_LONGEST_FACTS]
    text = f"The file {file_name} is a {media.label} of {size_bytes:,} bytes{facts}."
    if found.unread is not None:
        text += f" Only this description is kept in words, because {found.unread}; the file itself is stored."
    return text
