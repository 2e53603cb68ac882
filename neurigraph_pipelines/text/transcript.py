"""Transcript format: one JSON line per message, compressed as several gzip members, with each passage's byte range.

Encodes segments and decodes messages. ``ingestion.commit`` stores the bytes; ``stored_text`` decompresses them and
reads single passages. Any gunzip reads the whole file, and any JSON parser reads each line.

The content is the last field of a line, and JSON escapes each character independently. So a passage's bytes are the
escaped form of exactly its text, for a whole message or a part of one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice

from neurigraph_pipelines.model import Message, Role, Segment, ToolEvent
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import TokenCounter
from neurigraph_pipelines.text.stored_text import compress
from neurigraph_pipelines.views.scalars import WireObject

LINE_END = b'"}\n'
"""The end of a message's line, after the content."""

_PART = 0.4
"""Share of ``passage_max_tokens`` that a part of a split message has at most: small parts of long answers are found."""

_SENTENCES_AT_ONCE = 1_000
_SENTENCE = re.compile(r"[^.!?\n。！？]*[.!?\n。！？]+\s*|[^.!?\n。！？]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """The smallest unit of retrieval: a message, or a part of a long one.

    ``seq`` counts from 1 within its segment; offset and length are bytes of the uncompressed transcript.
    """

    seq: int
    message: Message
    text: str
    byte_offset: int
    byte_length: int


@dataclass(slots=True)
class Layout:
    """Offsets and sizes of a written transcript; complete when ``members`` is exhausted."""

    member_offsets: list[int] = field(default_factory=list)
    member_text_offsets: list[int] = field(default_factory=list)
    text_bytes: int = 0
    stored_bytes: int = 0


class TranscriptWriter:
    """Writes transcripts.

    Args:
        tokens: Counts the tokens of sentences.
        passage_max_tokens: Longer messages are split, into parts of 40 % of this.
        member_bytes: Minimum bytes of text in one gzip member; a member ends where a passage ends.
        gzip_level: 1 (fast) to 9 (small).
    """

    def __init__(self, tokens: TokenCounter, passage_max_tokens: int, member_bytes: int, gzip_level: int) -> None:
        self._tokens = tokens
        self._passage_max_tokens = passage_max_tokens
        self._member_bytes = member_bytes
        self._gzip_level = gzip_level

    def passages(self, segment: Segment) -> Iterator[Passage]:
        """Yield the passages of a segment in order, with their byte ranges in the transcript."""
        offset, seq = 0, 0
        for message in segment.messages:
            head, tail = _frame(message)
            position = offset + len(head)
            for text in self.parts(message):
                seq += 1
                length = len(_escaped(text))
                yield Passage(seq, message, text, position, length)
                position += length
            offset = position + len(tail)

    def members(self, segment: Segment, layout: Layout) -> Iterator[bytes]:
        """Yield the transcript as gzip members, filling in ``layout``.

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
        data = b"".join(compress([bytes(text)], self._gzip_level))
        layout.member_offsets.append(layout.stored_bytes)
        layout.member_text_offsets.append(layout.text_bytes)
        layout.stored_bytes += len(data)
        layout.text_bytes += len(text)
        return data

    def _pieces(self, segment: Segment) -> Iterator[bytes]:
        """Yield pieces of the transcript; a member may end after each."""
        for message in segment.messages:
            head, tail = _frame(message)
            parts = [_escaped(text) for text in self.parts(message)]
            parts[0] = head + parts[0]
            yield from parts[:-1]
            yield parts[-1] + tail

    def parts(self, message: Message) -> list[str]:
        """Return the text of a message, in parts if it is long."""
        if message.token_count <= self._passage_max_tokens:
            return [message.content]
        parts: list[list[str]] = []
        room = 0
        most = max(1, int(_PART * self._passage_max_tokens))
        sentences = _sentences(message.content, most)
        for sentence, cost in self._costs(sentences):
            if parts and cost <= room:
                parts[-1].append(sentence)
                room -= cost
            else:
                parts.append([sentence])
                room = most - cost
        return ["".join(part) for part in parts] or [message.content]

    def _costs(self, sentences: Iterator[str]) -> Iterator[tuple[str, int]]:
        """Yield each sentence with its tokens, counted for many at a time."""
        while some := list(islice(sentences, _SENTENCES_AT_ONCE)):
            yield from zip(some, self._tokens.count_each(some), strict=True)


def last_line(text: bytes) -> WireObject:
    """Parse the last line of a piece of a transcript."""
    line: WireObject = json.loads(text.rstrip(b"\n").rpartition(b"\n")[2])
    return line


def read_messages(text: bytes) -> Iterator[Message]:
    """Yield the messages of a transcript in order, with a token count of 0: transcripts do not store it."""
    for line in filter(None, text.split(b"\n")):
        fields = json.loads(line)
        yield Message(
            seq=fields["seq"],
            role=Role(fields["role"]),
            content=fields["content"],
            token_count=0,
            occurred_at=datetime.fromisoformat(fields["occurred_at"]),
            author=fields["author"],
            external_id=fields["external_id"],
            tool_calls=tuple(fields.get("tool_calls", ())),
            event=event_of(fields),
        )


def event_of(line: WireObject) -> ToolEvent | None:
    """Return the event of a tool in a line; None for other messages."""
    return ToolEvent.of_fields(line, line["content"]) if "type" in line else None


def _frame(message: Message) -> tuple[bytes, bytes]:
    """Return the bytes before and after the content in a message's line."""
    fields: dict[str, object] = {
        "seq": message.seq,
        "role": message.role.value,
        "author": message.author,
        "occurred_at": message.occurred_at.isoformat(),
        "external_id": message.external_id,
    }
    if message.tool_calls:
        fields["tool_calls"] = list(message.tool_calls)
    if message.event is not None:
        fields |= message.event.fields(message.content)
    line = json.dumps(fields, ensure_ascii=False)
    return f'{line[:-1]}, "content": "'.encode(), LINE_END


def _escaped(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _sentences(text: str, max_tokens: int) -> Iterator[str]:
    """Yield sentences with their trailing space; cut those longer than four characters per allowed token."""
    max_characters = 4 * max_tokens
    for match in _SENTENCE.finditer(text):
        sentence = match.group()
        for start in range(0, len(sentence), max_characters):
            yield sentence[start : start + max_characters]


def transcript_writer(context: Context) -> TranscriptWriter:
    """Return the transcript writer of the settings, which embedding and storing share."""
    settings = context.settings
    return TranscriptWriter(
        context.tokens,
        settings.ingestion.passage_max_tokens,
        settings.objects.gzip_member_bytes,
        settings.objects.gzip_level,
    )
