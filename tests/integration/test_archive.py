"""Tiers and the archive: how a memory lives, expires, is put away, comes back, and is forgotten."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.lifecycle import archive, retention
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Tier
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.retention import Archived
from neurigraph_pipelines.views.search import Hit
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.hidden_memories import POISON, context, derived, hidden_records, through_all_doors, traces
from tests.support.memories import ingest, plain_context, rows, stored
from tests.support.shared_graph import SharedGraph, new_shared_graph

pytestmark = pytest.mark.slow


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def note(graph: SharedGraph, text: str, tier: Tier | None, **options: Any) -> UUID:
    """Store a note, and return its record."""
    write_note(context(graph), IncomingNote(text, details=SourceDetails(tier=tier), **options))
    (record,) = stored(ingest(plain_context(graph.installation), graph.owner))
    return record.record_id


def ask(graph: SharedGraph, claims: Claims, query: str) -> list[Hit]:
    """Search as a caller, and wait until its accesses are counted."""
    hits = search(context(graph, claims), Question(query)).hits
    graph.installation.database.wait_for_background()
    return hits


def kept(graph: SharedGraph, record_id: UUID) -> dict[str, Any]:
    (found,) = rows(graph.installation, "SELECT * FROM neurigraph.record_retention WHERE record_id = %s", record_id)
    return found


def age(graph: SharedGraph, record_id: UUID, hours: float) -> None:
    """Let some hours pass for one record."""
    rows(
        graph.installation,
        """UPDATE neurigraph.record_retention AS t SET granted_until = t.granted_until - w.past,
        expires_at = t.expires_at - w.past, last_access_at = t.last_access_at - w.past,
        archived_at = t.archived_at - w.past
        FROM make_interval(secs => %s * 3600.0) AS w (past) WHERE t.record_id = %s RETURNING t.record_id""",
        hours,
        record_id,
    )


def swept(graph: SharedGraph, **options: Any) -> archive.Expiry:
    return archive.sweep(graph.installation.context, user_id=graph.owner.user_id, **options)


def listed(graph: SharedGraph) -> list[Archived]:
    here = graph.installation
    return archive.page_of_archive(here.listing(graph.owners)).items


def assert_accesses_extend(graph: SharedGraph, record_id: UUID) -> None:
    """Each access counts once an asker and hour, and extends the life of a memory that was just shown."""
    here = graph.installation
    first = kept(graph, record_id)
    assert first["expires_at"] - first["granted_until"] < timedelta(minutes=1)
    assert (first["access_count"], first["access_days"]) == (1, 1), "the search that showed it"
    age(graph, record_id, 2)
    ask(graph, graph.owners, "zyxgrub")
    ask(graph, graph.owners, "zyxgrub")
    second = kept(graph, record_id)
    assert second["access_count"] == 2, "once an asker and hour"
    assert second["expires_at"] - second["granted_until"] > timedelta(hours=1.9), "an access extends"
    grant = graph.grant("Poisonfarm", "Accountant")
    (theirs,) = ask(graph, graph.third_party("Accountant"), "zyxgrub")
    assert kept(graph, record_id)["access_count"] == 3, "another asker in the same hour"
    assert (theirs.expires_at, theirs.expiry_reason) == (second["granted_until"], None), "others learn of no access"
    graph.revoke(grant)
    assert {
        one.tier for one in list_records(here.listing(graph.owners), RecordFilter()).items if one.record_id == record_id
    } == {"short"}
    assert record_at(here.database, graph.owners, record_id).tier is Tier.SHORT


def test_a_short_life(graph: SharedGraph) -> None:
    here = graph.installation
    record_id = note(graph, "#Poisonfarm The zyxgrub of Mallory lies there. @Dave:bribery", Tier.SHORT)
    (hit,) = [one for one in ask(graph, graph.owners, "zyxgrub") if one.record_id == record_id]
    assert (hit.tier, hit.expiry_reason) == ("short", retention.ASKED_FOR)
    assert_accesses_extend(graph, record_id)
    before, definition = derived(graph), _definition(graph, "Poisonfarm")

    assert swept(graph).archived == 0, "it is not due"
    age(graph, record_id, 7)
    dry = swept(graph, dry_run=True)
    assert (dry.archived, dry.record_ids, hidden_records(graph)) == (1, [record_id], [])
    assert swept(graph).record_ids == [record_id]
    hidden = hidden_records(graph)
    assert [one["record_id"] for one in hidden] == [record_id]
    assert traces(through_all_doors(graph, graph.owners, hidden), hidden) == set()
    assert str(record_id) not in str(ask(graph, graph.owners, "zyxgrub"))
    (one,) = listed(graph)
    assert (one.record_id, one.tier, one.archived_reason, one.archived_by) == (
        *(record_id, Tier.SHORT, archive.EXPIRED),
        "pipeline:expiry",
    )
    assert verify(context(graph), user_id=graph.owner.user_id).findings == []
    assert swept(graph).archived == 0, "nothing is left to do"

    assert archive.restore(context(graph), [record_id]) == [record_id]
    assert traces(through_all_doors(graph, graph.owners, [])) == set(POISON)
    again = kept(graph, record_id)
    assert (again["tier"], again["archived_at"]) == ("short", None)
    assert again["expires_at"] > datetime.now(UTC) + timedelta(hours=5), "a life begins again"
    assert _definition(graph, "Poisonfarm") == definition
    after = derived(graph)
    for name in ("segments", "node_statistics", "node_edges", "record_index"):
        assert after[name] == before[name], name
    operations = [one.operation for one in history(here.database, graph.owners, record_id)]
    assert operations == ["unarchive", "archive", "create"]
    assert verify(context(graph), user_id=graph.owner.user_id).findings == []


def _definition(graph: SharedGraph, path: str) -> str:
    (found,) = rows(
        graph.installation, "SELECT node_summary FROM neurigraph.graph_index WHERE node_id = %s", graph.node(path)
    )
    summary: str = found["node_summary"]
    return summary


def test_what_is_read_often_stays(graph: SharedGraph) -> None:
    record_id = note(graph, "The quince tree blossoms in April.", Tier.SHORT, path="Garden")
    for day in range(5):
        ask(graph, graph.owners, "quince")
        assert kept(graph, record_id)["access_days"] == day + 1
        if day < 4:
            assert swept(graph).promoted == 0
            age(graph, record_id, 25)
    age(graph, record_id, 1_000)
    dry = swept(graph, dry_run=True)
    assert (dry.promoted, dry.archived) == (1, 0), "promotion comes first"
    report = swept(graph)
    assert (report.promoted, report.archived) == (1, 0)
    found = kept(graph, record_id)
    assert (found["tier"], found["access_count"], found["access_days"]) == ("mid", 0, 0)
    assert found["expires_at"] > datetime.now(UTC) + timedelta(days=6)
    newest, *_ = history(graph.installation.database, graph.owners, record_id)
    assert (newest.operation, newest.authored_by) == ("promote", "pipeline:promotion")
    assert (newest.before["tier"], newest.after["tier"]) == ("short", "mid")
    assert retention.promote(context(graph), record_id).tier is Tier.LONG
    assert retention.promote(context(graph), record_id).expires_at is None, "there is no next tier"
    age(graph, record_id, 10_000)
    assert swept(graph).archived == 0, "it is kept for good"


def test_who_may_set_what(graph: SharedGraph) -> None:
    graph.grant("Work/Legal/Contracts", writes=True)
    record_id, _ = graph.record_of("Work/Legal/Contracts")
    other_id, _ = graph.record_of("Family/Dave")
    later = datetime.now(UTC) + timedelta(days=3)

    def act(claims: Claims | None = None) -> Context:
        return context(graph, claims)

    given = retention.set_tier(act(), record_id, Tier.SHORT, expires_at=later, reason="the trial ends")
    assert (given.tier, given.expires_at, given.expiry_reason) == (Tier.SHORT, later, "the trial ends")
    theirs = retention.retention_of(graph.installation.database, graph.personas, [record_id, other_id])
    shown = retention.KEPT.model_copy(update={"tier": Tier.SHORT, "expires_at": later})
    assert theirs == {record_id: shown}, "no reason, no counts, no other record"
    with pytest.raises(ForbiddenError, match="shortens"):
        retention.set_tier(act(graph.personas), record_id, Tier.SHORT)
    assert retention.set_tier(act(graph.personas), record_id, Tier.MID).tier is Tier.MID
    graph.grant("Work/Legal/Contracts", "nobody")
    with pytest.raises(ForbiddenError, match="owner"):
        retention.set_tier(act(graph.third_party("nobody")), record_id, Tier.LONG)


def test_errors_of_tiers(graph: SharedGraph) -> None:
    record_id, _ = graph.record_of("Family/Dave")
    act, past = context(graph), datetime.now(UTC) - timedelta(seconds=1)
    for options in ({"expires_at": past}, {"reason": "x" * 501}):
        with pytest.raises(InvalidInputError):
            retention.set_tier(act, record_id, Tier.SHORT, **options)
    with pytest.raises(InvalidInputError):
        retention.set_tier(act, record_id, Tier.LONG, expires_at=past + timedelta(days=1))
    with pytest.raises(NotFoundError):
        retention.set_tier(act, uuid4(), Tier.SHORT)
