"""QMSum (NAACL 2021): transcripts of meetings. Each becomes an event.

The benchmarks use its topics, summaries and questions, which were written about the meetings afterwards.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports import json_stream
from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, assemble
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import EventKind, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.text.json_fields import Json, as_object, text_of


def meetings(reading: Reading) -> Iterator[Item]:
    """Read a file of one meeting, or of a list of them, whose words say which they are. QMSum gives no times."""
    with reading.open() as stream:
        yield from _meetings(stream, reading.part.name, reading.fallback_time)


def _meetings(stream: io.BufferedReader, name: str, fallback_time: datetime | None) -> Iterator[Item]:
    number = 0
    for item in json_stream.read_items(stream, name):
        if isinstance(item, RejectedItem):
            yield item
            continue
        number += 1
        where, meeting = item
        turns = meeting.get("meeting_transcripts")
        if not isinstance(turns, list):
            yield RejectedItem(where, "it has no list of meeting_transcripts")
            continue
        stem = name.removesuffix(".json")
        former = stem if number == 1 else f"{stem}:{number}"
        yield from assemble(
            where,
            Opening("qmsum", former=(former,)),
            _messages(turns, where),
            fallback_time=fallback_time,
            event_kind=EventKind.MEETING,
        )


def _messages(turns: list[Json], where: str) -> Iterator[IncomingMessage | RejectedItem]:
    """Yield the turns with their index from 0 as id, without empty ones."""
    for index, turn in enumerate(map(as_object, turns)):
        speaker, content = text_of(turn, "speaker"), turn.get("content")
        if speaker is None or not isinstance(content, str):
            yield RejectedItem(f"{where}, turn {index}", "it lacks a speaker or a content")
        elif content.strip():
            yield IncomingMessage(Role.USER, content, speaker, str(index))
