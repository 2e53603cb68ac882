"""Step 6 of a search: the result in the shape of the HTTP API."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from neurigraph_pipelines.lifecycle.retention import KEPT
from neurigraph_pipelines.model import Period, Tier, Voice
from neurigraph_pipelines.retrieval.index.stored import Origin, StoredRecord
from neurigraph_pipelines.retrieval.query.found import Found, FoundMessage, FoundRecord
from neurigraph_pipelines.retrieval.query.present import ANCHORS_SHOWN, present
from neurigraph_pipelines.retrieval.query.question import Answer
from neurigraph_pipelines.retrieval.query.select import Anchor

MAY = datetime(2023, 5, 8, 9, tzinfo=UTC)
ORIGIN = Origin("p1", "k1", "api", "2023-05-09T10:00:00+00:00", {"origin": "slack"})
NODE = Anchor(1, "n1", "7", "bob/Boats", "name", 0.123456789, 1.0)
RECORD = StoredRecord(
    "r1", "Oil", "It needs oil.", MAY, "conversation", "s1", "talk", "f1", "dormant", ORIGIN, {"owner": 2}
)
FOUND = Found(
    records=(FoundRecord(NODE, RECORD, 0.123456789, {}, persona="bob/Work"),),
    messages=(FoundMessage("r1", "s1", "m1", 3, 0.5, {}, "Ana", Voice.OWNER, 4, "page 2"),),
    anchors=(NODE,),
    warmed=2,
    notes=("Late.",),
)


SHOWN = Answer(
    hits=[
        {
            "record_id": "r1",
            "stored": True,
            "node_id": "n1",
            "node_path": "bob/Boats",
            "title": "Oil",
            "summary": "It needs oil.",
            "score": 0.123457,
            "occurred_at": "2023-05-08T09:00:00+00:00",
            "source_kind": "conversation",
            "source_id": "s1",
            "source_external_id": "talk",
            "file_id": "f1",
            "file_state": "dormant",
            "origin": {
                "voices": {"owner": 2},
                "persona_id": "p1",
                "persona_path": "bob/Work",
                "received_through": "api",
                "key_id": "k1",
                "received_at": "2023-05-09T10:00:00+00:00",
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
    messages=[
        {
            "record_id": "r1",
            "source_id": "s1",
            "stored": True,
            "external_id": "m1",
            "seq": 3,
            "score": 0.5,
            "author": "Ana",
            "section": "page 2",
            "voice": Voice.OWNER,
            "restated": 4,
        }
    ],
    anchors=[{"node_id": "n1", "reason": "name", "score": 0.1235, "node_path": "bob/Boats"}],
    warmed=2,
    notes=["Late."],
    periods=[{"words": "since 8 May", "start_at": "2023-05-08T09:00:00+00:00", "end_at": None, "certain": True}],
)


def test_shape() -> None:
    assert present(FOUND, [Period(MAY, None, "since 8 May", certain=True)]) == SHOWN


def test_explanation_and_superseded_are_shown_if_asked_for() -> None:
    one = FOUND.records[0]._replace(parts={"passage": 0.5, "summary_dense": None}, superseded=True)
    (hit,) = present(replace(FOUND, records=(one,))).hits
    assert (hit["explain"], hit["superseded"]) == ({"passage": 0.5, "summary_dense": None}, True)
    hit["explain"].clear()
    assert one.parts, "the caller gets a copy"


def test_what_expires_says_when_and_why() -> None:
    kept = KEPT.model_copy(update={"tier": Tier.SHORT, "expires_at": MAY, "expiry_reason": "for a day"})
    (hit,) = present(FOUND, expiry={"r1": kept}).hits
    assert (hit["tier"], hit["expires_at"], hit["expiry_reason"]) == ("short", MAY.isoformat(), "for a day")


def test_ten_anchors_are_shown() -> None:
    assert len(present(replace(FOUND, anchors=(NODE,) * 50)).anchors) == ANCHORS_SHOWN


@pytest.mark.parametrize(
    ("microsecond", "fraction"), [(0, ""), (500_000, ".5"), (123_450, ".12345"), (1, ".000001"), (999_999, ".999999")]
)
def test_moments_are_written_as_by_postgres(microsecond: int, fraction: str) -> None:
    one = FOUND.records[0]._replace(record=RECORD._replace(occurred_at=MAY.replace(microsecond=microsecond)))
    (hit,) = present(replace(FOUND, records=(one,))).hits
    assert hit["occurred_at"] == f"2023-05-08T09:00:00{fraction}+00:00"
