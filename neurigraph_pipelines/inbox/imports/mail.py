"""E-mail: a single message (``.eml``, ``.msg``) or a mailbox (``.mbox``). Each thread becomes a conversation.

RFC 5322 defines the messages, RFC 4155 the mailbox. The standard library parses them. Attachments are named and not
read, except for mails. ``mail_quotes`` tells whose words a mail has.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from email.message import EmailMessage
from email.utils import getaddresses, parseaddr, parsedate_to_datetime
from io import BufferedReader, BytesIO
from pathlib import PurePath
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, assemble, derived_id
from neurigraph_pipelines.inbox.imports.mail_attributions import UNKNOWN, Letter
from neurigraph_pipelines.inbox.imports.mail_bodies import content_of, header
from neurigraph_pipelines.inbox.imports.mail_notices import why_left_out
from neurigraph_pipelines.inbox.imports.mail_originals import ID, Originals, parsed
from neurigraph_pipelines.inbox.imports.mail_quotes import Said, writers_of
from neurigraph_pipelines.inbox.imports.source import Part, Reading
from neurigraph_pipelines.inbox.imports.text import split
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.hygiene import spoken
from neurigraph_pipelines.text.outlook_message import MAGIC, mail_bytes
from neurigraph_pipelines.text.zip_limits import READ_ERRORS
from neurigraph_pipelines.views.kinds import Channel

MAX_MAIL_BYTES = 64 * 1024**2
"""A longer message is rejected: mail servers stop earlier."""

_MAX_HEAD_BYTES = 256 * 1024
_MAX_FROM_BYTES = 1_000
_BEGIN = re.compile(rb"From \S+ [^\n]*\d{4}[ \t]*\r?\n")
"""The line before each message of a mailbox: who sent it, and when."""
_ESCAPED = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEADER = re.compile(rb"[!-9;-~]{1,76}:")
_REPLY_MARK = re.compile(r"(?:(?:re|fwd?|aw|wg|rv|tr|sv|antw)(?:\[\d+\])?:\s*)+", re.IGNORECASE)
_FORWARD_MARK = re.compile(
    r"[\u200e\u200f]?(?:fwd?|wg|tr|rv|i|enc|doorst|vb|pd|fs|vl|i̇?lt|továbbítás|továbbítva|πρθ|пер|пересл|إعادة توجيه|"
    r"הועבר|redirecționat|转发|轉寄|転送|전달)\s*[:：]",
    re.IGNORECASE,
)
"""Beginnings of the subjects of forwarded mails."""
_ANSWER_MARK = re.compile(
    r"(?:re|r|aw|sv|antw|vs|odp|ynt|rif|res|vá|απ|hv|回复|答复|回覆|返信|答覆|회신|رد|відп|отв|ответ)(?:\[\d+\])?\s*[:：]",
    re.IGNORECASE,
)
"""Beginnings of the subjects of answers."""
_MOST_PEOPLE = 100
_UNSURE = "quotations without marks, given to nobody, because answers may stand in them"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a message stands in the file, in bytes, and when it was sent."""

    offset: int
    length: int
    time: datetime | None


def is_mail(start: bytes, suffix: str = "") -> bool:
    """Return whether a file begins as a mailbox or as a message does; one of Outlook also needs its suffix."""
    if start.startswith(MAGIC):
        return suffix.lower() == ".msg"
    in_mailbox = bool(_BEGIN.match(start))
    if in_mailbox:
        start = start.partition(b"\n")[2]
    head = re.split(rb"\r?\n\r?\n", start, maxsplit=1)[0].lower()
    names = {line.partition(b":")[0] for line in head.splitlines() if _HEADER.match(line)}
    marks = {b"message-id", b"received", b"mime-version", b"date"}
    return b"from" in names and bool(names & (marks | {b"to", b"subject"} if in_mailbox else marks))


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the threads of a file in the order of their first messages, each in the order of its times.

    Spam, deleted mails and notices of programs are counted and left out, unless they are asked for.

    The file is read twice: once for the threads, by the heads of the messages, and then thread by thread. So memory
    grows with the number of messages and with the longest thread.

    Raises:
        InvalidInputError: The file contains no message.
    """
    threads: dict[str, list[_Place]] = {}
    by_id: dict[str, _Place] = {}
    left_out: Counter[str] = Counter()
    with _opened(reading) as file:
        for offset, length, head in _heads(file):
            reason = None if reading.everything else why_left_out(head)
            if reason is not None:
                left_out[reason] += 1
                continue
            thread, time = _thread(head)
            place = _Place(offset, length, time)
            threads.setdefault(thread, []).append(place)
            if (found := ID.search(header(head, "Message-ID"))) is not None:
                by_id.setdefault(found[1], place)
        if not threads and not left_out:
            raise InvalidInputError(f"{reading.part.name} contains no e-mail.")
        for thread, places in threads.items():
            yield from _conversation(reading, file, thread, places, by_id)
    for reason, count in left_out.items():
        yield ImportNote(reason, count)


@contextmanager
def _opened(reading: Reading) -> Iterator[BufferedReader]:
    """Open a file of mails; one that Outlook saved is turned into an e-mail."""
    with _seekable(reading) as file:
        if not file.peek(len(MAGIC)).startswith(MAGIC):
            yield file
            return
        try:
            data = mail_bytes(file)
        except Exception as error:  # parsers raise any error for a hostile file
            raise InvalidInputError(f"{reading.part.name} is a damaged message of Outlook: save it again.") from error
        raw: Any = BytesIO(data)  # the type of a reader is invariant in its inner stream
        yield BufferedReader(raw)


@contextmanager
def _seekable(reading: Reading) -> Iterator[BufferedReader]:
    part = reading.part
    if part.member is None:
        with part.path.open("rb") as file:
            yield file
        return
    with _copied(part) as file:
        start = file.peek(_MAX_FROM_BYTES)
        if start and not is_mail(start, PurePath(part.member).suffix):
            raise InvalidInputError(f"{part.name} does not begin with the headers of an e-mail, nor as a mailbox does.")
        yield file


@contextmanager
def _copied(part: Part) -> Iterator[BufferedReader]:
    """Copy a member of a zip to a file that is removed afterwards, because a thread is read by its places in it.

    The confined process of uploads may write no files, and has a limit for its memory.
    """
    with ExitStack() as stack:
        try:
            copy: Any = stack.enter_context(TemporaryFile())
            with part.open() as stream:
                copyfileobj(stream, copy)
        except OSError:
            copy = stack.enter_context(BytesIO())
            with part.open() as stream:
                copyfileobj(stream, copy)
        copy.seek(0)
        yield BufferedReader(copy)


def sent_at(part: Part) -> tuple[float, str]:
    """Return when the first mail of a file was sent, for the order of the files of a zip."""
    try:
        with part.open() as stream:
            time = _time(parsed(stream.read(_MAX_HEAD_BYTES)))
    except READ_ERRORS:  # what reads it says so
        time = None
    return (time.timestamp() if time is not None else 0.0), part.name


def _heads(stream: BufferedReader) -> Iterator[tuple[int, int, EmailMessage]]:
    """Yield offset, length and parsed head of each message of a file."""
    start = at = head_size = 0
    head: list[bytes] = []
    in_head = before_blank = True
    is_mailbox = bool(_BEGIN.match(stream.peek(_MAX_FROM_BYTES)))
    while line := stream.readline(_MAX_HEAD_BYTES):
        if is_mailbox and before_blank and _BEGIN.match(line):
            if at > start:
                yield start, at - start, parsed(b"".join(head))
            start, head, in_head, head_size = at + len(line), [], True, 0
        elif in_head:
            in_head = bool(line.strip()) and head_size < _MAX_HEAD_BYTES
            head_size += len(line)
            head.append(line)
        before_blank = not line.strip()
        at += len(line)
    if at > start:
        yield start, at - start, parsed(b"".join(head))


def _thread(head: EmailMessage) -> tuple[str, datetime | None]:
    """Return the id of a message's thread, and its time.

    A thread has the id of its first message, which ``References`` names first (RFC 5322, 3.6.4). An answer that names
    only what it answers joins that one's thread if that is the first of one.
    """
    time = _time(head)
    for name in ("References", "In-Reply-To", "Message-ID"):
        found = ID.search(header(head, name))
        if found is not None:
            return found[1], time
    sender = parseaddr(header(head, "From"))[1]
    return derived_id("mail", sender, header(head, "Subject"), header(head, "Date")), time


def _time(head: EmailMessage) -> datetime | None:
    try:
        return spoken(parsedate_to_datetime(header(head, "Date")))
    except (ValueError, TypeError, IndexError, OverflowError, InvalidInputError):
        return None


def _mail_at(file: BufferedReader, place: _Place) -> EmailMessage:
    file.seek(place.offset)
    content = file.read(min(place.length, MAX_MAIL_BYTES))
    return parsed(_ESCAPED.sub(rb"\1", content) if place.offset else content)  # only a mailbox escapes lines


def _conversation(
    reading: Reading, file: BufferedReader, thread: str, places: list[_Place], by_id: dict[str, _Place]
) -> Iterator[Item]:
    where = f"{reading.part.name}, thread {thread}"
    known = [place.time for place in places if place.time is not None]
    latest = max(known, default=None)
    messages: list[Spoken] = []
    earlier = Originals(reading.part, lambda key: _mail_at(file, by_id[key]) if key in by_id else None)
    title: str | None = None
    for place in sorted(places, key=lambda one: (one.time is None, one.time or latest, one.offset)):
        if place.length > MAX_MAIL_BYTES:
            messages.append(RejectedItem(where, f"a message of {place.length:,} bytes is longer than allowed"))
            continue
        mail = _mail_at(file, place)
        try:
            title = title or _REPLY_MARK.sub("", header(mail, "Subject").strip(), count=1)
            messages += _messages(mail, place.time, reading.max_message_bytes, earlier)
        except UnreadableFileError as error:
            messages.append(RejectedItem(f"{where}, message of {place.time or 'an unknown time'}", str(error)))
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


def _messages(mail: EmailMessage, time: datetime | None, max_bytes: int, earlier: Originals) -> Iterator[Spoken]:
    """Yield the words of the sender, then those of others that the mail hands on, each in pieces if they are long.

    Args:
        earlier: The mails that others answer, to which this one is added.
    """
    name, address = parseaddr(header(mail, "From"))
    subject, content = header(mail, "Subject").strip(), content_of(mail)
    own, others = writers_of(content.text, _letter(mail, subject, name, earlier))
    words = "\n".join([own, *(f"[attached: {one}]" for one in content.attached)]).strip()
    if not words and not others and not content.inner:
        words = subject
    found = ID.search(header(mail, "Message-ID"))
    key = found[1] if found else derived_id("m", time, address, words or content.text)
    earlier.thread[key] = content.text
    yield from _pieces(Said(words, name or address or UNKNOWN, time), key, max_bytes)
    for number, one in enumerate(others, 1):
        if one.is_unsure:
            yield ImportNote(_UNSURE, 1)
        yield from _pieces(replace(one, time=one.time or time), f"{key}#forwarded-{number}", max_bytes)
    for inner in content.inner:
        yield from _messages(inner, _time(inner) or time, max_bytes, earlier)


def _letter(mail: EmailMessage, subject: str, sender: str, earlier: Originals) -> Letter:
    """Return the author and time that the head of a mail states of the words below it."""
    answers = bool(header(mail, "In-Reply-To").strip() or header(mail, "References").strip())
    goes_to = getaddresses([header(mail, "To"), header(mail, "Cc")])[:_MOST_PEOPLE]
    people = {one.casefold() for name, address in goes_to for one in (name, *name.split()[:1], address) if len(one) > 1}
    is_forward = bool(_FORWARD_MARK.match(subject))
    is_reply = answers or bool(_ANSWER_MARK.match(subject))
    return Letter(is_forward, is_reply, frozenset(people), sender, earlier.answered(mail))


def _pieces(said: Said, key: str, max_bytes: int) -> Iterator[IncomingMessage]:
    for number, piece in enumerate(split(said.text, max_bytes) if said.text else (), 1):
        yield IncomingMessage(Role.USER, piece, said.author, key if number == 1 else f"{key}#{number}", said.time)
