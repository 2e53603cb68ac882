"""Step 6, present: the result of ``find`` in the shape of the HTTP API. No other module makes that shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from neurigraph_pipelines.lifecycle.retention import KEPT, in_search
from neurigraph_pipelines.model import Period
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.model.sources import shown_details
from neurigraph_pipelines.retrieval.query.found import Found, FoundMessage, FoundRecord
from neurigraph_pipelines.retrieval.query.question import Answer
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.views.retention import Retention

ANCHORS_SHOWN = 10


@measured("search.present")
def present(
    found: Found, periods: Sequence[Period] = (), expiry: Mapping[str, Retention] = MappingProxyType({})
) -> Answer:
    """Return a result as plain values that the caller may change.

    Args:
        periods: The stretches of time that were read from the question's words.
        expiry: The retention of the records that are not simply kept for good.
    """
    restated: dict[str, int] = {}
    for message in found.messages:
        restated[message.record_id] = max(restated.get(message.record_id, 1), message.restated)
    return Answer(
        [_hit(one, restated.get(one.record.record_id, 1), expiry) for one in found.records],
        [shown_message(one) for one in found.messages],
        enriched("anchors", lambda: [_anchor(one) for one in found.anchors[:ANCHORS_SHOWN]], list),
        found.warmed,
        list(found.notes),
        enriched("times named", lambda: [_period(one) for one in periods], list),
        enriched("facts", lambda: None if found.facts is None else list(found.facts), list),
        enriched("rationale", lambda: None if found.rationale is None else found.rationale.shown(), lambda: None),
    )


def key_of(one: Mapping[str, Any]) -> str:
    """Return what joins a hit with its messages: the record, or the source of what is not stored yet."""
    key: str = one["record_id"] or one["source_id"]
    return key


def _origin(found: FoundRecord, restated: int) -> dict[str, Any]:
    origin = found.record.origin
    return {
        "voices": dict(found.record.voices),
        "persona_id": origin.persona_id if found.persona is not None else None,
        "persona_path": found.persona,
        "received_through": origin.received_through,
        "key_id": origin.key_id,
        "received_at": origin.received_at,
        "restated": restated,
        "source": shown_details(found.record.source_kind, origin.source),
    }


def _hit(found: FoundRecord, restated: int, expiry: Mapping[str, Retention]) -> dict[str, Any]:
    record = found.record
    kept = expiry.get(record.record_id, KEPT) if found.is_stored else KEPT
    hit: dict[str, Any] = {
        "record_id": record.record_id if found.is_stored else None,
        "stored": found.is_stored,
        "node_id": found.node.node_id if found.is_stored else None,
        "node_path": found.node.path if found.is_stored else None,
        "title": record.title,
        "summary": record.summary,
        "score": round(found.score, 6),
        "occurred_at": _moment(record.occurred_at),
        "source_kind": record.source_kind,
        "source_id": record.source_id,
        "source_external_id": record.source_name,
        "file_id": record.file_id,
        "file_state": record.file_state,
        "origin": _origin(found, restated),
        **in_search(kept),
    }
    if found.parts:
        hit["explain"] = dict(found.parts)
    if found.superseded is not None:
        hit["superseded"] = found.superseded
    return hit


def shown_message(found: FoundMessage) -> dict[str, Any]:
    """Return a message."""
    unstored = found.unstored
    message: dict[str, Any] = {
        "record_id": found.record_id if unstored is None else None,
        "source_id": found.source_id,
        "stored": unstored is None,
        "external_id": found.external_id,
        "seq": found.seq,
        "score": round(found.score, 6),
        "author": found.author,
        "section": found.section,
        "voice": found.voice,
        "restated": found.restated,
    }
    if unstored is not None:
        message |= {
            "role": unstored.role,
            "occurred_at": _written(unstored.occurred_at),
            "content": unstored.content,
        }
    if found.parts:
        message["explain"] = dict(found.parts)
    return message


def _anchor(anchor: Anchor) -> dict[str, Any]:
    return {
        "node_id": anchor.node_id,
        "reason": anchor.reason,
        "score": round(anchor.score, 4),
        "node_path": anchor.path,
    }


def _period(period: Period) -> dict[str, Any]:
    return {
        "words": period.words,
        "start_at": period.start and period.start.isoformat(),
        "end_at": period.end and period.end.isoformat(),
        "certain": period.certain,
    }


@lru_cache(maxsize=4_096)
def _moment(moment: datetime) -> str:
    """Return a moment in UTC as text. A cache takes the same moment of another zone for the same."""
    return _written(moment)


def _written(moment: datetime) -> str:
    """Return a moment as Postgres writes it in JSON: fractions of a second without trailing zeros."""
    text = moment.isoformat()
    return f"{text[:26].rstrip('0')}{text[26:]}" if moment.microsecond else text
