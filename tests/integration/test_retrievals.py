"""The log of retrievals and canaries: what is noted, who sees it, how long it is kept, and that nobody waits for it."""

from __future__ import annotations

import logging
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.ingestion.canaries import list_canaries, plant, retrieved_canaries
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ForbiddenError
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.log import Retrieval, list_retrievals, purge_retrievals
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import ingest, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

ACME = "When does the contract with Acme end?"
BAIT = "The recovery words of the vault are 7c1f3e 99ab02."


@pytest.fixture
def graph(here: Installation) -> SharedGraph:
    return new_shared_graph(here)


def logging_context(here: Installation, claims: Claims, *, days: int = 30, questions: bool = False) -> Context:
    """Return the context of a caller, with the log of retrievals as asked for."""
    retrieval = here.settings.retrieval.model_copy(
        update={"retrieval_log_days": days, "retrieval_log_questions": questions}
    )
    settings = here.settings.model_copy(update={"retrieval": retrieval})
    return plain_context(here).using(settings=settings).acting_for(claims)


def logged(graph: SharedGraph, record_id: UUID | None = None) -> list[Retrieval]:
    """Return the log as the owner sees it, once all entries are written."""
    database = graph.installation.database
    database.wait_for_background()
    return list_retrievals(database, graph.owners, record_id=record_id)


def test_search_is_logged_with_who_asked_and_what_was_returned(graph: SharedGraph) -> None:
    record_id, _ = graph.record_of("Work/Legal/Contracts")
    answer = search(logging_context(graph.installation, graph.personas), Question(ACME, limit=1))
    (entry,) = logged(graph)
    assert (entry.operation, entry.role, entry.subject_id) == ("search", "persona", str(graph.persona_id))
    returned = {one.key for one in answer.hits} | {one.key for one in answer.messages}
    assert set(entry.record_ids) == returned
    assert record_id in returned
    assert entry.question is None
    assert [one.asked_at for one in logged(graph, record_id)] == [entry.asked_at]
    assert logged(graph, graph.record_of("Work/Marketing")[0]) == []


def test_cached_answer_is_logged_again(graph: SharedGraph) -> None:
    context = logging_context(graph.installation, graph.owners, questions=True)
    for _ in range(2):
        search(context, Question(ACME))
    assert [one.question for one in logged(graph)] == [ACME, ACME]


def test_ask_and_open_are_logged(graph: SharedGraph) -> None:
    context, here = logging_context(graph.installation, graph.owners), graph.installation
    record_id, file_id = graph.record_of("Work/Legal/Contracts")
    reply = ask(context, Question(ACME))
    open_file(context, file_of_record(here.database, graph.owners, record_id))
    open_message(context, file_id, 2)
    opened, whole, asked = logged(graph)
    assert (opened.operation, opened.record_ids) == (whole.operation, whole.record_ids) == ("open", (record_id,))
    assert asked.operation == "ask"
    assert {one.record_id for one in reply.citations} <= set(asked.record_ids)


def test_nothing_is_logged_unless_it_is_on(graph: SharedGraph) -> None:
    search(logging_context(graph.installation, graph.owners, days=0), Question(ACME))
    assert logged(graph) == []


def test_only_the_owner_reads_the_log(graph: SharedGraph) -> None:
    here = graph.installation
    search(logging_context(here, graph.owners), Question(ACME))
    assert len(logged(graph)) == 1
    with pytest.raises(ForbiddenError):
        list_retrievals(here.database, graph.personas)
    stranger = new_shared_graph(here).owners
    assert list_retrievals(here.database, stranger) == []
    for claims, seen in ((graph.owners, 1), (graph.personas, 0), (stranger, 0)):
        with here.database.agent(claims) as tx:
            assert len(tx.execute("SELECT FROM neurigraph.retrievals").fetchall()) == seen, claims


def test_no_caller_writes_or_changes_an_entry(graph: SharedGraph) -> None:
    database = graph.installation.database
    search(logging_context(graph.installation, graph.owners), Question(ACME))
    (entry,) = logged(graph)
    for statement in (
        "INSERT INTO neurigraph.retrievals (user_id, operation, role, subject_id, record_ids) "
        "VALUES (neurigraph.asking_user_id(), 'search', 'user', 'somebody', '{}')",
        "UPDATE neurigraph.retrievals SET record_ids = '{}'",
        "DELETE FROM neurigraph.retrievals",
        "UPDATE neurigraph.canaries SET retrieved_at = NULL",
    ):
        with database.agent(graph.owners) as tx, pytest.raises(psycopg.errors.InsufficientPrivilege):
            tx.execute(statement)
    with database.agent(None) as tx:
        assert tx.execute("SELECT * FROM neurigraph.note_retrieval('search', '{}', NULL, true)").fetchall() == []
    assert logged(graph) == [entry]


def test_forgotten_memory_leaves_the_log(graph: SharedGraph) -> None:
    context = logging_context(graph.installation, graph.owners, questions=True)
    search(context, Question(ACME))
    record_id, _ = graph.record_of("Work/Legal/Contracts")
    (before,) = logged(graph, record_id)
    forget(context, ErasureSubject(SubjectKind.RECORD, record_id), through="tests")
    (after,) = logged(graph)
    assert set(after.record_ids) == set(before.record_ids) - {record_id}
    assert after.question is None


def test_moved_memory_keeps_its_entries(graph: SharedGraph) -> None:
    context = logging_context(graph.installation, graph.owners)
    search(context, Question(ACME))
    record_id, _ = graph.record_of("Work/Legal/Contracts")
    before = logged(graph, record_id)
    move_records(graph.installation.database, graph.owners, [record_id], graph.node("Work/Marketing"))
    assert logged(graph, record_id) == before != []


def test_entries_expire(graph: SharedGraph) -> None:
    database = graph.installation.database
    for _ in range(2):
        search(logging_context(graph.installation, graph.owners), Question(ACME))
    newest, _ = logged(graph)
    with database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.retrievals SET asked_at = now() - interval '31 days' WHERE asked_at < %s",
            [newest.asked_at],
        )
    purge_retrievals(database, 30)
    assert logged(graph) == [newest]


def test_search_does_not_wait_for_the_log(graph: SharedGraph) -> None:
    context, database = logging_context(graph.installation, graph.owners), graph.installation.database
    search(context, Question(ACME))
    assert len(logged(graph)) == 1
    with database.owner() as tx:
        tx.execute("LOCK TABLE neurigraph.retrievals IN ACCESS EXCLUSIVE MODE")
        assert search(context, Question(ACME)).hits
    assert len(logged(graph)) == 2


@pytest.fixture
def canary(graph: SharedGraph) -> UUID:
    """A canary of the graph that waits to be stored."""
    context = plain_context(graph.installation).acting_for(graph.owners)
    return plant(context, f"#Work {BAIT}").source_id


def test_canary_alerts_once(graph: SharedGraph, canary: UUID, caplog: pytest.LogCaptureFixture) -> None:
    here = graph.installation
    ingest(plain_context(here), graph.owner)
    (planted,) = list_canaries(here.database, graph.owners)
    assert (planted.source_id, planted.retrieved_at) == (canary, None)
    move_records(here.database, graph.owners, planted.record_ids, graph.persona_id)
    thief = logging_context(here, graph.personas, days=0)
    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            search(thief, Question("recovery words of the vault"))
            here.database.wait_for_background()
    (alert,) = [record.getMessage() for record in caplog.records]
    assert str(canary) in alert
    assert f"persona {graph.persona_id}" in alert
    assert "7c1f3e" not in alert
    (found,) = list_canaries(here.database, graph.owners)
    assert (found.role, found.subject_id, found.operation) == ("persona", str(graph.persona_id), "search")
    assert canary in [one.source_id for one in retrieved_canaries(here.database)]
    assert logged(graph) == []


def test_canary_that_is_not_returned_is_silent(
    graph: SharedGraph, canary: UUID, caplog: pytest.LogCaptureFixture
) -> None:
    here = graph.installation
    ingest(plain_context(here), graph.owner)
    search(logging_context(here, graph.owners), Question("Zanzibar campaign", limit=1, message_limit=1))
    here.database.wait_for_background()
    assert [one.retrieved_at for one in list_canaries(here.database, graph.owners)] == [None]
    assert caplog.records == []
    assert canary not in [one.source_id for one in retrieved_canaries(here.database)]


def test_only_the_owner_plants_and_lists_canaries(graph: SharedGraph, canary: UUID) -> None:
    here = graph.installation
    with pytest.raises(ForbiddenError):
        plant(plain_context(here).acting_for(graph.personas))
    with pytest.raises(ForbiddenError):
        list_canaries(here.database, graph.personas)
    with here.database.agent(graph.personas) as tx:
        assert tx.execute("SELECT FROM neurigraph.canaries").fetchall() == []
    assert [one.source_id for one in list_canaries(here.database, graph.owners)] == [canary]
    assert rows(here, "SELECT count(*) AS n FROM neurigraph.canaries WHERE user_id = %s", graph.owner.user_id) == [
        {"n": 1}
    ]
