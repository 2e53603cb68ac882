"""Plain text: one file is one conversation, split by speaker if lines begin with their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

from neurigraph_pipelines.inbox.imports.assemble import BY_FILE, Item, Opening, assemble, derived_id, message_id
from neurigraph_pipelines.inbox.imports.source import Part, Reading
from neurigraph_pipelines.inbox.imports.speakers import SPEAKER, is_name, speakers_of
from neurigraph_pipelines.inbox.imports.times_in_names import time_in
from neurigraph_pipelines.model import IncomingMessage, Role
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.text.encodings import MARKS, decoded

MAX_FILE_BYTES = 256 * 1024**2
MIN_SPEAKER_SHARE = 0.3
"""Minimum share of turns of lines with a speaker for a dialogue; prose with labels has less."""

_INSPECTED_BYTES = 1 << 20
_HEAD_BYTES = 4_096

_ROLES = {
    **dict.fromkeys(("user", "human", "me", "you"), Role.USER),
    **dict.fromkeys(("assistant", "ai", "bot", "chatgpt", "gpt", "claude", "model"), Role.ASSISTANT),
    "system": Role.SYSTEM,
    "tool": Role.TOOL,
}
_STAMP = re.compile(r"(?P<name>[^\W\d_][\w .'’-]{0,39}?)(?:[ \t]{2,}|\t)\(?(?:\d{1,2}:)?\d{1,2}:\d\d\)?[ \t]*")
"""A line of a name and a time, such as ``Ana Ruiz  0:03``."""

_HEAD_LINES = 40
_MOST_FORMER_LINES = 200
_TRANSCRIPT = re.compile(
    r"transcript|transkript|transcripci[oó]n|transcription|trascrizione|transcrição|文字起こし|转录|스크립트",
    re.IGNORECASE,
)
_ATTENDEES = re.compile(
    r"attendees|teilnehmer|asistentes|participants|partecipanti|deelnemers|aanwezigen|participantes|出席者|参会者|참석자",
    re.IGNORECASE,
)
_FRAME = re.compile(
    r"transcribed by https?://otter\.ai/?.*|this editable transcript was computer generated.*|"
    r"(?:meeting|transcription) ended after .*|\d\d:\d\d:\d\d",
    re.IGNORECASE,
)
"""Lines of programs in a transcript: their feet, and times that stand alone."""


def looks_like_text(part: Part) -> bool:
    """Return whether a file is text: no NUL byte in its first 8 KB, or a byte order mark of UTF-16 or UTF-32."""
    with part.open() as stream:
        start = stream.peek(8192)[:8192]
    return b"\x00" not in start or any(start.startswith(mark) for mark, _ in MARKS)


def is_dialogue(part: Part) -> bool:
    """Return whether lines begin with the names of speakers, by the first ``_INSPECTED_BYTES`` of the text."""
    with part.open() as stream:
        return bool(_speakers(_inspected(stream)[0].splitlines()))


def read_text(reading: Reading) -> str:
    """Return the whole text of a file, with lines that end in a line feed.

    Raises:
        InvalidInputError: The file is larger than ``MAX_FILE_BYTES``, or its encoding is not recognised.
    """
    name = reading.part.name
    with reading.open() as stream:
        data = stream.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise InvalidInputError(f"{name} is longer than {MAX_FILE_BYTES:,} bytes of plain text: split it.")
    return decoded(data)[0].removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def head_of(part: Part) -> str:
    """Return the beginning of a text; nothing for a file that is none."""
    if not looks_like_text(part):
        return ""
    with part.open() as stream:
        data = stream.read(_HEAD_BYTES)
    try:
        return decoded(data, is_cut=len(data) == _HEAD_BYTES)[0]
    except UnreadableFileError:  # what reads it says so
        return data.decode("ascii", "replace")


def assumed_encoding(part: Part) -> str | None:
    """Return which encoding a text is taken to have, if it does not say so itself.

    Raises:
        UnreadableFileError: It is not recognised.
    """
    with part.open() as stream:
        return _inspected(stream)[1]


def _inspected(stream: BinaryIO) -> tuple[str, str | None]:
    data = stream.read(_INSPECTED_BYTES)
    return decoded(data, is_cut=len(data) == _INSPECTED_BYTES)


def conversations(reading: Reading) -> Iterator[Item]:
    """Read a whole file as one conversation, dated by the last write of the file, or by the name of a transcript.

    Raises:
        InvalidInputError: The file is larger than ``MAX_FILE_BYTES``.
    """
    name, modified, max_message_bytes = reading.part.name, reading.fallback_time, reading.max_message_bytes
    text = read_text(reading)
    messages = [
        IncomingMessage(role, piece, author)
        for role, author, content in _turns(text)
        for piece in split(content, max_message_bytes)
    ]
    first = messages[0].content if messages else None
    former = derived_id("text", name, first)
    named = time_in(PurePath(name).name) if any(message.author for message in messages) else None
    if named is None and messages:
        yield BY_FILE
    yield from assemble(
        name,
        Opening("text", former=(former, *_shorter(messages))),
        (replace(message, external_id=message_id(n, message)) for n, message in enumerate(messages, 1)),
        title=PurePath(name).stem,
        started_at=named or modified,
        fallback_time=modified,
    )


def _shorter(messages: Sequence[IncomingMessage]) -> Iterator[str]:
    """Yield the ids of a text of one turn as it was with fewer lines."""
    lines = messages[0].content.split("\n") if len(messages) == 1 else []
    for count in range(1, min(len(lines), _MOST_FORMER_LINES)):
        yield Opening("text").id_of(replace(messages[0], content="\n".join(lines[:count])))


def _turns(text: str) -> Iterator[tuple[Role, str | None, str]]:
    """Yield role, author and words of each turn; a text that is not a dialogue is one turn of the user."""
    lines = _stamped(text.splitlines())
    speakers = _speakers(lines)
    if speakers:
        lines = _without_frame(lines)
    role, author, words = Role.USER, None, list[str]()
    for line in lines:
        match = SPEAKER.match(line)
        if match is None or match["name"] not in speakers:
            words.append(line)
            continue
        if content := "\n".join(words).strip():
            yield role, author, content
        known = _ROLES.get(match["name"].lower())
        role, author, words = known or Role.USER, None if known else match["name"], [line[match.end() :]]
    if content := "\n".join(words).strip():
        yield role, author, content


def _speakers(lines: list[str]) -> frozenset[str]:
    """Return the speakers, if enough lines begin with one."""
    lines = _stamped(lines)
    speakers = speakers_of(lines, _ROLES)
    with_speaker = sum(1 for line in lines if (match := SPEAKER.match(line)) and match["name"] in speakers)
    not_blank = sum(1 for line in lines if line.strip())
    return speakers if with_speaker >= MIN_SPEAKER_SHARE * not_blank else frozenset()


def _stamped(lines: list[str]) -> list[str]:
    """Return lines in which a line of a name and a time, as Otter and Teams write it, stands before its words."""
    found: list[str] = []
    name: str | None = None
    for line in lines:
        match = _STAMP.fullmatch(line)
        if match is not None and is_name(match["name"].strip()):
            name = match["name"].strip()
        elif name is not None and line.strip():
            found.append(f"{name}: {line.strip()}")
            name = None
        else:
            found.append(line)
    return found if len(found) <= len(lines) - 2 else lines


def _without_frame(lines: list[str]) -> list[str]:
    """Return the lines of a transcript without the head of Google Meet, its times, and the feet of programs."""
    head = next((place for place, line in enumerate(lines[:_HEAD_LINES]) if _TRANSCRIPT.fullmatch(line.strip())), None)
    if head is not None and any(_ATTENDEES.fullmatch(line.strip()) for line in lines[:head]):
        lines = lines[head + 1 :]
    return [line for line in lines if not _FRAME.fullmatch(line.strip())]


def split(content: str, max_bytes: int) -> Iterator[str]:
    """Yield pieces of a text of at most ``max_bytes`` of UTF-8, split after a paragraph, line or word if possible."""
    encoded = content.encode("utf-8", "surrogatepass")
    while len(encoded) > max_bytes:
        window = encoded[:max_bytes]
        cut = next(
            (at + len(gap) for gap in (b"\n\n", b"\n", b" ") if (at := window.rfind(gap)) > max_bytes // 2),
            max_bytes,
        )
        while encoded[cut] & 0xC0 == 0x80:  # inside a character
            cut -= 1
        yield encoded[:cut].decode("utf-8", "surrogatepass").rstrip()
        encoded = encoded[cut:].lstrip(b"\n")
    yield encoded.decode("utf-8", "surrogatepass")
