"""Messages that are not stored yet, in memory: a metadata layer that is made of their texts.

``neurigraph.search_gate`` of the database decides which of them the caller sees; ``query.unstored`` reads and indexes
them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.voices import common_origin, voices_of
from neurigraph_pipelines.model import Message, ReceivedThrough, Role, SourceKind, ToolEvent
from neurigraph_pipelines.retrieval.index.columns import RECORD, Records, columns_of
from neurigraph_pipelines.retrieval.index.layers import APART, MetadataLayer
from neurigraph_pipelines.retrieval.index.postings import Floats
from neurigraph_pipelines.retrieval.index.texts import RecordTexts
from neurigraph_pipelines.text.hygiene import on_clock
from neurigraph_pipelines.text.lexemes import lexer_of, window_lengths
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words
from neurigraph_pipelines.views.scalars import Row

TITLE_CHARACTERS, SUMMARY_CHARACTERS = 60, 600
"""Most characters of a message that stand for a title where its source has none, and for a summary."""

_BYTES_OF_CHARACTER = 2


class Part(NamedTuple):
    """A message that is not stored yet, or a part of a long one, as a search segment holds it.

    Attributes:
        statement: The digest of its words; 0 without words.
        vector: Its vector in the width of passages; None if it has none.
    """

    words: Words
    statement: int
    vector: NDArray[np.float16] | None = None


class IndexedMessage(NamedTuple):
    """A message with the parts in which it is found."""

    message: Message
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class UnstoredSource:
    """A source with its newest messages that are not stored yet, in their order; ``details`` is as in ``Origin``."""

    source_id: str
    kind: SourceKind
    external_id: str
    title: str | None
    details: Row | None
    messages: tuple[IndexedMessage, ...]

    @property
    def title_view(self) -> str:
        """Its title, or else the first words of its first message."""
        return self.title or beginning(self.messages[0].message.content, TITLE_CHARACTERS)


@dataclass(frozen=True)
class Unstored:
    """The messages of a graph that are not stored yet, as one caller sees them.

    Attributes:
        version: Changes with them.
        horizon: Transactions below it had ended when they were read; None if unknown.
        slug: The name of the owner of the graph.
        language: The stemmer of the installation's language.
        is_cut: Whether more wait than are searched.
        sources: The one that a message reached last comes first.
    """

    version: str
    horizon: int | None
    slug: str
    language: str
    is_cut: bool
    sources: tuple[UnstoredSource, ...]

    @cached_property
    def layer(self) -> MetadataLayer:
        """Their metadata layer: each source is a record, whose id is that of the source."""
        return MetadataLayer(_records(self, self.sources))

    def after(self, past: Unstored | None) -> Self:
        """Return these messages; if a few were added to earlier ones, only these are added to the earlier layer."""
        known = {source.source_id: source for source in past.sources} if past is not None else {}
        same = {source.source_id for source in self.sources if known.get(source.source_id) is source}
        if past is not None and len(same) > len(self.sources) // 2:
            stays = np.array([source_id in same for source_id in past.layer.record_ids], bool)
            changed = [source for source in self.sources if source.source_id not in same]
            self.__dict__["layer"] = MetadataLayer(_records(self, changed), before=(past.layer, stays))
        return self

    @cached_property
    def _messages(self) -> list[IndexedMessage]:
        """The message of each passage of the layer."""
        sources = {source.source_id: source for source in self.sources}
        return [one for record in self.layer.record_ids for one in sources[record].messages for _ in one.parts]

    def message(self, passage: int) -> Message:
        """Return the message of a passage of the layer."""
        return self._messages[passage].message

    def without(self, layers: Iterable[MetadataLayer]) -> Unstored:
        """Return these messages without those that some layers hold: they were stored meanwhile."""
        held = {UUID(source.source_id).bytes: set[int]() for source in self.sources}
        for layer in layers:
            for source_id, messages in _stored_messages(layer, list(held)):
                held[source_id].update(messages)
        sources = tuple(_without(source, held[UUID(source.source_id).bytes]) for source in self.sources)
        if sources == self.sources:
            return self
        return replace(self, sources=tuple(source for source in sources if source.messages)).after(self)

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        if not self.sources:
            return 0
        texts = sum(len(one.message.content) for source in self.sources for one in source.messages)
        return self.layer.size + 2 * _BYTES_OF_CHARACTER * texts


def message_of(fields: Row) -> Message:
    """Return a message that the database sent as JSON."""
    content: str = fields["content"]
    return Message(
        seq=fields["seq"],
        role=Role(fields["role"]),
        content=content,
        token_count=fields["token_count"],
        occurred_at=on_clock(datetime.fromisoformat(fields["occurred_at"]), fields["utc_offset"]),
        author=fields["author"],
        external_id=fields["external_id"],
        tool_calls=tuple(fields.get("tool_calls") or ()),
        key_id=_id(fields["key_id"]),
        persona_id=_id(fields["persona_id"]),
        received_through=ReceivedThrough(fields["received_through"]) if fields["received_through"] else None,
        received_at=datetime.fromisoformat(fields["received_at"]),
        section=fields["section"],
        event=ToolEvent.of_fields(fields["tool_event"], content) if fields["tool_event"] else None,
    )


def _id(text: str | None) -> UUID | None:
    return UUID(text) if text is not None else None


def beginning(text: str, characters: int) -> str:
    """Return the first words of a text."""
    words = " ".join(text[: 2 * characters].split())
    return words if len(words) <= characters else f"{words[:characters].rpartition(' ')[0] or words[:characters]}…"


def _stored_messages(layer: MetadataLayer, source_ids: Sequence[bytes]) -> Iterator[tuple[bytes, list[int]]]:
    """Yield the sources that have records in a layer, with the numbers of their stored messages."""
    of_records = np.ascontiguousarray(layer.record_columns["source"]).view("S16")
    for row in np.flatnonzero(np.isin(of_records, np.array(source_ids, "S16"))).tolist():
        yield layer.record_columns["source"][row].tobytes(), layer.first_message[layer.record == row].tolist()


def _without(source: UnstoredSource, stored: Collection[int]) -> UnstoredSource:
    if not stored:
        return source
    left = tuple(one for one in source.messages if one.message.seq not in stored)
    return source if len(left) == len(source.messages) else replace(source, messages=left)


def _records(unstored: Unstored, sources: Sequence[UnstoredSource]) -> Records:
    """Return the messages of some sources as the records of a layer."""
    rows = np.zeros(len(sources), RECORD)
    for row, source in zip(rows, sources, strict=True):
        first = source.messages[0].message
        row["id"] = row["source"] = np.frombuffer(UUID(source.source_id).bytes, "V16")[0]
        row["occurred"] = first.occurred_at.timestamp()
        row["created"] = first.received_at.timestamp() if first.received_at is not None else 0.0
        row["importance"] = 0.5
    lexer = lexer_of(unstored.language)
    return Records(
        columns_of(rows, np.zeros((len(sources), 0), np.float32)),
        [_texts(source) for source in sources],
        {},
        [" ".join(dict.fromkeys(lexer.lexemes(source.title or ""))) for source in sources],
        [_segment(unstored.slug, source) for source in sources],
        [_vectors(source) for source in sources],
    )


def _texts(source: UnstoredSource) -> RecordTexts:
    last = source.messages[-1].message.content
    summary = beginning(last, SUMMARY_CHARACTERS)
    return RecordTexts(source.title_view, summary, source.kind.value, source.external_id, None, _origin(source))


def _origin(source: UnstoredSource) -> str:
    messages = [one.message for one in source.messages]
    persona_id, key_id, received_through = common_origin(messages)
    received = max((one.received_at for one in messages if one.received_at is not None), default=None)
    return json.dumps(
        {
            "persona_id": str(persona_id) if persona_id is not None else None,
            "key_id": str(key_id) if key_id is not None else None,
            "received_through": received_through,
            "received_at": received.isoformat() if received is not None else None,
            "source": source.details,
        }
    )


def _segment(slug: str, source: UnstoredSource) -> SearchSegment:
    """Return the search segment of a source; no window holds two messages between which there are others."""
    voices = voices_of([one.message for one in source.messages], source.kind, slug)
    lengths = iter(window_lengths([part.words.total for one in source.messages for part in one.parts]))
    spoken: list[Spoken] = []
    seq, before = 0, 0
    for message, parts in source.messages:
        seq += 0 if message.seq == before + 1 else APART - 1
        before = message.seq
        said = (message.seq, message.author, message.section, message.external_id, message.role, voices[message.seq])
        for part in parts:
            seq += 1
            spoken.append(Spoken(seq, *said, part.words, part.statement, next(lengths)))
    return SearchSegment.of(spoken)


def _vectors(source: UnstoredSource) -> Floats:
    """Return the vectors of the parts; zeros for a part without one."""
    parts = [part for one in source.messages for part in one.parts]
    width = max((len(part.vector) for part in parts if part.vector is not None), default=0)
    vectors = np.zeros((len(parts), width), np.float32)
    for row, part in zip(vectors, parts, strict=True):
        if part.vector is not None:
            row[:] = part.vector
    return vectors
