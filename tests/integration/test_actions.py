"""What waits for a decision: standards, held notes, votes, who may see and decide what, and carrying it out once."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from uuid import UUID

import psycopg
import pytest

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.governance.standards import standard_of
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.knowledge.deciding import actions, execution, upkeep
from neurigraph_pipelines.knowledge.deciding.standards import set_standard
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims, GrantType, NodeType, ReceivedThrough, SubjectType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.actions import Action, NewStandard
from neurigraph_pipelines.views.kinds import ActionKind, ActionState, Rule
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import url_for_role
from tests.conftest import ROOT, SECRET
from tests.support.locks import wait_until_locked
from tests.support.memories import ingest, plain_context, rows
from tests.support.pausing_vote import MOMENTS
from tests.support.shared_graph import SharedGraph, new_shared_graph


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    """A graph with a persona that may write to ``Work/Marketing``."""
    graph = new_shared_graph(shared_installation)
    graph.grant("Work/Marketing", writes=True)
    return graph


def acting(graph: SharedGraph, claims: Claims | None = None) -> Context:
    return plain_context(graph.installation).acting_for(claims or graph.owners)


def another_persona(graph: SharedGraph, name: str, *paths: str) -> Claims:
    """Create a persona below the root that may write to some nodes, and return its claims."""
    database = graph.installation.database
    node = sharing.add_node(database, graph.owners, graph.node(""), name, node_type=NodeType.PERSONA)
    for path in paths:
        subject = sharing.Subject(SubjectType.PERSONA, str(node))
        sharing.grant(database, graph.owners, subject, graph.node(path), GrantType.READ_WRITE)
    return Claims(str(node), "persona", graph.owner.user_id)


def seen(graph: SharedGraph, claims: Claims, state: ActionState | None = ActionState.OPEN) -> list[Action]:
    here = graph.installation
    return list(actions.page_of_actions(here.listing(claims), state=state).items)


def held_note(graph: SharedGraph, text: str) -> tuple[UUID, UUID]:
    """Let the persona write a note that has to be approved; return the note and the action."""
    written = write_note(acting(graph, graph.personas), IncomingNote(text, node_id=graph.node("Work/Marketing")))
    assert written.action_id is not None
    return written.note_id, written.action_id


def stored_notes(graph: SharedGraph) -> int:
    ingest(plain_context(graph.installation), graph.owner)
    return len(rows(
        graph.installation, "SELECT FROM neurigraph.record_index WHERE user_id = %s AND source_kind = 'note'",
        graph.owner.user_id,
    ))  # fmt: skip


def test_standard_is_resolved_by_field_up_the_path(graph: SharedGraph) -> None:
    here, work, marketing = acting(graph), graph.node("Work"), graph.node("Work/Marketing")
    set_standard(here, work, NewStandard(write=Rule.APPROVE, delete=Rule.APPROVE, tier="mid", text="Be brief."))
    held = set_standard(here, marketing, NewStandard(delete=Rule.ANY, approver=f"persona:{graph.persona_id}")).standard
    assert {name: one.value for name, one in held.items() if name != "note_id"} == {
        "write": "approve", "promote": "any", "delete": "any", "approver": f"persona:{graph.persona_id}",
        "tier": "mid", "ttl_seconds": None,
    }  # fmt: skip
    assert (held["write"].from_node_id, held["delete"].from_node_id, held["promote"].from_node_id) == (
        work, marketing, None,
    )  # fmt: skip
    assert held["note_id"].value is not None
    for_persona = standard_of(graph.installation.database, graph.personas, marketing).standard
    assert (for_persona["write"].value, for_persona["write"].from_node_id) == ("approve", None)
    assert set_standard(here, marketing, NewStandard(ttl_seconds=3600, inherit=False)).standard["write"].value == "any"
    for wrong in (NewStandard(approver="consensus:1"), NewStandard(approver="persona:x")):
        with pytest.raises(InvalidInputError):
            set_standard(here, marketing, wrong)
    with pytest.raises(ForbiddenError):
        set_standard(acting(graph, graph.personas), marketing, NewStandard(write=Rule.ANY))
    with pytest.raises(NotFoundError):
        set_standard(acting(graph, graph.personas), work, NewStandard(write=Rule.ANY))


def test_note_waits_in_the_inbox_until_it_is_approved(graph: SharedGraph) -> None:
    here, marketing = graph.installation, graph.node("Work/Marketing")
    other = another_persona(graph, "Censor", "Work/Marketing")
    reader = another_persona(graph, "Reader")
    set_standard(acting(graph), marketing, NewStandard(write=Rule.APPROVE, approver=f"persona:{other.sub}"))
    before = stored_notes(graph)
    _, action_id = held_note(graph, "The campaign costs a thousand pounds.")
    assert stored_notes(graph) == before
    (row,) = rows(here, "SELECT a::text AS shown FROM neurigraph.actions AS a WHERE action_id = %s", action_id)
    assert "thousand" not in row["shown"]
    (mine,) = seen(graph, graph.personas)
    assert (mine.action_id, mine.kind, mine.origin) == (action_id, ActionKind.STORE, "policy")
    assert actions.get_action(here.database, other, action_id).text == "The campaign costs a thousand pounds."
    assert seen(graph, reader) == seen(graph, graph.third_party("Acme")) == []
    for stranger in (reader, graph.third_party("Acme"), another_persona(graph, "Writer", "Work/Marketing")):
        with pytest.raises(NotFoundError):
            actions.vote(acting(graph, stranger), action_id, approves=True)
    with pytest.raises(ForbiddenError, match="nobody votes"):
        actions.vote(acting(graph, graph.personas), action_id, approves=True)
    model = replace(graph.owners, received_through=ReceivedThrough.MCP)
    with pytest.raises(ForbiddenError, match="a person votes"):
        actions.vote(acting(graph, model), action_id, approves=True)
    assert actions.vote(acting(graph, other), action_id, approves=True).state is ActionState.EXECUTED
    assert actions.vote(acting(graph, other), action_id, approves=True).state is ActionState.EXECUTED
    with pytest.raises(ConflictError):
        actions.vote(acting(graph, other), action_id, approves=False)
    assert stored_notes(graph) == before + 1

    rejected, action_id = held_note(graph, "The campaign is a fraud.")
    assert actions.vote(acting(graph), action_id, approves=False).state is ActionState.REJECTED
    expired, action_id = held_note(graph, "The campaign is over.")
    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.actions SET "
            "requested_at = now() - interval '2 days', expires_at = now() - interval '1 day' "
            "WHERE action_id = %s",
            [action_id],
        )
    with pytest.raises(ConflictError, match="expired"):
        actions.vote(acting(graph), action_id, approves=True)
    assert upkeep.has_work(acting(graph))
    assert upkeep.keep(acting(graph)).expired == 1
    assert rows(here, "SELECT FROM neurigraph.messages WHERE source_id = ANY(%s)", [rejected, expired]) == []
    assert stored_notes(graph) == before + 1

    set_standard(acting(graph), marketing, NewStandard(write=Rule.OWNER))
    with pytest.raises(NotFoundError):
        held_note(graph, "Not even for an approval.")
    set_standard(acting(graph), marketing, NewStandard(write=Rule.OWNER, delete=Rule.OWNER))
    with pytest.raises(ForbiddenError, match="only the owner of the graph may delete this"):
        actions.request(acting(graph, graph.personas), ActionKind.DELETE, graph.record_of("Work/Marketing")[0])
    assert write_note(acting(graph), IncomingNote("By the owner.", node_id=marketing)).action_id is None


def test_grants_are_asked_again_and_a_consensus_executes_once(graph: SharedGraph) -> None:
    here, marketing = graph.installation, graph.node("Work/Marketing")
    voters = [another_persona(graph, f"Voter {number}", "Work/Marketing") for number in range(4)]
    set_standard(acting(graph), marketing, NewStandard(delete=Rule.APPROVE, approver="consensus:3"))
    record_id, _ = graph.record_of("Work/Marketing")
    reader = another_persona(graph, "Reader")
    sharing.grant(
        here.database, graph.owners, sharing.Subject(SubjectType.PERSONA, str(reader.sub)), marketing, GrantType.READ
    )
    with pytest.raises(ForbiddenError, match="may only read"):
        actions.request(acting(graph, reader), ActionKind.DELETE, record_id)
    asked = actions.request(acting(graph, graph.personas), ActionKind.DELETE, record_id)
    assert actions.request(acting(graph, graph.personas), ActionKind.DELETE, record_id).action_id == asked.action_id
    assert actions.vote(acting(graph, voters[0]), asked.action_id, approves=True).state is ActionState.OPEN
    assert actions.vote(acting(graph, voters[0]), asked.action_id, approves=True).state is ActionState.OPEN

    def state_after_vote(voter: Claims) -> ActionState | None:
        try:
            return actions.vote(acting(graph, voter), asked.action_id, approves=True).state
        except NotFoundError:  # a repeated vote may come after the action went with its record
            return None

    with ThreadPoolExecutor(8) as pool:
        assert ActionState.EXECUTED in pool.map(state_after_vote, [*voters[1:3], *voters[1:3]])
    receipts = rows(here, "SELECT FROM neurigraph.erasures WHERE subject_id = %s", record_id)
    assert len(receipts) == 1
    assert rows(here, "SELECT FROM neurigraph.record_index WHERE record_id = %s", record_id) == []
    assert rows(here, "SELECT FROM neurigraph.actions WHERE action_id = %s", asked.action_id) == []

    set_standard(acting(graph), marketing, NewStandard(write=Rule.APPROVE))
    _, action_id = held_note(graph, "From somebody who may not write any more.")
    for grant in sharing.page_of_grants(here.listing(graph.owners), node_id=marketing).items:
        graph.revoke(grant.grant_id)
    with pytest.raises(ForbiddenError, match="no longer"):
        actions.vote(acting(graph), action_id, approves=True)
    assert actions.get_action(here.database, graph.owners, action_id).failure == "no_right"


def test_vote_is_not_reported_as_done_if_its_subject_was_forgotten_first(graph: SharedGraph) -> None:
    set_standard(acting(graph), graph.node("Work/Marketing"), NewStandard(promote=Rule.APPROVE))
    record_id, _ = graph.record_of("Work/Marketing")
    asked = actions.request(acting(graph, graph.personas), ActionKind.PROMOTE, record_id)
    with ThreadPoolExecutor(1) as pool:
        votes: list[Future[Action]] = []

        class _Voting(Guard):
            def admit(self, tx: Transaction) -> None:  # the graph is locked
                votes.append(pool.submit(actions.vote, acting(graph), asked.action_id, approves=True))
                wait_until_locked(graph.installation, role="neurigraph_pipeline")

        forget(acting(graph), ErasureSubject(SubjectKind.RECORD, record_id), through="api", guard=_Voting())
        with pytest.raises(NotFoundError):
            votes[0].result(60)


def test_doubt_stands_once_and_is_the_owners(graph: SharedGraph) -> None:
    here, legal = graph.installation, graph.node("Work/Legal")
    (one, _), (other, _) = graph.record_of("Work/Legal"), graph.record_of("Work/Legal/Contracts")
    doubt = Doubt(
        ActionKind.SUPERSEDE, graph.owner.user_id, "contradiction", "belief", record_id=one, other_record_id=other,
        details={"confidence": 0.7},
    )  # fmt: skip
    with here.database.pipeline() as tx:
        first, again = propose(tx, doubt), propose(tx, replace(doubt, details={"confidence": 0.8}))
        assert (first.created, again.created, again.action_id) == (True, False, first.action_id)
        with pytest.raises(NotFoundError):
            propose(tx, replace(doubt, record_id=UUID(int=1)))
    with here.database.pipeline() as tx, pytest.raises(psycopg.errors.CheckViolation):
        propose(tx, replace(doubt, kind=ActionKind.ARCHIVE, details={"why": "Dave said so yesterday"}))
    assert seen(graph, graph.personas) == []
    with pytest.raises(NotFoundError):
        actions.vote(acting(graph, graph.personas), first.action_id, approves=True)
    assert upkeep.waiting(acting(graph)).waiting >= 1
    assert actions.vote(acting(graph), first.action_id, approves=True).state is ActionState.EXECUTED
    (row,) = rows(here, "SELECT superseded FROM neurigraph.record_index WHERE record_id = %s", one)
    assert row["superseded"]
    (delta,) = rows(
        here,
        "SELECT authored_by FROM neurigraph.delta_log WHERE record_id = %s ORDER BY w_coordinate DESC LIMIT 1",
        one,
    )
    assert str(first.action_id) in delta["authored_by"]

    merging = Doubt(
        ActionKind.MERGE_NODES, graph.owner.user_id, "same_name", "names",
        node_id=graph.node("Work/Legal/Contracts"), other_node_id=graph.node("Work/Marketing"),
    )  # fmt: skip
    with here.database.pipeline() as tx:
        merge = propose(tx, merging).action_id
        void = propose(tx, replace(merging, other_node_id=legal)).action_id
        unknown = propose(tx, replace(doubt, kind=ActionKind.RESOLVE, record_id=other, other_record_id=None)).action_id
    assert actions.vote(acting(graph), merge, approves=True).state is ActionState.EXECUTED
    with pytest.raises(NotFoundError):
        actions.get_action(here.database, graph.owners, void)
    moved = actions.get_action(here.database, graph.owners, unknown)
    assert moved.node_id == graph.node("Work/Marketing")
    with pytest.raises(ConflictError, match="cannot carry out"):
        actions.vote(acting(graph), unknown, approves=True)


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_vote_is_carried_out_once(graph: SharedGraph, moment: str) -> None:
    here = graph.installation
    set_standard(acting(graph), graph.node("Work/Marketing"), NewStandard(write=Rule.APPROVE))
    note_id, action_id = held_note(graph, "Written before the crash.")
    places = (here.administrator_url, SECRET, str(graph.owner.user_id), str(action_id), moment)
    command = [sys.executable, "-m", "tests.support.pausing_vote", *places]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "paused\n"
        process.kill()
    is_done = moment == MOMENTS[1]

    def held() -> object:
        return rows(here, "SELECT held FROM neurigraph.sources WHERE source_id = %s", note_id)[0]["held"]

    state = actions.get_action(here.database, graph.owners, action_id).state
    assert (state, held()) == ((ActionState.EXECUTED, False) if is_done else (ActionState.APPROVED, True))
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: execution.carry_out(acting(graph)), range(4)))
    assert sum(done) == (0 if is_done else 1)
    assert actions.get_action(here.database, graph.owners, action_id).state is ActionState.EXECUTED
    assert held() is False


ATTACKS = [
    "INSERT INTO neurigraph.actions "
    "(user_id, kind, origin, reason, node_id, job, expires_at, expected, digest) "
    "SELECT user_id, 'delete', 'doubt', 'x', node_id, 'x', now() + interval '1 day', '', '' "
    "FROM neurigraph.graph_index LIMIT 1",
    "UPDATE neurigraph.actions SET state = 'approved', decided_at = now()",
    "DELETE FROM neurigraph.actions",
    "INSERT INTO neurigraph.action_votes (action_id, user_id, approves) "
    "SELECT action_id, user_id, true FROM neurigraph.actions",
    "DELETE FROM neurigraph.action_votes",
    "UPDATE neurigraph.sources SET held = false",
    "SELECT neurigraph.propose_action('{}')",
    "SELECT neurigraph.lock_approved(gen_random_uuid())",
    "SELECT neurigraph_private.drop_held(gen_random_uuid())",
]


@pytest.mark.attack
def test_raw_sql_gets_around_no_approval(graph: SharedGraph) -> None:
    here, marketing = graph.installation, graph.node("Work/Marketing")
    set_standard(acting(graph), marketing, NewStandard(write=Rule.APPROVE))
    note_id, action_id = held_note(graph, "Waits.")
    url = url_for_role(here.administrator_url, "neurigraph_agent", Secret(SECRET))
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in zip(
            ("request.jwt.claims", "neurigraph.claims_signature"), Secret(SECRET).sign(graph.personas), strict=True
        ):
            connection.execute("SELECT set_config(%s, %s, false)", [name, value])
        for attack in ATTACKS:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(attack)
        standard = "INSERT INTO neurigraph.node_standards (node_id, user_id, write_rule) VALUES (%s, %s, 'any')"
        with pytest.raises(psycopg.Error):
            connection.execute(standard, [graph.node("Work/Legal"), graph.owner.user_id])
        assert connection.execute("UPDATE neurigraph.node_standards SET write_rule = 'any'").rowcount == 0
        assert connection.execute("DELETE FROM neurigraph.node_standards").rowcount == 0
        assert connection.execute("SELECT neurigraph.cast_vote(%s, true, false)", [action_id]).fetchone() == ("mine",)
        # A note of its own making, pinned by hand: the trigger holds it all the same.
        (source,) = connection.execute(
            "INSERT INTO neurigraph.sources (user_id, kind, external_id, title) "
            "VALUES (%s, 'note', 'planted', 'x') RETURNING source_id",
            [graph.owner.user_id],
        ).fetchone() or (None,)
        connection.execute(
            "INSERT INTO neurigraph.messages (source_id, user_id, persona_id, received_through, seq, role, content, "
            "token_count, content_hash, occurred_at, external_id) "
            "VALUES (%s, %s, %s, 'api', 1, 'user', 'Planted.', 1, sha256('x'), now(), '1')",
            [source, graph.owner.user_id, graph.persona_id],
        )
        connection.execute(
            "INSERT INTO neurigraph.notes (source_id, message, user_id, pinned, node_id, digest) "
            "VALUES (%s, 1, %s, true, %s, sha256('x'))",
            [source, graph.owner.user_id, marketing],
        )
    detect(plain_context(here))
    held = rows(
        here, "SELECT held, triggered_through FROM neurigraph.sources WHERE source_id = ANY(%s)", [source, note_id]
    )
    assert held == [{"held": True, "triggered_through": 0}] * 2
