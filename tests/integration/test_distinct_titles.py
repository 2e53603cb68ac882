"""Titles of records: no two of one graph are the same, whichever model proposed them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import uuid4

from neurigraph_pipelines.ingestion.distinct_titles import free_titles, possible_titles
from neurigraph_pipelines.ingestion.resummarize import WantedSummaries, resummarize
from neurigraph_pipelines.ingestion.revision import Revision, revise
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.graphs import new_graph
from tests.support.memories import converse, ingest, plain_context, rows, stored

DAY = datetime(2025, 3, 9, tzinfo=UTC)


def test_equal_proposals_become_different_titles(here: Installation) -> None:
    graph, other = new_graph(here), new_graph(here)
    context = plain_context(here)

    def titles(*contents: str) -> list[str]:
        for content in contents:
            converse(here, graph.claims, content)
        return [record.title for record in stored(ingest(context, graph.user))]

    first, *more = titles(*["Weekly sync"] * 4)
    assert first == "Weekly sync"
    assert more[0] == "Weekly sync (testing)"
    assert len({first, *more}) == 4
    assert titles("weekly SYNC") != ["weekly SYNC"]
    other.remember("Weekly sync")
    counted = "SELECT count(*) AS n, count(DISTINCT title_key) AS keys FROM neurigraph.record_titles WHERE user_id = %s"
    assert rows(here, counted, graph.user.user_id) == [{"n": 5, "keys": 5}]
    assert rows(here, counted, other.user.user_id) == [{"n": 1, "keys": 1}]

    until, wanted = datetime.now(UTC) + timedelta(days=1), WantedSummaries(again=True)
    done = resummarize(context, None, until, graph.user.user_id, wanted=wanted)
    assert (done.unchanged, done.records, done.failed) == (5, 0, [])

    (record, *_) = rows(here, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", graph.user.user_id)
    revise(context.acting_for(graph.claims), record["record_id"], Revision(title="Plan"))
    assert titles("Plan") == ["Plan (testing)"]


def test_titles_of_commits_at_the_same_time_differ(here: Installation) -> None:
    user = new_graph(here).user.user_id
    long = "A very long title " * 20
    with here.database.pipeline() as one, here.database.pipeline() as two:
        a, b, c = (
            {record_id: possible_titles(record_id, long[:MAX_TITLE_LENGTH], ("boats",), DAY)}
            for record_id in (uuid4(), uuid4(), uuid4())
        )
        (first,) = free_titles(one, user, a).values()
        second, third = free_titles(two, user, b | c).values()
    assert first == long[:MAX_TITLE_LENGTH]
    assert second.endswith("… (boats)")
    assert len(second) <= MAX_TITLE_LENGTH
    assert third.endswith("… (boats, 9 March 2025)")
