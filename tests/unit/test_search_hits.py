"""Step 6 of a search: the result as callers see it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.lifecycle.retention import KEPT
from neurigraph_pipelines.model import Tier, Voice
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.query.found import Found, FoundMessage, FoundRecord
from neurigraph_pipelines.retrieval.query.hits import ANCHORS_SHOWN, view
from neurigraph_pipelines.retrieval.query.select import Anchor
from neurigraph_pipelines.views.search import Period

MAY = datetime(2023, 5, 8, 9, tzinfo=UTC)
NODE_ID, RECORD_ID, SOURCE_ID, FILE_ID, PERSONA_ID, KEY_ID = (str(UUID(int=number)) for number in range(1, 7))
ORIGIN = Origin(PERSONA_ID, KEY_ID, "api", "2023-05-09T10:00:00+00:00", {"origin": "slack"})
NODE = Anchor(1, NODE_ID, "7", "bob/Boats", "name", 0.123456789, 1.0)
RECORD = StoredRecord(
    RECORD_ID, "Oil", "It needs oil.", MAY, "conversation", SOURCE_ID, "talk", FILE_ID, "dormant", ORIGIN, {"owner": 2}
)
MESSAGE = FoundMessage.model_validate(
    {
        "record_id": RECORD_ID,
        "source_id": SOURCE_ID,
        "stored": True,
        "external_id": "m1",
        "seq": 3,
        "score": 0.5,
        "author": "Ana",
        "voice": Voice.OWNER,
        "restated": 4,
        "section": "page 2",
        "statement": 7,
    }
)
FOUND = Found(
    records=(FoundRecord(NODE, RECORD, 0.123456789, {}, persona="bob/Work"),),
    messages=(MESSAGE,),
    anchors=(NODE,),
    warmed=2,
    notes=("Late.",),
)


SHOWN: dict[str, Any] = {
    "hits": [
        {
            "record_id": RECORD_ID,
            "stored": True,
            "node_id": NODE_ID,
            "node_path": "bob/Boats",
            "title": "Oil",
            "summary": "It needs oil.",
            "score": 0.123457,
            "occurred_at": "2023-05-08T09:00:00Z",
            "source_kind": "conversation",
            "source_id": SOURCE_ID,
            "source_external_id": "talk",
            "file_id": FILE_ID,
            "file_state": "dormant",
            "origin": {
                "voices": {"owner": 2},
                "persona_id": PERSONA_ID,
                "persona_path": "bob/Work",
                "received_through": "api",
                "key_id": KEY_ID,
                "received_at": "2023-05-09T10:00:00Z",
                "restated": 4,
                "source": {
                    "origin": "slack",
                    "document_type": "conversation",
                    "url": None,
                    "channel": None,
                    "author": None,
                    "metadata": {},
                    "version": 1,
                    "replaces": None,
                    "updated_at": None,
                },
            },
            "tier": "long",
            "expires_at": None,
            "expiry_reason": None,
        }
    ],
    "messages": [
        {
            "record_id": RECORD_ID,
            "source_id": SOURCE_ID,
            "stored": True,
            "external_id": "m1",
            "seq": 3,
            "score": 0.5,
            "author": "Ana",
            "section": "page 2",
            "voice": "owner",
            "restated": 4,
        }
    ],
    "anchors": [{"node_id": NODE_ID, "reason": "name", "score": 0.1235, "node_path": "bob/Boats"}],
    "warmed": 2,
    "notes": ["Late."],
    "periods": [{"words": "since 8 May", "starts_at": "2023-05-08T09:00:00Z", "ends_at": None, "certain": True}],
}


def test_shape() -> None:
    shown = view(FOUND, [Period(words="since 8 May", starts_at=MAY, ends_at=None, certain=True)])
    assert shown.model_dump(mode="json", exclude_unset=True) == SHOWN


def test_explanation_and_superseded_are_shown_if_asked_for() -> None:
    one = FOUND.records[0]._replace(parts={"passage": 0.5, "summary_dense": None}, superseded=True)
    (hit,) = view(replace(FOUND, records=(one,))).hits
    assert (hit.explain, hit.superseded) == ({"passage": 0.5, "summary_dense": None}, True)


def test_what_expires_says_when_and_why() -> None:
    kept = KEPT.model_copy(update={"tier": Tier.SHORT, "expires_at": MAY, "expiry_reason": "for a day"})
    (hit,) = view(FOUND, expiry={RECORD_ID: kept}).hits
    assert (hit.tier, hit.expires_at, hit.expiry_reason) == (Tier.SHORT, MAY, "for a day")


def test_ten_anchors_are_shown() -> None:
    assert len(view(replace(FOUND, anchors=(NODE,) * 50)).anchors) == ANCHORS_SHOWN


@pytest.mark.parametrize("microsecond", [0, 500_000, 123_450, 1, 999_999])
def test_fractions_of_seconds_are_kept(microsecond: int) -> None:
    moment = MAY.replace(microsecond=microsecond)
    one = FOUND.records[0]._replace(record=RECORD._replace(occurred_at=moment))
    (hit,) = view(replace(FOUND, records=(one,))).hits
    assert hit.occurred_at == moment
