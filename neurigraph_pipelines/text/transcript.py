"""A segment as bytes: one JSON line a message, gzip in several members, and where each passage lies in it.

Text in, bytes and positions out, and messages back; which store keeps the bytes is for ``commit``, unpacking them and
reading single passages for ``lifecycle.stored_text``. Any gunzip reads the whole file, any JSON reader each line.

The content is the last field of a line, and JSON escapes each character by itself, so a passage's bytes are the
escaped form of exactly its text, whether it is a whole message or a part of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from neurigraph_pipelines.model import Message, Role, Segment
from neurigraph_pipelines.ports import TokenCounter
from neurigraph_pipelines.text.stored_text import packed

LINE_END = b'"}\n'
"""What follows the content in a message's line."""

_SENTENCE = re.compile(r"[^.!?\n。！？]*[.!?\n。！？]+\s*|[^.!?\n。！？]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """The smallest thing that retrieval can point at: a message, or a part of a long one.

    ``seq`` counts from 1 in its segment; offset and length are bytes of the uncompressed transcript.
    """

    seq: int
    message: Message
    text: str
    byte_offset: int
    byte_length: int


@dataclass(slots=True)
class Layout:
    """What writing a transcript found out; complete once ``members`` is exhausted."""

    member_offsets: list[int] = field(default_factory=list)
    member_text_offsets: list[int] = field(default_factory=list)
    text_bytes: int = 0
    stored_bytes: int = 0


class TranscriptWriter:
    """Writes transcripts.

    Args:
        tokens: Measures which messages are too long for one passage.
        passage_max_tokens: From which a message is split.
        member_bytes: Bytes of text in one gzip member, at least; a member ends where a passage ends.
        gzip_level: 1 (fast) to 9 (small).
    """

    def __init__(self, tokens: TokenCounter, passage_max_tokens: int, member_bytes: int, gzip_level: int) -> None:
        self._tokens = tokens
        self._passage_max_tokens = passage_max_tokens
        self._member_bytes = member_bytes
        self._gzip_level = gzip_level

    def passages(self, segment: Segment) -> Iterator[Passage]:
        """The passages of a segment with their places in the transcript, in order."""
        offset, seq = 0, 0
        for message in segment.messages:
            head, tail = _frame(message)
            position = offset + len(head)
            for text in self._parts(message):
                seq += 1
                length = len(_escaped(text))
                yield Passage(seq, message, text, position, length)
                position += length
            offset = position + len(tail)

    def members(self, segment: Segment, layout: Layout) -> Iterator[bytes]:
        """The transcript as gzip members, filling in ``layout`` on the way.

        Equal segments give equal bytes: no time stamp, no file name.
        """
        pending = bytearray()
        for piece in self._pieces(segment):
            pending += piece
            if len(pending) >= self._member_bytes:
                yield self._member(pending, layout)
                pending.clear()
        if pending or not layout.member_offsets:
            yield self._member(pending, layout)

    def _member(self, text: bytearray, layout: Layout) -> bytes:
        data = b"".join(packed([bytes(text)], self._gzip_level))
        layout.member_offsets.append(layout.stored_bytes)
        layout.member_text_offsets.append(layout.text_bytes)
        layout.stored_bytes += len(data)
        layout.text_bytes += len(text)
        return data

    def _pieces(self, segment: Segment) -> Iterator[bytes]:
        """Bytes between which a member may end."""
        for message in segment.messages:
            head, tail = _frame(message)
            parts = [_escaped(text) for text in self._parts(message)]
            parts[0] = head + parts[0]
            yield from parts[:-1]
            yield parts[-1] + tail

    def _parts(self, message: Message) -> list[str]:
        if message.token_count <= self._passage_max_tokens:
            return [message.content]
        parts: list[str] = []
        room = 0
        for sentence in _sentences(message.content, self._passage_max_tokens):
            cost = self._tokens.count(sentence)
            if parts and cost <= room:
                parts[-1] += sentence
                room -= cost
            else:
                parts.append(sentence)
                room = self._passage_max_tokens - cost
        return parts or [message.content]


def last_line(text: bytes) -> dict[str, Any]:
    """The message whose line ends a piece of a transcript."""
    line: dict[str, Any] = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])
    return line


def read_messages(text: bytes) -> Iterator[Message]:
    """The messages of a transcript, in order. How many tokens each had is not kept: 0."""
    for line in filter(None, text.split(b"\n")):
        stated = json.loads(line)
        yield Message(
            seq=stated["seq"],
            role=Role(stated["role"]),
            content=stated["content"],
            token_count=0,
            occurred_at=datetime.fromisoformat(stated["occurred_at"]),
            author=stated["author"],
            external_id=stated["external_id"],
            tool_calls=tuple(stated.get("tool_calls", ())),
        )


def _frame(message: Message) -> tuple[bytes, bytes]:
    """What stands before and after the content in a message's line."""
    fields: dict[str, object] = {
        "seq": message.seq,
        "role": message.role.value,
        "author": message.author,
        "occurred_at": message.occurred_at.isoformat(),
        "external_id": message.external_id,
    }
    if message.tool_calls:
        fields["tool_calls"] = list(message.tool_calls)
    line = json.dumps(fields, ensure_ascii=False)
    return f'{line[:-1]}, "content": "'.encode(), LINE_END


def _escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _sentences(text: str, longest: int) -> Iterator[str]:
    """Sentences with what follows them; one of more than four characters a token is cut hard."""
    widest = 4 * longest
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        for start in range(0, len(sentence), widest):
            yield sentence[start : start + widest]
