"""Step 6, show: the result of ``find`` as views, as every face shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from neurigraph_pipelines.lifecycle.retention import KEPT
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.query.found import Found, FoundRecord
from neurigraph_pipelines.views import search as views
from neurigraph_pipelines.views.retention import Retention
from neurigraph_pipelines.views.scalars import ValuesByName
from neurigraph_pipelines.views.sources import Provenance

ANCHORS_SHOWN = 10


@measured("search.view")
def view(
    found: Found, periods: Sequence[views.Period] = (), expiry: Mapping[str, Retention] = MappingProxyType({})
) -> views.Found:
    """Return a result as callers see it; fields that were not asked for stay unset.

    Args:
        periods: The stretches of time that were read from the question's words.
        expiry: The retention of the records that are not simply kept for good.
    """
    restated: dict[str, int] = {}
    for message in found.messages:
        restated[str(message.key)] = max(restated.get(str(message.key), 1), message.restated)
    asked_for: ValuesByName = {}
    if found.facts is not None:
        asked_for["facts"] = list(found.facts)
    if found.rationale is not None:
        asked_for["rationale"] = found.rationale
    return views.Found(
        hits=[_hit(one, restated.get(one.record.record_id, 1), expiry) for one in found.records],
        messages=list(found.messages),
        anchors=enriched("anchors", lambda: list(_anchors(found)), list[views.Anchor]),
        warmed=found.warmed,
        notes=list(found.notes),
        periods=list(periods),
        **asked_for,
    )


def _hit(found: FoundRecord, restated: int, expiry: Mapping[str, Retention]) -> views.Hit:
    record, origin = found.record, found.record.origin
    kept = expiry.get(record.record_id, KEPT) if found.is_stored else KEPT
    asked_for: dict[str, object] = {"explain": dict(found.parts)} if found.parts else {}
    if found.superseded is not None:
        asked_for["superseded"] = found.superseded
    return views.Hit.model_validate(
        {
            **record._asdict(),
            "record_id": record.record_id if found.is_stored else None,
            "stored": found.is_stored,
            "node_id": found.node.node_id if found.is_stored else None,
            "node_path": found.node.path if found.is_stored else None,
            "score": round(found.score, 6),
            "source_external_id": record.source_name,
            "origin": {
                **origin._asdict(),
                "voices": record.voices,
                "persona_id": origin.persona_id if found.persona is not None else None,
                "persona_path": found.persona,
                "restated": restated,
                "source": Provenance.of(record.source_kind, origin.source),
            },
            "tier": kept.tier,
            "expires_at": kept.expires_at,
            "expiry_reason": kept.expiry_reason,
            **asked_for,
        }
    )


def _anchors(found: Found) -> Iterator[views.Anchor]:
    for one in found.anchors[:ANCHORS_SHOWN]:
        yield views.Anchor.model_validate({**one._asdict(), "node_path": one.path, "score": round(one.score, 4)})
