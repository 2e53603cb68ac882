"""E-mail: a single message (``.eml``) or a mailbox (``.mbox``). Each thread becomes a conversation.

RFC 5322 defines the messages, RFC 4155 the mailbox. The standard library parses them. Attachments are named and not
read.
"""

from __future__ import annotations

import email
import email.policy
import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.utils import parseaddr, parsedate_to_datetime
from html.parser import HTMLParser
from io import BufferedReader

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.assemble import assemble, derived_id
from neurigraph_pipelines.ingestion.imports.source import Reading
from neurigraph_pipelines.ingestion.imports.text import split
from neurigraph_pipelines.model import NewConversation, NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import Channel, SourceDetails
from neurigraph_pipelines.text.hygiene import spoken

MAX_MAIL_BYTES = 64 * 1024**2
"""A longer message is rejected: mail servers stop earlier."""

_MAX_HEAD_BYTES = 256 * 1024
_MAX_FROM_BYTES = 1_000
_BEGIN = re.compile(rb"From \S+ [^\n]*\d{4}[ \t]*\r?\n")
"""The line before each message of a mailbox: who sent it, and when."""
_HEADER = re.compile(rb"[!-9;-~]{1,76}:")
_ID = re.compile(r"<([^<>\s]{1,250})>")
_REPLY_MARK = re.compile(r"(?:(?:re|fwd?|aw|wg|rv|tr|sv|antw)(?:\[\d+\])?:\s*)+", re.IGNORECASE)
_QUOTED_BEFORE = re.compile(r"\n[^\n>]{5,200}:\s*\n+(?=>)")
"""The line that mail programs write above what they quote, such as ``On 3 May 2024, Ann wrote:``."""

_UNSEEN = {"script", "style", "head", "title", "blockquote"}
_VOID = {"br", "img", "hr", "meta", "link", "input", "area", "base", "col", "embed", "source", "track", "wbr"}
_BLOCKS = {"p", "div", "br", "li", "tr", "table", "ul", "ol", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "pre"}


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands in the file, in bytes, and when it was sent."""

    offset: int
    length: int
    time: datetime | None


def is_mail(start: bytes) -> bool:
    """Return whether a file begins as a mailbox or as a message does."""
    if _BEGIN.match(start):
        start = start.partition(b"\n")[2]
    head = re.split(rb"\r?\n\r?\n", start, maxsplit=1)[0].lower()
    names = {line.partition(b":")[0] for line in head.splitlines() if _HEADER.match(line)}
    return b"from" in names and bool(names & {b"message-id", b"received", b"mime-version", b"date"})


def conversations(reading: Reading) -> Iterator[NewConversation | RejectedItem]:
    """Read the threads of a file in the order of their first messages, each in the order of its times.

    The file is read twice: once for the threads, by the heads of the messages, and then thread by thread. So memory
    grows with the number of messages and with the longest thread.

    Raises:
        InvalidInputError: The file contains no message.
    """
    threads: dict[str, list[_Place]] = {}
    with reading.part.open() as stream:
        for offset, length, head in _heads(stream):
            thread, time = _thread(head, threads)
            threads.setdefault(thread, []).append(_Place(offset, length, time))
    if not threads:
        raise InvalidInputError(f"{reading.part.name} contains no e-mail.")
    with reading.part.path.open("rb") as file:
        for thread, places in threads.items():
            yield from _conversation(reading, file, thread, places)


def _heads(stream: BufferedReader) -> Iterator[tuple[int, int, EmailMessage]]:
    """Yield offset, length and parsed head of each message of a file."""
    start = at = head_size = 0
    head: list[bytes] = []
    in_head = before_blank = True
    is_mailbox = bool(_BEGIN.match(stream.peek(_MAX_FROM_BYTES)))
    while line := stream.readline(_MAX_HEAD_BYTES):
        if is_mailbox and before_blank and _BEGIN.match(line):
            if at > start:
                yield start, at - start, _parsed(b"".join(head))
            start, head, in_head, head_size = at + len(line), [], True, 0
        elif in_head:
            in_head = bool(line.strip()) and head_size < _MAX_HEAD_BYTES
            head_size += len(line)
            head.append(line)
        before_blank = not line.strip()
        at += len(line)
    if at > start:
        yield start, at - start, _parsed(b"".join(head))


def _parsed(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data, _class=EmailMessage, policy=email.policy.default)


def _thread(head: EmailMessage, threads: dict[str, list[_Place]]) -> tuple[str, datetime | None]:
    """Return the id of a message's thread, and its time.

    A thread has the id of its first message, which ``References`` names first (RFC 5322, 3.6.4). An answer that names
    only what it answers joins that one's thread if that is the first of one.
    """
    time = _time(head)
    for name in ("References", "In-Reply-To", "Message-ID"):
        found = _ID.search(_header(head, name))
        if found is not None:
            return found[1], time
    return derived_id("mail", _header(head, "From"), _header(head, "Subject"), time, len(threads)), time


def _header(head: EmailMessage, name: str) -> str:
    """Return a header as text; nothing for one that cannot be parsed."""
    try:
        return str(head.get(name) or "")
    except (ValueError, IndexError, TypeError, AttributeError, LookupError):  # faults of the parser on broken headers
        return ""


def _time(head: EmailMessage) -> datetime | None:
    try:
        time = parsedate_to_datetime(_header(head, "Date"))
        return spoken(time)
    except (ValueError, TypeError, IndexError, OverflowError, InvalidInputError):
        return None


def _conversation(
    reading: Reading, file: BufferedReader, thread: str, places: list[_Place]
) -> Iterator[NewConversation | RejectedItem]:
    where = f"{reading.part.name}, thread {thread}"
    known = [place.time for place in places if place.time is not None]
    latest = max(known, default=None)
    messages: list[NewMessage | RejectedItem] = []
    title: str | None = None
    for place in sorted(places, key=lambda one: (one.time is None, one.time or latest, one.offset)):
        if place.length > MAX_MAIL_BYTES:
            messages.append(RejectedItem(where, f"a message of {place.length:,} bytes is longer than allowed"))
            continue
        file.seek(place.offset)
        mail = _parsed(file.read(place.length))
        title = title or _REPLY_MARK.sub("", _header(mail, "Subject").strip(), count=1)
        messages += _messages(mail, place.time, reading.max_message_bytes)
        if reading.on_bytes is not None:
            reading.on_bytes(place.length)
    yield from assemble(
        where,
        f"mail:{thread}",
        messages,
        title=title,
        fallback_time=reading.fallback_time,
        details=SourceDetails(origin="e-mail", channel=Channel.PRIVATE),
    )


def _messages(mail: EmailMessage, time: datetime | None, max_bytes: int) -> Iterator[NewMessage]:
    """Yield a message, in pieces if it is longer than a message may be."""
    name, address = parseaddr(_header(mail, "From"))
    found = _ID.search(_header(mail, "Message-ID"))
    body, attached = _content(mail)
    words = "\n".join([body, *(f"[attached: {one}]" for one in attached)]).strip() or _header(mail, "Subject").strip()
    if not words:
        return
    key = found[1] if found else derived_id("m", time, name, words)
    for number, piece in enumerate(split(words, max_bytes), 1):
        yield NewMessage(Role.USER, piece, name or address or None, key if number == 1 else f"{key}#{number}", time)


def _content(mail: EmailMessage) -> tuple[str, list[str]]:
    """Return the words of a message without what it quotes, and the names of its attachments."""
    plain: list[str] = []
    marked: list[str] = []
    attached: list[str] = []
    for part in mail.walk():
        if part.is_multipart():
            continue
        name = _file_name(part)
        if name is not None:
            attached.append(name)
        elif part.get_content_type() == "text/plain" or part.get_content_maintype() == "multipart":  # without its parts
            plain.append(_decoded(part))
        elif part.get_content_type() == "text/html":
            marked.append(_visible(_decoded(part)))
    return _unquoted("\n\n".join(text for text in plain if text.strip()) or "\n\n".join(marked)), attached


def _file_name(part: EmailMessage) -> str | None:
    """Return the name of an attachment; None for a part of the text."""
    try:
        name = part.get_filename()
        is_attached = part.get_content_disposition() == "attachment"
    except (ValueError, IndexError, TypeError, AttributeError, LookupError):
        return "without a name"
    if name is None and not is_attached:
        return None if part.get_content_maintype() in ("text", "multipart") else "without a name"
    return " ".join((name or "without a name").split())[:200]


def _decoded(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    data = data if isinstance(data, bytes) else b""
    try:
        return data.decode(part.get_content_charset() or "utf-8", "replace")
    except (LookupError, ValueError):  # an unknown character set
        return data.decode("utf-8", "replace")


def _unquoted(text: str) -> str:
    """Return a text without the lines that it quotes and without the line above them."""
    text = _QUOTED_BEFORE.sub("\n", "\n" + text.replace("\r\n", "\n"))
    text = text.replace("\n>From ", "\nFrom ")  # mailboxes write so what would look like the next message
    kept = [line for line in text.split("\n") if not line.startswith(">")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def _visible(markup: str) -> str:
    """Return the words of a message in HTML, without what it quotes."""
    reader = _Words()
    reader.feed(markup)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.words).split("\n"))
    return html.unescape("\n".join(line for line in lines if line))


class _Words(HTMLParser):
    """Collects the visible words of a page, a line for each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a line, or a part that is not shown."""
        if tag in _UNSEEN or (self._hidden and tag not in _VOID):
            self._hidden.append(tag)
        elif tag in _BLOCKS:
            self.words.append("\n")

    def handle_endtag(self, tag: str) -> None:
        """End a line, or a part that is not shown."""
        if self._hidden:
            if tag in self._hidden:
                while self._hidden.pop() != tag:
                    continue
        elif tag in _BLOCKS:
            self.words.append("\n")

    def handle_data(self, data: str) -> None:
        """Keep words that are shown."""
        if not self._hidden:
            self.words.append(data)
