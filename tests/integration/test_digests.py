"""Digests: what they cover, who sees them, and that none outlives or shows more than what it covers."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.knowledge import digesting, digests
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.link_lists import LinkFilter, list_links
from neurigraph_pipelines.lifecycle.archive import archive
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import Fault, verify
from neurigraph_pipelines.model import Claims, GrantType, Privacy, SubjectType, Summary
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ChangedError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import ActionKind, ActionState
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.digests import DigestedGraph, new_digested_graph
from tests.support.erasures import RECORD, erase
from tests.support.memories import START, PlainModel, plain_context

WINDOWS = 6  # of 7, 30 and 90 days, of the shared memories and of all


@pytest.fixture
def graph(shared_installation: Installation) -> DigestedGraph:
    return new_digested_graph(shared_installation)


def test_windows_are_covered_once_and_by_who_may_read_them(graph: DigestedGraph) -> None:
    done = graph.sweep()
    assert (done.windows, done.written, done.failed) == (WINDOWS, WINDOWS, [])
    assert graph.sweep().windows == 0
    shared, everything = sorted(graph.records[:2]), sorted(graph.records)
    own = {(one.days, one.covers): one.derived_from for one in graph.seen()}
    assert own == {(days, covers): made for days in (7, 30, 90) for covers, made in
                   (("shared", shared), ("all", everything))}  # fmt: skip
    for_persona = graph.seen(graph.persona)
    assert sorted((one.days, one.derived_from) for one in for_persona) == [
        (7, shared),
        (30, shared),
        (90, shared),
    ]
    assert "teapot" not in str(for_persona)
    assert "teapot" in str(graph.seen())
    (secret,) = [one for one in graph.seen() if (one.days, one.covers) == (7, "all")]
    with pytest.raises(NotFoundError):
        digests.get_digest(graph.here.database, graph.persona, secret.digest_id)
    starts_at = digests.get_digest(graph.here.database, graph.claims, secret.digest_id).starts_at
    assert starts_at is not None
    assert starts_at <= secret.made_at

    by_digest = {one.digest_id: one.title for one in for_persona}
    assert _derivations(graph, graph.persona, graph.records[0]) == by_digest
    assert len(_derivations(graph, graph.claims, graph.records[0])) == WINDOWS
    assert set(_derivations(graph, graph.claims, graph.records[2])) == {
        one.digest_id for one in graph.seen() if one.covers == "all"
    }

    graph.say("Ana bought a boat.")
    assert graph.sweep().written == WINDOWS
    assert {len(one.derived_from) for one in graph.seen()} == {3, 4}


def _derivations(graph: DigestedGraph, claims: Claims, record_id: UUID) -> dict[UUID, str | None]:
    """Return the digests that the links of a memory name, with their titles."""
    wanted = LinkFilter(record_id=record_id, relation="derived_from")
    found = list_links(graph.here.listing(claims), wanted).items
    assert all((one.to_id, one.direction, one.from_kind) == (record_id, "in", "digest") for one in found)
    return {one.from_id: one.from_text for one in found}


def test_a_window_with_few_memories_or_facts_waits(graph: DigestedGraph) -> None:
    with graph.here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.record_index SET occurred_at = now() WHERE user_id = %s", [graph.user.user_id])
    assert graph.sweep().windows == 0, "no window has ended"
    with graph.here.database.pipeline() as tx:
        tx.execute(
            """INSERT INTO neurigraph.facts (fact_id, record_id, user_id, seq, first_message, last_message,
            statement, kind, stated_as, confidence, importance, impact, extractor,
            statement_key)
            SELECT gen_random_uuid(), %s, %s, 100 + n, 1, 1, 'Ana owns bicycle ' || n, 'state', 'statement', 0.7, 0.5,
                'low', 'test', n
            FROM generate_series(1, 50) AS n""",
            [graph.records[0], graph.user.user_id],
        )
    assert graph.sweep().written >= 3, "50 facts are enough"
    assert graph.sweep().windows == 0, "another 50 are needed"


def _forget(graph: DigestedGraph) -> None:
    erase(graph.here, graph.claims, RECORD, graph.records[0])


def _hide(graph: DigestedGraph) -> None:
    set_privacy(graph.here.database, graph.claims, graph.sources[0], Privacy.PRIVATE)


def _quarantine(graph: DigestedGraph) -> None:
    quarantine(graph.context, QuarantineRule(source_id=graph.sources[0]), "a test")


def _archive(graph: DigestedGraph) -> None:
    archive(graph.context, [graph.records[0]], "a test")


def _move(graph: DigestedGraph) -> None:
    move_records(graph.here.database, graph.claims, [graph.records[0]], graph.user.root_node_id)


def _revise(graph: DigestedGraph) -> None:
    revise(graph.context, graph.records[0], Revision(summary="Nothing of that is true."))


def _supersede(graph: DigestedGraph) -> None:
    supersede(graph.here.database, graph.claims, graph.records[0], graph.records[1])


def _merge(graph: DigestedGraph) -> None:
    into = sharing.add_node(graph.here.database, graph.claims, graph.user.root_node_id, "Elsewhere")
    merge_nodes(graph.here.database, graph.claims, graph.node_id, into)


def _split(graph: DigestedGraph) -> None:
    chosen = Split(name="Bicycles", record_ids=[graph.records[0]])
    split_node(graph.here.database, graph.claims, graph.node_id, chosen)


CHANGES = [_forget, _hide, _quarantine, _archive, _move, _revise, _supersede, _merge, _split]


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_goes_with_what_it_covers(graph: DigestedGraph, change: Callable[[DigestedGraph], None]) -> None:
    graph.sweep()
    named = digesting.digest_of_records(graph.context, graph.records[:2])
    assert len(graph.seen()) == WINDOWS + 1
    unrelated = digesting.digest_of_records(graph.context, graph.records[1:])
    change(graph)
    left = {one.digest_id for one in graph.seen()}
    gone = graph.rows("SELECT digest_id, text FROM neurigraph.digests WHERE user_id = %s")
    assert {row["digest_id"] for row in gone} == left
    assert named not in left
    # A merge moves all memories, and a supersession changes one only: the other is superseding, not superseded.
    assert left == (set() if change is _merge else {unrelated})
    assert "repaired" not in str(gone)
    graph.sweep()
    assert verify(graph.context, user_id=graph.user.user_id).findings == []
    if change is not _move:
        assert not any(graph.records[0] in one.derived_from for one in graph.seen(graph.persona)) or change in (
            _revise, _merge,
        )  # fmt: skip


class Changing(PlainModel):
    """A model during whose call something happens."""

    def __init__(self, change: Callable[[], object]) -> None:
        super().__init__()
        self.change: Callable[[], object] | None = change

    def merge(self, parts: Sequence[Summary], words: int) -> Summary:
        change, self.change = self.change, None
        if change is not None:
            change()
        return super().merge(parts, words)


@pytest.mark.parametrize("change", [_forget, _hide, _quarantine, _revise])
def test_what_changes_meanwhile_is_not_written(graph: DigestedGraph, change: Callable[[DigestedGraph], None]) -> None:
    context = graph.context.using(language_model=Changing(lambda: change(graph)))
    window = digesting.window_at(graph.node_id, graph.user.user_id, 7, START)
    with pytest.raises((ChangedError, NotFoundError)):
        digesting.digest_window(context, window)
    assert graph.seen() == []
    graph.sweep()
    assert "repaired" not in str(graph.seen(graph.persona))


def test_the_database_refuses_a_digest_of_hidden_memories(graph: DigestedGraph) -> None:
    graph.sweep()
    (shared,) = [one for one in graph.seen() if (one.days, one.covers) == (7, "shared")]
    cover = "INSERT INTO neurigraph.digest_records (digest_id, record_id, user_id) VALUES (%s, %s, %s)"
    with graph.here.database.pipeline() as tx, pytest.raises(psycopg.errors.CheckViolation, match="private"):
        tx.execute(cover, [shared.digest_id, graph.records[2], graph.user.user_id])
    _, held = graph.say("Held.")
    archive(graph.context, [held], "a test")
    with graph.here.database.pipeline() as tx, pytest.raises(psycopg.errors.CheckViolation, match="not current"):
        tx.execute(cover, [shared.digest_id, held, graph.user.user_id])
    # What gets around the triggers is found.
    with graph.here.database.owner() as tx:
        tx.execute("ALTER TABLE neurigraph.digest_records DISABLE TRIGGER current_only")
        tx.execute(cover, [shared.digest_id, graph.records[2], graph.user.user_id])
        tx.execute("ALTER TABLE neurigraph.digest_records ENABLE TRIGGER current_only")
    assert digests.faulty_digests(graph.here.database) == [shared.digest_id]
    (finding,) = verify(graph.context, user_id=graph.user.user_id).findings
    assert finding.fault is Fault.DIGEST
    assert graph.seen(graph.persona) == [one for one in graph.seen(graph.persona) if one.days != 7]
    digests.remove_digest(graph.here.database, graph.claims, shared.digest_id)
    assert digests.faulty_digests(graph.here.database) == []


def test_a_window_that_fails_holds_up_no_other(graph: DigestedGraph) -> None:
    graph.say("The model SULKS here.")
    for _ in range(3):
        done = graph.sweep(limit=2)
        assert (done.written, len(done.failed)) == (0, 2)
        assert done.limit_reached
    assert graph.sweep().windows == 0, "each is tried again in half an hour"
    failing = graph.rows("SELECT attempts, error FROM neurigraph.digest_failures WHERE user_id = %s")
    assert [(row["attempts"], row["error"]) for row in failing] == [(1, "ProviderError")] * WINDOWS
    with graph.here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.digest_failures SET next_attempt_at = now(), attempts = 99")
    graph.say("A walk.", node="Away")
    graph.say("A swim.", node="Away")
    done = graph.sweep(limit=3)
    assert (done.written, done.failed) == (3, []), "those that never failed come first"
    graph.sweep()
    failing = graph.rows("SELECT attempts, next_attempt_at - now() AS wait FROM neurigraph.digest_failures "
                         "WHERE user_id = %s")  # fmt: skip
    assert {row["attempts"] for row in failing} == {100}
    assert all(row["wait"].total_seconds() <= 86_400 for row in failing)
    erase(graph.here, graph.claims, RECORD, graph.rows(
        "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s ORDER BY created_at OFFSET 3 LIMIT 1"
    )[0]["record_id"])  # fmt: skip
    with graph.here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.digest_failures SET next_attempt_at = now()")
    assert graph.sweep().written == WINDOWS
    assert graph.rows("SELECT FROM neurigraph.digest_failures WHERE user_id = %s") == []


def test_digests_of_named_memories(graph: DigestedGraph) -> None:
    first = digesting.digest_of_records(graph.context, graph.records[:2])
    assert digesting.digest_of_records(graph.context, [*graph.records[:2], graph.records[0]]) == first
    secret = digesting.digest_of_records(graph.context, graph.records[1:])
    assert {one.digest_id for one in graph.seen()} == {first, secret}
    assert [one.digest_id for one in graph.seen(graph.persona)] == [first]
    stranger = new_digested_graph(graph.here)
    for wrong in ([graph.records[0], stranger.records[0]], [graph.records[0], UUID(int=1)]):
        with pytest.raises(NotFoundError):
            digesting.digest_of_records(graph.context, wrong)
    with pytest.raises(InvalidInputError):
        digesting.digest_of_records(graph.context, graph.records[:1])
    database = graph.here.database
    assert digests.remove_digest(database, graph.claims, first, dry_run=True).digest_id == first
    assert len(graph.seen()) == 2
    with pytest.raises(ForbiddenError):
        digests.remove_digest(database, graph.persona, first)
    with pytest.raises(NotFoundError):
        digests.remove_digest(database, stranger.claims, first)
    digests.remove_digest(database, graph.claims, first)
    assert [one.digest_id for one in graph.seen()] == [secret]


def test_searches_read_no_digest(graph: DigestedGraph) -> None:
    class Marking(PlainModel):
        def merge(self, parts: Sequence[Summary], words: int) -> Summary:
            return Summary("Xylophone", "Xylophone digest.")

    question = Question("xylophone digest bicycle")
    before = search(graph.context, question)
    digesting.sweep(graph.context.using(language_model=Marking()), 100, graph.user.user_id)
    assert len(graph.seen()) == WINDOWS
    after = search(graph.context, question)
    assert "ylophone" not in str(after)
    assert [(hit.record_id, hit.score) for hit in after.hits] == [(hit.record_id, hit.score) for hit in before.hits]


def test_a_persona_asks_for_a_digest(graph: DigestedGraph) -> None:
    writer = sharing.Subject(SubjectType.PERSONA, graph.persona.sub)
    sharing.grant(graph.here.database, graph.claims, writer, graph.node_id, GrantType.READ_WRITE)
    asked = actions.request(graph.context.acting_for(graph.persona), ActionKind.DIGEST, graph.records[0])
    assert asked.state is ActionState.EXECUTED
    (made,) = graph.seen(graph.persona)
    assert (made.days, made.derived_from) == (30, sorted(graph.records[:2]))


def _killed(context: Context, user_id: UUID) -> None:
    # Connections of its own: the parent's would stay open.
    own = plain_context(Installation(context.settings))

    class Killing(PlainModel):
        calls = 0

        def merge(self, parts: Sequence[Summary], words: int) -> Summary:
            self.calls += 1
            if self.calls == 3:
                os.kill(os.getpid(), signal.SIGKILL)
            return super().merge(parts, words)

    digesting.sweep(own.using(language_model=Killing()), 100, user_id)


def test_killed_sweep_of_digests_is_continued(graph: DigestedGraph) -> None:
    process = multiprocessing.get_context("fork").Process(target=_killed, args=(graph.context, graph.user.user_id))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert len(graph.seen()) == 2
    assert digests.faulty_digests(graph.here.database) == []
    assert graph.sweep().written == WINDOWS - 2
    assert graph.sweep().windows == 0


ATTACKS = [
    "INSERT INTO neurigraph.digests (digest_id, user_id, covers, title, text, records, facts, made_by) "
    "SELECT gen_random_uuid(), user_id, 'shared', 'x', 'x', 1, 0, 'x' FROM neurigraph.graph_index LIMIT 1",
    "UPDATE neurigraph.digests SET text = 'Mine.'",
    "INSERT INTO neurigraph.digest_records SELECT digest_id, record_id, user_id FROM neurigraph.digest_records",
    "DELETE FROM neurigraph.digest_records",
    "DELETE FROM neurigraph.digest_failures",
    "SELECT neurigraph.guard_digest()",
]


@pytest.mark.attack
def test_raw_sql_changes_no_digest(graph: DigestedGraph) -> None:
    graph.sweep()
    before = graph.seen()
    for claims in (graph.claims, graph.persona):
        for attack in ATTACKS:
            with graph.here.database.agent(claims) as tx, pytest.raises(psycopg.Error):
                tx.execute(attack)
    for claims, removed in ((graph.persona, 0), (new_digested_graph(graph.here).claims, 0), (graph.claims, WINDOWS)):
        with graph.here.database.agent(claims) as tx:
            assert tx.execute("DELETE FROM neurigraph.digests").rowcount == removed
            tx.rollback()
    assert graph.seen() == before
