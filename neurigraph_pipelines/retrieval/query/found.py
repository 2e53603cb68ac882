"""What phase one finds, as typed values between the ranking and ``present``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.history import superseded_of, values_then
from neurigraph_pipelines.model import Voice, shown_author
from neurigraph_pipelines.retrieval.index.layers import VOICES
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
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
        persona: The path of the persona that handed it in; None if that is the owner, or if the caller does not see it.
        superseded: Whether another memory replaced it; None unless superseded records were asked for.
    """

    node: Anchor
    record: StoredRecord
    score: float
    parts: Parts
    superseded: bool | None = None
    persona: str | None = None


class FoundMessage(NamedTuple):
    """A message that was found.

    Attributes:
        seq: Its number in its source.
        author: The name that it is shown under.
        voice: Who speaks, as the server knows it; None if unknown.
        restated: How many passages of the nodes searched say the same, itself included.
    """

    record_id: str
    external_id: str | None
    seq: int
    score: float
    parts: Parts
    author: str | None
    voice: Voice | None
    restated: int


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


def found_records(
    nodes: Sequence[LoadedNode], ranked: Sequence[Ranked], shells: Shells, *, is_owner: bool
) -> list[FoundRecord]:
    """Return ranked records with what their layers hold of them.

    Args:
        shells: The nodes that the caller sees: a persona that is not among them is not named.
        is_owner: Whether the caller is the owner of the graph: only the owner sees keys.
    """
    found = []
    for one in ranked:
        record = nodes[one.node].layer.stored_record(one.row)
        number = _persona(record.origin, shells)
        path = shells.location(number)[2] if number is not None else None
        if not is_owner:
            record = record._replace(origin=record.origin._replace(key_id=None))
        found.append(FoundRecord(nodes[one.node].anchor, record, one.score, one.parts, persona=path))
    return found


def found_messages(nodes: Sequence[LoadedNode], ranked: Sequence[Ranked], shells: Shells) -> list[FoundMessage]:
    """Return ranked messages with what their layers hold of them."""
    layers = [node.layer for node in nodes]
    statements = np.array([layers[one.node].statement[one.row] for one in ranked], np.int64)
    restated = np.sum([layer.restated(statements) for layer in layers], axis=0).tolist() if ranked else []
    found = []
    for one, times in zip(ranked, restated, strict=True):
        layer, row = layers[one.node], one.row
        voice = VOICES[layer.voice[row]]
        number = _persona(layer.origin(int(layer.record[row])), shells) if voice is Voice.PERSONA else None
        found.append(
            FoundMessage(
                layer.record_ids[layer.record[row]],
                layer.external_ids[row],
                int(layer.first_message[row]),
                one.score,
                one.parts,
                shown_author(layer.author(row), voice, shells.name(number) if number is not None else None),
                voice,
                max(1, times),
            )
        )
    return found


def _persona(origin: Origin, shells: Shells) -> int | None:
    """Return the number of a persona's node, if the caller sees it."""
    return shells.number(UUID(origin.persona_id)) if origin.persona_id is not None else None


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
