"""Tiers that standards say: records that are stored below a standard get its tier, unless their source says another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.knowledge.deciding.standards import set_standard
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.views.actions import NewStandard
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.hidden_memories import context
from tests.support.memories import ingest, plain_context, rows, stored
from tests.support.shared_graph import SharedGraph, new_shared_graph


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def note(graph: SharedGraph, text: str, path: str, tier: Tier | None = None) -> UUID:
    """Store a note at a node, and return its record."""
    write_note(context(graph), IncomingNote(text, node_id=graph.node(path), details=SourceDetails(tier=tier)))
    (record,) = stored(ingest(plain_context(graph.installation), graph.owner))
    return record.record_id


def kept(graph: SharedGraph, record_id: UUID) -> dict[str, Any] | None:
    found = rows(graph.installation, "SELECT * FROM neurigraph.record_retention WHERE record_id = %s", record_id)
    return found[0] if found else None


def test_records_below_a_standard_get_its_tier(graph: SharedGraph) -> None:
    before = note(graph, "Stored before the standard.", "Work/Marketing")
    set_standard(context(graph), graph.node("Work"), NewStandard(tier="short"))
    below = kept(graph, note(graph, "The door code is 4711.", "Work/Marketing"))
    assert below is not None
    assert (below["tier"], below["reason"]) == ("short", "the standard of its node")
    assert below["lifetime"] == timedelta(hours=6)
    assert kept(graph, before) is None, "a standard shortens no life"
    assert kept(graph, note(graph, "Elsewhere.", "Family/Dave")) is None
    asked = kept(graph, note(graph, "The writer knows better.", "Work/Marketing", Tier.MID))
    assert asked is not None
    assert (asked["tier"], asked["reason"]) == ("mid", "its writer asked for it")

    set_standard(context(graph), graph.node("Work/Marketing"), NewStandard(tier="long", ttl_seconds=60))
    good = kept(graph, note(graph, "For good.", "Work/Marketing"))
    assert good is None or good["expires_at"] is None
    set_standard(context(graph), graph.node("Family"), NewStandard(ttl_seconds=3_600))
    timed = kept(graph, note(graph, "For an hour.", "Family/Dave"))
    assert timed is not None
    assert timed["tier"] == "mid"
    assert timedelta(minutes=55) < timed["expires_at"] - datetime.now(UTC) <= timedelta(hours=1)
