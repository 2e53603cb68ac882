"""What phase one finds, as typed values between the ranking and ``present``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.history import superseded_of, values_then
from neurigraph_pipelines.retrieval.index.layers import StoredRecord
from neurigraph_pipelines.retrieval.query.load import LoadedNode
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion
from neurigraph_pipelines.retrieval.query.rank import Ranked
from neurigraph_pipelines.retrieval.query.select import Anchor

Parts = Mapping[str, float | None]
"""The components of a score by name; empty unless they were asked for."""


class FoundRecord(NamedTuple):
    """A record that was found, with the title and summary of the moment that the question is about.

    Attributes:
        node: The node that it lies in.
        superseded: Whether another memory replaced it; None unless superseded records were asked for.
    """

    node: Anchor
    record: StoredRecord
    score: float
    parts: Parts
    superseded: bool | None = None


class FoundMessage(NamedTuple):
    """A message that was found; ``seq`` is its number in its source."""

    record_id: str
    external_id: str | None
    seq: int
    score: float
    parts: Parts


@dataclass(frozen=True, slots=True)
class Found:
    """The result of phase one.

    Attributes:
        records: Best first.
        messages: Best first, over all records.
        anchors: The nodes that were searched, best first.
        warmed: How many nodes are staged around those of the best records.
        notes: What the result lacks, such as vectors, one sentence each.
    """

    records: tuple[FoundRecord, ...] = ()
    messages: tuple[FoundMessage, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    warmed: int = 0
    notes: tuple[str, ...] = ()


def found_records(nodes: Sequence[LoadedNode], ranked: Sequence[Ranked]) -> list[FoundRecord]:
    """Return ranked records with what their layers hold of them."""
    return [
        FoundRecord(nodes[one.node].anchor, nodes[one.node].layer.stored_record(one.row), one.score, one.parts)
        for one in ranked
    ]


def found_messages(nodes: Sequence[LoadedNode], ranked: Sequence[Ranked]) -> list[FoundMessage]:
    """Return ranked messages with what their layers hold of them."""
    found = []
    for one in ranked:
        layer = nodes[one.node].layer
        record_id, seq = layer.record_ids[layer.record[one.row]], int(layer.first_message[one.row])
        found.append(FoundMessage(record_id, layer.external_ids[one.row], seq, one.score, one.parts))
    return found


def as_of_moment(context: Context, parsed: ParsedQuestion, records: list[FoundRecord]) -> list[FoundRecord]:
    """Give records the titles and summaries of the moment asked about, and say which are superseded, if asked for."""
    question = parsed.question
    if question.at is None and not question.include_superseded:
        return records
    record_ids = [UUID(one.record.record_id) for one in records]
    with context.database.agent(context.claims) as tx:
        earlier = values_then(tx, record_ids, question.at) if question.at is not None else {}
        superseded = superseded_of(tx, record_ids, question.at) if question.include_superseded else None
    dated = []
    for record_id, one in zip(record_ids, records, strict=True):
        values = earlier.get(record_id, {})
        changed = {name: values[name] for name in ("title", "summary") if name in values}
        is_superseded = record_id in superseded if superseded is not None else None
        dated.append(one._replace(record=one.record._replace(**changed), superseded=is_superseded))
    return dated
