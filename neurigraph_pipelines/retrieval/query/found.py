"""The records and messages that ``find`` finds, as typed values between the ranking and the views."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from neurigraph_pipelines.graph.history import superseded_of, values_then
from neurigraph_pipelines.model import Voice, author_view
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.shells import Shells
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.index.unstored import SUMMARY_CHARACTERS, Unstored, beginning
from neurigraph_pipelines.retrieval.query.load import LoadedNode
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion
from neurigraph_pipelines.retrieval.query.rank import Ranked
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.text.search_segments import VOICES
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.search import MessageHit, Rationale

Parts = Mapping[str, float | None]
"""The components of a score by name; empty unless they were asked for."""

UNSTORED = Anchor(-1, "", None, "", "unstored", 0.0, 0.0)
"""Stands for the node of messages that are not stored yet: they lie in none."""


class FoundRecord(NamedTuple):
    """A record that was found, with the title and summary of the moment that the question is about.

    Messages that are not stored yet are found as one record a source, with the id of the source.

    Attributes:
        node: The node that it lies in, or ``UNSTORED``.
        persona: The path of the persona that handed it in; None if that is the owner, or if the caller does not see it.
        superseded: Whether another memory replaced it; None unless superseded records were asked for.
    """

    node: Anchor
    record: StoredRecord
    score: float
    parts: Parts
    superseded: bool | None = None
    persona: str | None = None

    @property
    def is_stored(self) -> bool:
        """Whether it is stored."""
        return self.node is not UNSTORED


class FoundMessage(MessageHit):
    """A message that was found; ``statement`` is the digest of its words, 0 if it has none."""

    statement: int = Field(default=0, exclude=True)


@dataclass(frozen=True, slots=True)
class Found:
    """The result of ``find``.

    Attributes:
        records: Best first.
        messages: Best first, over all records.
        anchors: The nodes that were searched, best first.
        warmed: How many nodes are staged around those of the best records.
        notes: The parts that the result lacks, such as vectors, one sentence each.
        facts: Best first; None if the question does not ask for them.
        rationale: What moved the ranking; None if it was not asked for.
        disagrees: Whether statements of the graph may disagree.
    """

    records: tuple[FoundRecord, ...] = ()
    messages: tuple[FoundMessage, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    warmed: int = 0
    notes: tuple[str, ...] = ()
    facts: tuple[FoundFact, ...] | None = None
    rationale: Rationale | None = None
    disagrees: bool = True


def found_records(
    nodes: Sequence[LoadedNode],
    ranked: Sequence[Ranked],
    shells: Shells,
    messages: Sequence[FoundMessage],
    *,
    is_owner: bool,
) -> list[FoundRecord]:
    """Return ranked records with the fields that their layers hold.

    Args:
        shells: The nodes that the caller sees: a persona that is not among them is not named.
        messages: The messages that were found: the best is the summary of what is not stored yet.
        is_owner: Whether the caller is the owner of the graph: only the owner sees keys, and ids of earlier versions.
    """
    words = {str(one.key): one.content or "" for one in reversed(messages) if not one.stored}
    found = []
    for one in ranked:
        record = nodes[one.node].layer.stored_record(one.row)
        number = _persona(record.origin, shells)
        path = shells.location(number)[2] if number is not None else None
        if not is_owner:
            source = {**(record.origin.source or {}), "replaces": None}
            record = record._replace(origin=record.origin._replace(key_id=None, source=source))
        node = nodes[one.node].anchor
        if node is UNSTORED and record.record_id in words:
            record = record._replace(summary=beginning(words[record.record_id], SUMMARY_CHARACTERS))
        found.append(FoundRecord(node, record, one.score, one.parts, persona=path))
    return found


def found_messages(
    nodes: Sequence[LoadedNode],
    ranked: Sequence[Ranked],
    shells: Shells,
    unstored: Unstored | None,
    cut: Callable[[str], str],
) -> list[FoundMessage]:
    """Return ranked messages with the fields that their layers hold.

    Args:
        shells: The nodes that the caller sees.
        unstored: The messages of the node ``UNSTORED``.
        cut: Returns the part of a text that the question is about.
    """
    layers = [node.layer for node in nodes]
    statements = np.array([layers[one.node].statement[one.row] for one in ranked], np.int64)
    unknown = np.zeros_like(statements)
    times_said = enriched("restatements", lambda: _times_said(layers, statements), lambda: unknown).tolist()
    found = []
    for one, times, statement in zip(ranked, times_said, statements.tolist(), strict=True):
        layer, row = layers[one.node], one.row
        record = layer.stored_record(int(layer.record[row]))
        voice = VOICES[layer.voice[row]]
        number = _persona(record.origin, shells) if voice is Voice.PERSONA else None
        persona = shells.name(number) if number is not None else None
        message = unstored.message(row) if unstored and nodes[one.node].anchor is UNSTORED else None
        asked_for: dict[str, object] = {"explain": dict(one.parts)} if one.parts else {}
        if message is not None:
            asked_for |= {"role": message.role, "occurred_at": message.occurred_at, "content": cut(message.content)}
        found.append(
            FoundMessage.model_validate(
                {
                    "record_id": record.record_id if message is None else None,
                    "source_id": record.source_id,
                    "stored": message is None,
                    "external_id": layer.external_ids[row],
                    "seq": int(layer.first_message[row]),
                    "score": round(one.score, 6),
                    "section": layer.sections[row],
                    "author": author_view(layer.author(row), voice, persona),
                    "voice": voice,
                    "restated": max(1, times),
                    "statement": statement,
                    **asked_for,
                }
            )
        )
    return found


def _times_said(layers: Sequence[MetadataLayer], statements: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the number of passages with each of these digests of their words; 0 for the unknown digest 0."""
    said = np.concatenate([layer.current_statements for layer in layers]) if layers else statements[:0]
    times: NDArray[np.intp] = (said == statements[:, None]).sum(axis=1) * (statements != 0)
    return times


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
