"""Entry point of the imports: detects the format of a file and reads its conversations.

The modules of the formats read the contents.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports import chatgpt, claude, json_stream, jsonl, locomo, qmsum, text
from neurigraph_pipelines.ingestion.imports.assemble import moment
from neurigraph_pipelines.ingestion.imports.source import Part, parts_of
from neurigraph_pipelines.model import NewConversation, RejectedItem
from neurigraph_pipelines.text.zip_limits import READ_ERRORS


class _ItemReader(Protocol):
    """Reads the conversations of one item of a JSON export."""

    def __call__(
        self, item: Any, where: str, fallback_time: datetime | None
    ) -> Iterator[NewConversation | RejectedItem]: ...


_EXPORTS: dict[str, _ItemReader] = {
    "chatgpt": chatgpt.conversations,
    "claude": claude.conversations,
    "locomo": locomo.conversations,
}
FORMATS: tuple[str, ...] = (*_EXPORTS, "qmsum", "jsonl", "text")

_KEYS = {
    "mapping": "chatgpt",
    "chat_messages": "claude",
    "sample_id": "locomo",
    "conversation": "locomo",
    "meeting_transcripts": "qmsum",
    "messages": "jsonl",
}
"""Keys that only the conversations of one format have."""

_TEXT_SUFFIXES = (".txt", ".md", ".text", ".log")


def detect_format(path: Path) -> str:
    """Detect which of ``FORMATS`` a file has, by its contents.

    Raises:
        InvalidInputError: The file cannot be read, or its format is not recognised.
    """
    part = parts_of(path)[0]
    found = _signature(part)
    if found is not None:
        return found
    start = _first_byte(part)
    if start == b"{" and path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl"  # the first line is broken; later lines may be good
    if start and (start not in (b"{", b"[") or path.suffix.lower() in _TEXT_SUFFIXES) and text.looks_like_text(part):
        return "text"
    raise InvalidInputError(
        f"The format of {path} is not recognised: name it, one of {', '.join(FORMATS)} (see docs/import.md)."
    )


def is_dialogue(path: Path) -> bool:
    """Return whether the lines of a plain text begin with the names of speakers, by its first megabyte.

    Raises:
        InvalidInputError: The file cannot be read.
    """
    return text.is_dialogue(parts_of(path)[0])


def read_conversations(
    path: Path,
    format: str,  # noqa: A002 (the word of the command line and of the documentation)
    *,
    on_bytes: Callable[[int], None] | None = None,
    max_message_bytes: int = text.MAX_MESSAGE_BYTES,
) -> Iterator[NewConversation | RejectedItem]:
    """Read a file conversation by conversation, with memory bounded by the largest of them.

    Args:
        path: A file; for ``chatgpt`` and ``claude`` also the zip of the export.
        format: One of ``FORMATS``.
        on_bytes: Called with the number of unpacked bytes read since the last call. The sum is
            ``content_size(path)``.
        max_message_bytes: Plain text is split into messages of at most this many bytes of UTF-8.

    Returns:
        The readable conversations and the rejections with their reasons, in the order of the file. A truncated file
        ends with one rejection.

    Raises:
        InvalidInputError: At once if the file cannot be read, has another format, or the format is unknown; on the
            first step if the file contains nothing of the format.
    """
    if format not in FORMATS:
        raise InvalidInputError(f"The format {format!r} is unknown: use one of {', '.join(FORMATS)}.")
    parts = parts_of(path)
    if parts[0].member is not None and format in ("jsonl", "text"):
        raise InvalidInputError(f"{path} is a zip, which is read for chatgpt and claude only: unpack it first.")
    if format != "text":
        _require_format(parts[0], format)
    elif not text.looks_like_text(parts[0]):
        raise InvalidInputError(f"{path} is not plain text: it contains NUL bytes.")
    return _read(parts, format, on_bytes, max_message_bytes)


def _require_format(part: Part, wanted: str) -> None:
    found = _signature(part)
    if found not in (None, wanted):
        raise InvalidInputError(f"{part.name} looks like the format {found}, not {wanted}: import it as {found}.")
    start = _first_byte(part)
    if wanted == "jsonl" and start == b"[":
        raise InvalidInputError(
            f"{part.name} is a JSON array: jsonl takes one conversation per line, without an array."
        )
    if wanted != "jsonl" and start not in (b"[", b"{"):
        raise InvalidInputError(f"{part.name} is not JSON in UTF-8, so it is not of the format {wanted}.")


def _read(
    parts: tuple[Part, ...], wanted: str, on_bytes: Callable[[int], None] | None, max_message_bytes: int
) -> Iterator[NewConversation | RejectedItem]:
    for number, part in enumerate(parts):
        fallback_time = moment(part.modified)
        try:
            with part.open(on_bytes) as stream:
                if wanted == "text":
                    yield from text.conversations(stream, part.name, fallback_time, max_message_bytes)
                elif wanted == "jsonl":
                    yield from jsonl.conversations(stream, part.name, fallback_time)
                elif wanted == "qmsum":
                    yield from qmsum.meetings(stream, part.name, fallback_time)
                else:
                    yield from _read_export(stream, part.name, _EXPORTS[wanted], fallback_time)
        except READ_ERRORS as error:
            yield RejectedItem(part.name, f"it could not be read to the end ({error})")
        except InvalidInputError as error:
            if number == 0:
                raise
            yield RejectedItem(part.name, str(error))


def _read_export(
    stream: io.BufferedReader, name: str, read_item: _ItemReader, fallback_time: datetime | None
) -> Iterator[NewConversation | RejectedItem]:
    for item in json_stream.read_items(stream, name):
        if isinstance(item, RejectedItem):
            yield item
        else:
            yield from read_item(item[1], item[0], fallback_time)


def _first_byte(part: Part) -> bytes:
    try:
        with part.open() as stream:
            return json_stream.first_byte(stream)
    except READ_ERRORS as error:
        raise InvalidInputError(f"{part.name} cannot be read ({error}): download it again.") from error


def _signature(part: Part) -> str | None:
    """Return the format by the keys of the first object."""
    start = _first_byte(part)
    if start not in (b"[", b"{"):
        return None
    with part.open() as stream:
        keys = json_stream.first_keys(stream)
    found = next((name for key, name in _KEYS.items() if key in keys), None)
    return None if found == "jsonl" and start == b"[" else found
