"""Entry point of the imports: detects the format of a file and reads its conversations.

The modules that ``export_formats`` names read the contents; each is imported when it is needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path

from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS, NAMES, READ
from neurigraph_pipelines.inbox.imports import (
    discord,
    gemini_page,
    git_log,
    json_stream,
    jsonl,
    mail,
    message_lists,
    slack,
    subtitles,
    text,
    whatsapp,
)
from neurigraph_pipelines.inbox.imports.assemble import Item, moment
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.recognition import UNKNOWN_MESSAGES, format_of_object
from neurigraph_pipelines.inbox.imports.source import Part, Reading, parts_of, unread_members
from neurigraph_pipelines.model import ImportedConversation, ImportNote, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

_Items = Iterator[Item]
_Read = ImportedConversation | RejectedItem


FORMATS: tuple[str, ...] = tuple(EXPORT_FORMATS)

_SHOWN = 5
"""Names of the parts of a note that are not read."""

_TEXT_SUFFIXES = (".txt", ".md", ".text", ".log")


def detect_format(path: Path) -> str:
    """Detect which of ``FORMATS`` a file has, by its contents.

    Raises:
        InvalidInputError: The file cannot be read, or its format is not recognised.
    """
    parts = parts_of(path)
    part = parts[0]
    found = next((name for one in parts if (name := _signature(one)) is not None), None)
    if found == UNKNOWN_MESSAGES:
        raise InvalidInputError(f"{path} is a JSON object with `messages` that is no export known here. {READ}.")
    if found is not None:
        return found
    start = _first_byte(part)
    if start == b"{" and path.suffix.lower() in (".jsonl", ".ndjson"):
        return "jsonl"  # the first line is broken; later lines may be good
    if start and (start not in (b"{", b"[") or path.suffix.lower() in _TEXT_SUFFIXES) and text.looks_like_text(part):
        return "text"
    raise InvalidInputError(
        f"The format of {path} is not recognised: name it, one of {NAMES} (see docs/import.md). {READ}."
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
    max_message_bytes: int = MAX_CONTENT_BYTES,
    date_order: DateOrder | None = None,
    everything: bool = False,
    on_note: Callable[[str], None] | None = None,
) -> Iterator[_Read]:
    """Read a file conversation by conversation, with memory bounded by the largest of them.

    Args:
        path: A file; for ``chatgpt`` and ``claude`` also the zip of the export.
        format: One of ``FORMATS``.
        on_bytes: Called with the number of unpacked bytes read since the last call. The sum is
            ``content_size(path)``.
        max_message_bytes: Plain text is split into messages of at most this many bytes of UTF-8.
        date_order: The order of day, month and year in dates that are written in numbers. Default: as the file shows.
        everything: Also spam, deleted mails and notices of programs.
        on_note: Called at the end with each thing that was assumed, left out or not read.

    Returns:
        The readable conversations and the rejections with their reasons, in the order of the file. A truncated file
        ends with one rejection.

    Raises:
        InvalidInputError: At once if the file cannot be read, has another format, or the format is unknown; on the
            first step if the file contains nothing of the format.
    """
    if format not in FORMATS:
        raise InvalidInputError(f"The format {format!r} is unknown: use one of {NAMES}.")
    form = EXPORT_FORMATS[format].form
    parts = parts_of(path)
    if parts[0].member is not None and _of_archive(parts[0]) is None and form not in ("items", "json"):
        raise InvalidInputError(f"{path} is a zip, which is not read for {format}: unpack it first.")
    if form == "text" and not text.looks_like_text(parts[0]):
        raise InvalidInputError(f"{path} is not plain text: it contains NUL bytes.")
    if format == "mail":
        parts = tuple(sorted(parts, key=mail.sent_at)) if len(parts) > 1 else parts
    if format != "text":
        _require_format(parts[0], format)
    readings = [
        Reading(part, moment(part.modified), on_bytes, max_message_bytes, date_order, everything) for part in parts
    ]
    unread = slack.unread(path) if format == "slack" else []
    return _noted(_read(readings, format), unread, unread_members(path), on_note or (lambda _: None))


def _require_format(part: Part, wanted: str) -> None:
    found, start = _signature(part), _first_byte(part)
    if wanted == "jsonl" and start == b"[":
        raise InvalidInputError(
            f"{part.name} is a JSON array: jsonl takes one conversation per line, without an array."
        )
    if found not in (None, wanted, UNKNOWN_MESSAGES):
        raise InvalidInputError(f"{part.name} looks like the format {found}, not {wanted}: import it as {found}.")
    if wanted == "mail" and found is None:
        raise InvalidInputError(f"{part.name} does not begin with the headers of an e-mail, nor as a mailbox does.")
    is_page = wanted == "gemini" and start == b"<"
    if EXPORT_FORMATS[wanted].form in ("items", "json") and start not in (b"[", b"{") and not is_page:
        raise InvalidInputError(f"{part.name} is not JSON in UTF-8, so it is not of the format {wanted}.")


def _noted(
    items: _Items, said: Sequence[str], unread: Sequence[str], on_note: Callable[[str], None]
) -> Iterator[_Read]:
    """Yield items without the notes, and hand on each note once, with the number of its cases, at the end."""
    notes: Counter[str] = Counter()
    for item in items:
        if isinstance(item, ImportNote):
            notes[item.text] += item.count
        else:
            yield item
    for kind, count in notes.items():
        on_note(f"{kind}: {count:,}" if count else kind)
    for one in said:
        on_note(one)
    if unread:
        more = f" and {len(unread) - _SHOWN:,} more" if len(unread) > _SHOWN else ""
        on_note(f"not read, because it is of another program: {', '.join(unread[:_SHOWN])}{more}")


def _read(readings: Sequence[Reading], wanted: str) -> _Items:
    is_text, reader = EXPORT_FORMATS[wanted].form == "text", reader_of(wanted)
    for reading in readings:
        part = reading.part
        try:
            if is_text and (said := text.assumed_encoding(part)) is not None:
                yield ImportNote(f"{part.name}: the encoding was {said}")
            if wanted == "gemini" and _first_byte(part) == b"<":
                yield from gemini_page.conversations(reading)
            else:
                yield from reader(reading)
        except READ_ERRORS as error:
            yield RejectedItem(part.name, f"it could not be read to the end ({error})")
        except InvalidInputError as error:
            if len(readings) == 1:
                raise
            yield RejectedItem(part.name, str(error))


def reader_of(wanted: str) -> Callable[[Reading], _Items]:
    """Return the function that reads a file of a format."""
    module, _, name = EXPORT_FORMATS[wanted].reader.partition(".")
    found = getattr(import_module(f"{__package__}.{module}"), name)
    return partial(_read_items, found) if EXPORT_FORMATS[wanted].form == "items" else found


def _read_items(read_item: Callable[[JsonObject, str, datetime | None], _Items], reading: Reading) -> _Items:
    with reading.open() as stream:
        for item in json_stream.read_items(stream, reading.part.name):
            if isinstance(item, RejectedItem):
                yield item
            else:
                yield from read_item(item[1], item[0], reading.fallback_time)


def _first_byte(part: Part) -> bytes:
    return _head(part).lstrip(json_stream.WHITE)[:1]


def _signature(part: Part) -> str | None:
    """Return the format by a name inside a zip, by the first lines, or by the keys of the first object."""
    if (found := _of_archive(part)) is not None:
        return found
    start = text.head_of(part)
    if git_log.is_log(start):
        return git_log.FORMAT
    if whatsapp.is_chat(start):
        return "whatsapp"
    if subtitles.is_subtitles(start):
        return "subtitles"
    if mail.is_mail(_head(part), part.path.suffix):
        return "mail"
    if discord.is_log(start):
        return "discord"
    first = _first_byte(part)
    if first == b"<" and gemini_page.is_page(part):
        return "gemini"
    if first not in (b"[", b"{"):
        return None
    with part.open() as stream:
        found = format_of_object(json_stream.first_object(stream))
    if found == message_lists.MESSAGE_LISTS:
        return "openai"
    if found in ("jsonl", "openai") and first == b"{":
        return "jsonl" if _is_lines(part, found) else "openai"
    return "openai" if found == "jsonl" else found


def _is_lines(part: Part, found: str) -> bool:
    """Return whether an object with messages is a line of Neurigraph's own, rather than the whole file."""
    with part.open() as stream:
        lines = (line.strip(json_stream.WHITE) for line in iter(lambda: stream.readline(jsonl.MAX_LINE_BYTES), b""))
        first, second = [*islice(filter(None, lines), 2), b"", b""][:2]
    return first.endswith(b"}") and (found == "jsonl" or bool(second))


def _of_archive(part: Part) -> str | None:
    """Return the format that the name of a member tells; None if its contents must."""
    if part.member is None:
        return None
    if slack.DAY.fullmatch(part.member):
        return "slack"
    if part.member.lower().endswith((".eml", ".mbox", ".msg")):
        return "mail"
    return "whatsapp" if part.member.endswith(".txt") else None


def _head(part: Part) -> bytes:
    try:
        with part.open() as stream:
            return stream.peek(4_096)[:4_096]
    except READ_ERRORS as error:
        raise InvalidInputError(f"{part.name} cannot be read ({error}): download it again.") from error
