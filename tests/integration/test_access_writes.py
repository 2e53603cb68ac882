"""Access control: what personas and third parties write, and who creates keys, grants and nodes."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.provisioning import provision_node
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.model import Claims, GrantType, NodeType, SourceKind, SubjectType
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, messages, plain_context, rows, schemas_of
from tests.support.shared_graph import SharedGraph, new_shared_graph


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


# Writing


def test_persona_reads_until_granted_write(graph: SharedGraph) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        hand_in(graph, "#Work/Legal Noted.")
    _, file_id = graph.record_of("Work/Legal")
    here = graph.installation
    control.touch(here.acting_for(graph.personas), file_id)
    with pytest.raises(ForbiddenError):
        control.compress(here.acting_for(graph.personas), file_id)
    graph.grant("Work/Legal", writes=True)
    assert may_write(graph, graph.personas) == {"Work/Legal"}
    control.compress(here.acting_for(graph.personas), file_id)


def test_third_party_never_writes(graph: SharedGraph) -> None:
    graph.grant("Work/Legal", "gmail")
    assert may_write(graph, graph.third_party("gmail")) == set()
    with pytest.raises(InvalidInputError):
        graph.grant("Work/Legal", "gmail", writes=True)
    with pytest.raises(psycopg.errors.CheckViolation), graph.installation.database.agent(graph.owners) as tx:
        tx.execute(
            """INSERT INTO neurigraph.permission_grants
            (user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id)
            VALUES (%(user)s, 'gmail', 'third_party', %(node)s, 'read_write', %(user)s)""",
            {"user": graph.owner.user_id, "node": graph.persona_id},
        )


def test_persona_input_is_filed_where_it_may_write(graph: SharedGraph) -> None:
    graph.grant("Work/Legal/Contracts", writes=True)
    graph.grant("Work/Marketing")
    nodes = {row["node_id"] for row in rows(graph.installation, "SELECT node_id FROM neurigraph.graph_index")}
    edges = rows(graph.installation, "SELECT count(*) AS n FROM neurigraph.node_edges")
    source = hand_in(
        graph,
        "#Work/Marketing Somewhere it reads. @Dave:enemy",
        "#Work/Legal Its own node, without a grant to write.",
        "#Brand/New A node of its making.",
        "#Work/Legal/Contracts/2025 Below what it may write to.",
    )
    stored = ingest(plain_context(graph.installation), graph.owner)
    assert {record.node_path for result in stored for record in result.stored} == {
        f"{graph.owner.slug}/Work/Legal/Contracts"
    }
    placed = rows(
        graph.installation,
        "SELECT DISTINCT node_id FROM neurigraph.record_index WHERE source_id = %s",
        source,
    )
    assert [row["node_id"] for row in placed] == [graph.node("Work/Legal/Contracts")]
    assert {row["node_id"] for row in rows(graph.installation, "SELECT node_id FROM neurigraph.graph_index")} == nodes
    assert rows(graph.installation, "SELECT count(*) AS n FROM neurigraph.node_edges") == edges


def test_input_after_grant_end_waits_for_review(graph: SharedGraph) -> None:
    grant_id = graph.grant("Work/Legal", writes=True)
    source = hand_in(graph, "#Work/Legal Noted.")
    graph.revoke(grant_id)
    (result,) = ingest(plain_context(graph.installation), graph.owner)
    ((failure, state),) = result.returned
    assert (state, result.stored) == ("failed", ())
    assert "grant it one" in failure.error
    inbox = Inbox(graph.installation.context)
    with pytest.raises(NotFoundError), graph.installation.database.agent(graph.personas) as tx:
        inbox.append(tx, SourceKind.CONVERSATION, source, messages("More."))


def test_persona_has_own_external_ids(graph: SharedGraph) -> None:
    theirs = converse(graph.installation, graph.owners, "The owner's.", external_id="same", ended=False)
    graph.grant("Work/Legal", writes=True)
    own = hand_in(graph, "The persona's.", external_id="same")
    assert own != theirs
    assert hand_in(graph, "The persona's.", external_id="same") == own
    inbox = Inbox(graph.installation.context)
    for source, claims in ((theirs, graph.personas), (uuid4(), graph.personas), (own, graph.third_party("gmail"))):
        with pytest.raises(NotFoundError), graph.installation.database.agent(claims) as tx:
            inbox.append(tx, SourceKind.CONVERSATION, source, messages("Mine."))


def hand_in(graph: SharedGraph, *contents: str, external_id: str | None = None) -> UUID:
    return converse(graph.installation, graph.personas, *contents, external_id=external_id)


def may_write(graph: SharedGraph, claims: Claims) -> set[str]:
    with graph.installation.database.agent(claims) as tx:
        return {
            path
            for path in schemas_of(graph.installation, graph.owner)
            for row in tx.execute("SELECT neurigraph.may_write_node(%s) AS may", [graph.node(path)])
            if row["may"]
        }


# Keys, grants and nodes


def test_manual_node_has_wanted_place(graph: SharedGraph) -> None:
    database = graph.installation.database
    made = provision_node(database, graph.owners, graph.node("Work"), "  Ops\x00 ", node_type=NodeType.PERSONA)
    assert made.names == ("Work", "Ops")
    with pytest.raises(ConflictError):
        provision_node(database, graph.owners, graph.node("Work"), "OPS")
    with pytest.raises(InvalidInputError):
        provision_node(database, graph.owners, graph.node("Work"), "\u200b")
    deep = graph.node("Work/Legal/Contracts")
    for name in ("four", "five"):
        deep = provision_node(database, graph.owners, deep, name).node_id
    with pytest.raises(InvalidInputError, match="deepest"):
        provision_node(database, graph.owners, deep, "six")
    assert sharing.grant(
        database, graph.owners, Subject(SubjectType.PERSONA, str(made.node_id)), deep, GrantType.READ_WRITE
    )[1]
