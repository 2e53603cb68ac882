"""Opening of import files: a file, or the conversations inside a zip, as counted streams of bytes.

``json_stream`` and the modules of the formats interpret the bytes.
"""

from __future__ import annotations

import codecs
import io
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from neurigraph_pipelines.inbox.export_formats import READ
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.text.zip_limits import MAX_ARCHIVE_RATIO, READ_ERRORS, UNSUSPICIOUS_BYTES

_UTF_8_MARK = codecs.BOM_UTF8
CHUNK_BYTES = 65_536

MAX_ARCHIVE_BYTES = 16 * 1024**3
"""Largest unpacked size of the conversations of one zip, in bytes."""

_FIRST_YEAR_OF_ZIPS = 1980
"""The year of members whose time was not written."""

_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_MAILS = re.compile(r"(?:.*/)?[^/]+\.(?:eml|mbox|msg)", re.IGNORECASE)
_NOTE = re.compile(r".+\.(?:md|markdown)", re.IGNORECASE)
_MEMBERS = (
    re.compile(r"(?:.*/)?(?:conversations([-_]\d+)?|memories|projects(?:/[^/]+)?)\.json"),
    re.compile(r"(?:.+/)?[^/]+/\d{4}-\d\d-\d\d\.json"),
    re.compile(r"(?:.*/)?(?:_chat|[^/]*WhatsApp[^/]*)\.txt"),
    re.compile(r".+/[^/]*Gemini[^/]*/[^/]+\.(?:json|html)"),
    re.compile(r"(?:.*/)?messages/(?:[^/]+/[^/]+/message_\d+|[^/]+_\d+)\.json"),
    re.compile(r"(?:.*/)?Google Chat/Groups/[^/]+/messages\.json"),
    re.compile(r"(?:.*/)?result\.json"),
    _MAILS,
)
"""Names inside the zips of ChatGPT, Claude and DeepSeek, of Slack, of WhatsApp, and of Gemini's, Messenger's, Google
Chat's and Telegram's, and mails. The first that any member has decides."""


def _is_utf_16(start: bytes) -> bool:
    return start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) and not start.startswith(codecs.BOM_UTF32_LE)


class _Counted(io.RawIOBase):
    """A raw stream that reports the number of bytes read from an inner stream."""

    def __init__(self, inner: IO[bytes], on_bytes: Callable[[int], None] | None) -> None:
        super().__init__()
        self._inner = inner
        self._on_bytes = on_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        if data and self._on_bytes is not None:
            self._on_bytes(len(data))
        return len(data)


class _Transcoded(io.RawIOBase):
    """A raw stream of UTF-8 over an inner stream of UTF-16, with the line ends of the inner stream."""

    def __init__(self, inner: io.BufferedReader) -> None:
        super().__init__()
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            data = self._inner.read(CHUNK_BYTES)
            self._rest = self._decoder.decode(data, final=not data).encode("utf-8", "replace")
            if not data:
                break
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@dataclass(frozen=True, slots=True)
class Part:
    """One stream of conversations: a whole file, or one member of a zip.

    Attributes:
        name: Name for messages to people.
        size: Unpacked size in bytes, by the file system or the zip's directory.
        member: Name inside the zip; None for a plain file.
        modified: Time of the last write, in seconds since 1970.
    """

    path: Path
    name: str
    size: int
    modified: float
    member: str | None = None

    @contextmanager
    def open(self, on_bytes: Callable[[int], None] | None = None) -> Iterator[io.BufferedReader]:
        """Open for reading, after a UTF-8 byte order mark if there is one; UTF-16 is read as UTF-8.

        Args:
            on_bytes: Called with the number of bytes of each read; the sum is ``size``.
        """
        with ExitStack() as stack:
            inner: IO[bytes]
            if self.member is None:
                inner = stack.enter_context(self.path.open("rb"))
            else:
                archive = stack.enter_context(zipfile.ZipFile(self.path))
                inner = stack.enter_context(archive.open(self.member))
            counted: Any = _Counted(inner, on_bytes)  # the type of a reader is invariant in its inner stream
            stream = stack.enter_context(io.BufferedReader(counted, CHUNK_BYTES))
            if _is_utf_16(stream.peek(4)[:4]):
                transcoded: Any = _Transcoded(stream)
                stream = stack.enter_context(io.BufferedReader(transcoded, CHUNK_BYTES))
            if stream.peek(3).startswith(_UTF_8_MARK):
                stream.read(3)
            yield stream


@dataclass(frozen=True, slots=True)
class Reading:
    """A part that is being read, with the context that readers need.

    Attributes:
        fallback_time: The time of messages without a time of their own.
        on_bytes: Called with the number of bytes read since the last call.
        max_message_bytes: Longer texts are split into several messages.
        date_order: The stated order of day, month and year in dates; None lets the file decide.
        everything: Spam, deleted mails and notices of programs are read, too.
    """

    part: Part
    fallback_time: datetime | None
    on_bytes: Callable[[int], None] | None
    max_message_bytes: int
    date_order: DateOrder | None = None
    everything: bool = False

    def open(self) -> AbstractContextManager[io.BufferedReader]:
        """Open the part for reading, and report the bytes read."""
        return self.part.open(self.on_bytes)


def require_there(path: Path) -> None:
    """Require that a path leads to something.

    Raises:
        InvalidInputError: It does not, or cannot be followed.
    """
    try:
        is_there = path.exists()
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not is_there:
        raise InvalidInputError(f"{path} does not exist: check the path.")


def unreadable(path: Path, error: Exception) -> InvalidInputError:
    """Return the refusal of a path that cannot be read, with the reason in words."""
    return InvalidInputError(f"{path} cannot be read ({reason_of(error)}): check its name and permissions.")


def reason_of(error: Exception) -> str:
    """Return why a file cannot be read, without the number of the error and the path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def parts_of(path: Path) -> tuple[Part, ...]:
    """Check a file and return the parts of it to read.

    Raises:
        InvalidInputError: The path does not exist or is a folder; or the file is empty, unreadable, or a zip that is
            damaged or without conversations.
        UnreadableFileError: It is a zip of conversations that is encrypted, or suspiciously large when unpacked.
    """
    require_there(path)
    try:
        if path.is_dir():
            raise InvalidInputError(
                f"{path} is a folder: name the file inside it, such as conversations.json, "
                "or say --format vault or basic-memory for a folder of Markdown notes."
            )
        if not path.is_file():
            raise InvalidInputError(f"{path} is not a regular file: save its data to a file first.")
        status = path.stat()
        with path.open("rb") as stream:
            start = stream.read(4)
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the path
        raise unreadable(path, error) from error
    if not start:
        raise InvalidInputError(f"{path} is empty: export it again.")
    if start in _ZIP_MAGIC:
        return _members_of(path, status.st_mtime, status.st_size)
    return (Part(path, path.name, status.st_size, status.st_mtime),)


def _members_of(path: Path, modified: float, packed_size: int) -> tuple[Part, ...]:
    try:
        with zipfile.ZipFile(path) as archive:
            members = _conversations_in(archive)
    except (*READ_ERRORS, NotImplementedError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{path} is a damaged or incomplete zip ({error}): download it again.") from error
    if not members:
        raise InvalidInputError(
            f"{path} contains no conversations.json and no chat: it is not an export of conversations. {READ}."
        )
    if any(info.flag_bits & 1 for info in members):
        raise UnreadableFileError(f"{path} is encrypted: unpack it, then import what it contains.")
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in members):
        raise UnreadableFileError(f"{path} uses an unusual compression: unpack it, then import what it contains.")
    # zipfile never reads more of a member than its directory declares, so this also bounds the real size.
    size = sum(info.file_size for info in members)
    if size > MAX_ARCHIVE_BYTES or size > max(UNSUSPICIOUS_BYTES, packed_size * MAX_ARCHIVE_RATIO):
        raise UnreadableFileError(
            f"{path} would unpack to {size:,} bytes, which looks like a zip bomb: "
            "unpack it yourself if you trust it, then import what it contains."
        )
    members.sort(key=lambda info: info.filename)
    return tuple(
        Part(path, f"{path.name}/{info.filename}", info.file_size, _written(info) or modified, info.filename)
        for info in members
    )


def _written(info: zipfile.ZipInfo) -> float | None:
    """Return the time of a member, taken as UTC; None if the zip states none."""
    try:
        written = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None
    return written.timestamp() if written.year > _FIRST_YEAR_OF_ZIPS else None


def unread_members(path: Path) -> list[str]:
    """Return the names of chats inside a zip that belong to another program than those that are read.

    Of a zip of mails, return those of all other files.
    """
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        names = [info.filename for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
    deciding = next((pattern for pattern in _MEMBERS if any(map(pattern.fullmatch, names))), None)
    if deciding is _MAILS:
        return [name for name in names if not name.endswith("/") and not _MAILS.fullmatch(name)]
    others = [pattern for pattern in _MEMBERS if pattern is not deciding]
    return [
        name
        for name in names
        if deciding is not None and not deciding.fullmatch(name) and any(one.fullmatch(name) for one in others)
    ]


def _conversations_in(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the members with conversations, by the first of ``_MEMBERS`` that any has."""
    listed = [info for info in archive.infolist() if not info.filename.startswith("__MACOSX/")]
    has_notes = any(_NOTE.fullmatch(info.filename) for info in listed)  # then mails are files beside notes
    for pattern in _MEMBERS if not has_notes else _MEMBERS[:-1]:
        found = [info for info in listed if pattern.fullmatch(info.filename)]
        if found:
            return found
    return []


def content_size(path: Path) -> int:
    """Return the unpacked bytes that reading ``path`` takes, the total of a progress bar.

    Raises:
        InvalidInputError: As for ``parts_of``.
    """
    return sum(part.size for part in parts_of(path))
