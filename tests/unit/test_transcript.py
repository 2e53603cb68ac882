"""A segment as bytes: reading it back, whole and in parts."""

from __future__ import annotations

import gzip
import json
import subprocess
import zlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.model import Message, Role, Segment, SegmentRef, SourceKind, TriggerType
from neurigraph_pipelines.text.stored_text import members_of, passage_text, read_text
from neurigraph_pipelines.text.transcript import (
    Layout,
    Passage,
    TranscriptWriter,
    read_messages,
)
from resources.tokens.tokenizer import EstimatedCounter

TOKENS = EstimatedCounter()
NOBODY = UUID(int=0)
REF = SegmentRef(
    NOBODY, NOBODY, "bob", SourceKind.CONVERSATION, NOBODY, "c", None, TriggerType.CONVERSATION_END, 1, 1, 0, 1
)

# Nothing that the inbox would not let in: no NUL, no lone surrogates.
storable = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
nasty = st.text(st.sampled_from("\"\\\u2028\u2029\r\n\t\x01\x7f.!?。 aé漢🦊\u200d{}'/"), max_size=120)
texts = st.one_of(st.text(storable, max_size=120), nasty, nasty.map(lambda text: text * 20))
names = st.none() | st.text(storable, min_size=1, max_size=20)
calls = st.lists(
    st.dictionaries(st.text(storable, max_size=8), st.none() | st.booleans() | st.integers() | st.text(storable)),
    max_size=2,
)


@dataclass(frozen=True, slots=True)
class Written:
    """A segment with all that writing it gave."""

    segment: Segment
    writer: TranscriptWriter
    members: list[bytes]
    layout: Layout
    passages: list[Passage] = field(default_factory=list)

    @property
    def text(self) -> bytes:
        return gzip.decompress(b"".join(self.members))


def write(segment: Segment, passage_tokens: int = 20, member_bytes: int = 64) -> Written:
    writer = TranscriptWriter(TOKENS, passage_tokens, member_bytes, gzip_level=6)
    layout = Layout()
    return Written(segment, writer, list(writer.members(segment, layout)), layout, list(writer.passages(segment)))


def message(
    seq: int,
    content: str,
    author: str | None = None,
    external_id: str | None = None,
    tool_calls: tuple[dict[str, Any], ...] = (),
) -> Message:
    moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(seconds=seq)
    return Message(seq, Role.USER, content, TOKENS.count(content), moment, author, external_id, tool_calls)


@st.composite
def segments(draw: st.DrawFn) -> Segment:
    first = draw(st.integers(1, 1_000_000))
    contents = draw(st.lists(texts, min_size=1, max_size=6))
    return Segment(
        REF,
        tuple(
            message(first + number, content, draw(names), draw(names), tuple(draw(calls)))
            for number, content in enumerate(contents)
        ),
    )


@given(segments())
def test_messages_round_trip(segment: Segment) -> None:
    read = tuple(read_messages(write(segment).text))
    assert read == tuple(replace(message, token_count=0) for message in segment.messages)


@given(segments(), st.integers(1, 400))
def test_lines_round_trip(segment: Segment, member_bytes: int) -> None:
    lines = write(segment, member_bytes=member_bytes).text.split(b"\n")
    assert lines.pop() == b""
    assert len(lines) == len(segment.messages)
    for line, sent in zip(lines, segment.messages, strict=True):
        found = json.loads(line)
        assert found.pop("content") == sent.content
        assert tuple(found.pop("tool_calls", ())) == sent.tool_calls
        assert found == {
            "seq": sent.seq,
            "role": sent.role.value,
            "author": sent.author,
            "occurred_at": sent.occurred_at.isoformat(),
            "external_id": sent.external_id,
        }


@given(segments(), st.integers(1, 60))
def test_passages_make_up_the_message(segment: Segment, passage_tokens: int) -> None:
    written = write(segment, passage_tokens)
    text = written.text
    joined: dict[int, str] = {}
    for number, passage in enumerate(written.passages, start=1):
        assert passage.seq == number
        assert passage_text(text[passage.byte_offset :][: passage.byte_length]) == passage.text
        joined[passage.message.seq] = joined.get(passage.message.seq, "") + passage.text
    assert joined == {sent.seq: sent.content for sent in segment.messages}


@given(segments(), st.integers(1, 400), st.data())
def test_ranges_span_few_members(segment: Segment, member_bytes: int, data: st.DataObject) -> None:
    written = write(segment, member_bytes=member_bytes)
    stored, layout, text = b"".join(written.members), written.layout, written.text
    offset = data.draw(st.integers(0, len(text) - 1))
    length = data.draw(st.integers(0, len(text) - offset))
    start, size, text_start, lengths = members_of(
        offset, length, layout.stored_bytes, layout.member_offsets, layout.member_text_offsets
    )
    assert sum(lengths) == size
    pieces = []
    for member_length in lengths:
        pieces.append(stored[start : start + member_length])
        start += member_length
    found = read_text(pieces)
    assert found[offset - text_start :][:length] == text[offset : offset + length]
    needless = len(found) - length
    longest = max(map(len, (gzip.decompress(member) for member in written.members)))
    assert needless <= 2 * longest


@given(segments())
def test_layout_locates_members(segment: Segment) -> None:
    written = write(segment)
    layout = written.layout
    assert layout.text_bytes == len(written.text)
    assert layout.stored_bytes == sum(map(len, written.members))
    assert layout.member_offsets == [sum(map(len, written.members[:i])) for i in range(len(written.members))]
    assert layout.member_text_offsets == [len(read_text(written.members[:i])) for i in range(len(written.members))]
    starts = {passage.byte_offset + passage.byte_length for passage in written.passages}
    # A member ends where a passage ends, or after the closing of its line.
    assert all(end in starts or end - 3 in starts for end in layout.member_text_offsets[1:])


@given(segments())
def test_equal_segments_give_equal_bytes(segment: Segment) -> None:
    assert write(segment).members == write(segment).members


def test_gunzip_reads_it() -> None:
    contents = ['She said "no" \\ maybe', "\u2028\u2029", "🦊 漢字\n" * 200, ""]
    written = write(Segment(REF, tuple(message(i, content) for i, content in enumerate(contents, start=1))))
    assert len(written.members) > 3
    found = subprocess.run(
        ["/usr/bin/env", "gunzip", "--stdout"], input=b"".join(written.members), capture_output=True, check=True
    )
    assert found.stderr == b""
    assert [json.loads(line)["content"] for line in found.stdout.splitlines()] == contents


def test_passages_are_bounded() -> None:
    long = "This sentence has nine tokens or so in it. " * 50
    written = write(Segment(REF, (message(1, "Short."), message(2, long))), passage_tokens=40)
    assert [p.text for p in written.passages if p.message.seq == 1] == ["Short."]
    parts = [p.text for p in written.passages if p.message.seq == 2]
    assert len(parts) > 5
    assert all(TOKENS.count(part) <= 60 for part in parts)
    assert all(part.endswith(". ") for part in parts)


@pytest.mark.parametrize("unit", ["a", "漢", ".", "\n", '"', "\\", "🦊"])
def test_message_without_sentences_is_cut(unit: str) -> None:
    content = unit * 200_000
    written = write(Segment(REF, (message(1, content),)), passage_tokens=200, member_bytes=32_768)
    assert len(written.passages) > 1
    assert max(len(passage.text) for passage in written.passages) < 20_000
    assert "".join(passage.text for passage in written.passages) == content
    assert json.loads(written.text)["content"] == content


@pytest.mark.parametrize("kept", [-1, 20])
def test_damaged_member_is_refused(kept: int) -> None:
    written = write(Segment(REF, (message(1, "some text that is long enough to be damaged in the middle"),)))
    with pytest.raises(zlib.error):
        read_text([written.members[0][:kept] + b"\xff"])
