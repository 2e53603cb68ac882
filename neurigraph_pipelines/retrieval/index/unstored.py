"""Messages that are not stored yet, in memory: a metadata layer that is made of their texts.

``neurigraph.search_gate`` of the database decides which of them the caller sees; ``query.unstored`` reads and indexes
them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple, Self
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.voices import common_origin, voices_of
from neurigraph_pipelines.model import Message, ReceivedThrough, Role, SourceKind, ToolEvent
from neurigraph_pipelines.retrieval.index import wire_format
from neurigraph_pipelines.retrieval.index.layers import APART, ROLES, VOICES, MetadataLayer
from neurigraph_pipelines.text.hygiene import on_clock
from neurigraph_pipelines.text.lexemes import lexer_of, window_lengths

TITLE_CHARACTERS, SUMMARY_CHARACTERS = 60, 600
"""Most characters of a message that stand for a title where its source has none, and for a summary."""

_BYTES_OF_CHARACTER = 2


class Part(NamedTuple):
    """A message that is not stored yet, or a part of a long one, in the form in which passages are indexed.

    Attributes:
        total: The number of its lexemes.
        statement: The digest of its words; 0 without words.
        vector: Its vector in the width of passages; None if it has none.
    """

    text: str
    lexemes: Sequence[str]
    frequencies: Sequence[int]
    total: int
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
    details: Mapping[str, Any] | None
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
        return MetadataLayer(_row(self, self.sources))

    def after(self, past: Unstored | None) -> Self:
        """Return these messages; if a few were added to earlier ones, only these are added to the earlier layer."""
        known = {source.source_id: source for source in past.sources} if past is not None else {}
        same = {source.source_id for source in self.sources if known.get(source.source_id) is source}
        if past is not None and len(same) > len(self.sources) // 2:
            stays = np.array([source_id in same for source_id in past.layer.record_ids], bool)
            changed = [source for source in self.sources if source.source_id not in same]
            self.__dict__["layer"] = MetadataLayer(_row(self, changed), (past.layer, stays))
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


def message_of(fields: Mapping[str, Any]) -> Message:
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


def _row(unstored: Unstored, sources: Sequence[UnstoredSource]) -> dict[str, Any]:
    """Return the messages of some sources as ``neurigraph.layers`` returns those of a node."""
    lexer = lexer_of(unstored.language)
    return {
        "model": None,
        "horizon": None,
        "records": b"".join(_record(source) for source in sources),
        "titles": [source.title_view for source in sources],
        "summaries": [beginning(source.messages[-1].message.content, SUMMARY_CHARACTERS) for source in sources],
        "source_kinds": [source.kind.value for source in sources],
        "source_names": [source.external_id for source in sources],
        "file_states": [None] * len(sources),
        "origins": [_origin(source) for source in sources],
        "superseded": [None] * len(sources),
        "record_lexemes": [" ".join(dict.fromkeys(lexer.lexemes(source.title or ""))) for source in sources],
        "summary_vectors": bytes(len(sources) * 8),
        **_passages(unstored.slug, sources),
    }


def _record(source: UnstoredSource) -> bytes:
    first = source.messages[0].message
    row = np.zeros(1, wire_format.RECORD)
    row["id"] = row["source"] = np.frombuffer(UUID(source.source_id).bytes, "V16")
    row["occurred"] = first.occurred_at.timestamp()
    row["created"] = first.received_at.timestamp() if first.received_at is not None else 0.0
    row["importance"] = 0.5
    return row.tobytes()


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


def _passages(slug: str, sources: Sequence[UnstoredSource]) -> dict[str, Any]:
    """Return what ``neurigraph.layers`` returns of passages."""
    rows: list[tuple[Any, ...]] = []
    parts: list[Part] = []
    messages: list[Message] = []
    for source in sources:
        voices = voices_of([one.message for one in source.messages], source.kind, slug)
        lengths = iter(window_lengths([part.total for one in source.messages for part in one.parts]))
        seq, before = 0, 0
        for one in source.messages:
            message = one.message
            seq += 1 if message.seq == before + 1 else APART
            before = message.seq
            numbers = (VOICES.index(voices[message.seq]), ROLES.index(message.role))
            for part in one.parts:
                place = (UUID(source.source_id).bytes, seq, message.seq)
                rows.append((*place, next(lengths), 0, *numbers, part.statement, len(part.lexemes), 1))
                parts.append(part)
                messages.append(message)
                seq += 1
            seq -= 1
    return {
        "passages": np.array(rows, wire_format.PASSAGE).tobytes(),
        "authors": [message.author for message in messages],
        "external_ids": [message.external_id for message in messages],
        "sections": [message.section for message in messages],
        "vectors": _vectors(parts),
        "lexemes": " ".join(lexeme for part in parts for lexeme in part.lexemes),
        "frequencies": " ".join(str(frequency) for part in parts for frequency in part.frequencies),
    }


def _vectors(parts: Sequence[Part]) -> bytes:
    """Return two vectors a part, its own one for that of its window, too; zeros for a part without one."""
    width = max((len(part.vector) for part in parts if part.vector is not None), default=1)
    packed = np.zeros((len(parts), 2), [("head", "V4"), ("vector", ">f2", width)])
    for row, part in zip(packed, parts, strict=True):
        if part.vector is not None:
            row["vector"] = part.vector
    return packed.tobytes()
