"""Access to denied nodes by raw SQL, as the application's role with the claims of a persona or a third party."""

from __future__ import annotations

from dataclasses import fields

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.model import Claims, GrantType, SubjectType
from neurigraph_pipelines.model.ports import Transaction
from tests.conftest import SECRET
from tests.support.callers import ATTEMPTS, CallerGraph, Ids
from tests.support.known_callers import share_with_knowledge
from tests.support.memories import rows
from tests.support.two_users import World

pytestmark = pytest.mark.attack


@pytest.fixture(scope="module")
def graph(world: World) -> CallerGraph:
    return share_with_knowledge(world)


SHARED = {
    "graph_index": "node_id = %(node)s",
    "node_edges": "%(node)s IN (from_node_id, to_node_id)",
    "edge_evidence": "%(node)s IN (from_node_id, to_node_id) OR record_id = %(record)s",
    "mentions": "node_id = %(node)s OR record_id = %(record)s",
    "node_aliases": "node_id = %(node)s",
    "fact_deltas": "fact_id = %(fact)s",
    "digests": "digest_id IN (SELECT r.digest_id FROM neurigraph.digest_records AS r WHERE r.record_id = %(record)s)",
    "digest_records": "record_id = %(record)s",
    "digest_failures": "node_id = %(node)s",
    "profiles": "node_id = %(node)s",
    "record_index": "record_id = %(record)s",
    "segments": "record_id = %(record)s OR node_id = %(node)s",
    "facts": "record_id = %(record)s",
    "pending_facts": "record_id = %(record)s",
    "pending_verdicts": "record_id = %(record)s",
    "fact_verdicts": "later_id = %(fact)s OR earlier_id = %(fact)s",
    "links": "%(fact)s IN (from_id, to_id) OR %(record)s IN (from_record_id, to_record_id)",
    "signing_keys": "key_id = %(signing_key)s",
    "file_index": "file_id = %(file)s",
    "delta_log": "record_id = %(record)s",
    "compression_state_log": "file_id = %(file)s",
    "sources": "source_id = %(conversation)s",
    "messages": "source_id = %(conversation)s",
    "storage_triggers": "source_id = %(conversation)s",
    "uploads": "source_id = %(upload)s",
    "pipeline_failures": "failure_id = %(failure)s",
    "warm_nodes": "node_id = %(node)s",
    "permission_grants": "target_node_id = %(node)s",
}


NODE_TABLES = ("metadata_records", "file_manifest")


def found(connection: Transaction, graph: CallerGraph, ids: Ids) -> dict[str, int]:
    """Return how many rows of a node, and of what belongs to its owner, a connection sees, by table."""
    (node,) = rows(graph.installation, "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s", ids.node)
    selects = {
        table: sql.SQL("SELECT FROM neurigraph.{} WHERE " + condition).format(sql.Identifier(table))
        for table, condition in SHARED.items()
    } | {table: sql.SQL("SELECT FROM {}").format(sql.Identifier(node["schema_name"], table)) for table in NODE_TABLES}
    values = {field.name: getattr(ids, field.name) for field in fields(ids)}
    return {table: connection.execute(statement, values).rowcount for table, statement in selects.items()}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_access_with_raw_sql(world: World, graph: CallerGraph, attempt: str) -> None:
    asker, target = ATTEMPTS[attempt]
    ids = graph.nodes[target]
    with world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection:
        assert set(found(connection, graph, ids).values()) == {0}
        (may,) = connection.execute("SELECT neurigraph.may_read_node(%s) AS may", [ids.node]).fetchall()
        assert may == {"may": False}


@pytest.mark.parametrize("target", ["Family/Ana", "Family"])
def test_raw_sql_shows_the_owner_all_of_it(world: World, graph: CallerGraph, target: str) -> None:
    """The control for the test above."""
    with world.agent(*Secret(SECRET).sign(world.alices)) as connection:
        seen = found(connection, graph, graph.nodes[target])
        assert {table for table, count in seen.items() if count == 0} <= {"permission_grants"}
        (may,) = connection.execute("SELECT neurigraph.may_read_node(%s) AS may", [graph.nodes[target].node]).fetchall()
        assert may == {"may": True}


OWNERS_OWN = [
    "SELECT * FROM neurigraph.permission_grants",
    "SELECT key_id FROM neurigraph.api_keys",
    "SELECT * FROM neurigraph.messages",
    "SELECT * FROM neurigraph.storage_triggers",
    "SELECT * FROM neurigraph.pipeline_failures",
    "SELECT * FROM neurigraph.uploads",
    "UPDATE neurigraph.permission_grants SET revoked_at = NULL",
    "UPDATE neurigraph.api_keys SET revoked_at = NULL",
    "UPDATE neurigraph.sources SET title = 'mine'",
]
PLANTED = [
    """INSERT INTO neurigraph.permission_grants (user_id, subject_id, subject_type, target_node_id, grant_type,
        grantor_user_id)
    VALUES (%(user)s, 'mallory', 'third_party', %(node)s, 'read', %(user)s)""",
    """INSERT INTO neurigraph.api_keys (user_id, key_hash, role, subject_id)
    VALUES (%(user)s, sha256('mallory'), 'third_party', 'mallory')""",
    """INSERT INTO neurigraph.sources (user_id, kind, external_id, title, started_at)
    VALUES (%(user)s, 'conversation', 'planted', '', now())""",
    """INSERT INTO neurigraph.messages (source_id, user_id, seq, role, content, token_count, content_hash, occurred_at,
        external_id, key_id, persona_id, received_through)
    VALUES (%(source)s, %(user)s, 99, 'user', 'planted', 1, sha256('planted'), now(), 'planted',
        neurigraph.asking_key(), neurigraph.writing_persona(), neurigraph.asking_door())""",
]


@pytest.mark.parametrize("statement", OWNERS_OWN)
def test_owner_rows_are_closed(world: World, graph: CallerGraph, statement: str) -> None:
    """The owner's rows stay as they are: the statement is undone."""
    for asker, closed in (("alice", False), ("persona", True), ("granted", True), ("above", True), ("nothing", True)):
        with world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection:
            count = connection.execute(sql.SQL(statement)).rowcount
            assert (count == 0) is closed, asker
            connection.rollback()


@pytest.mark.parametrize("statement", PLANTED)
def test_planting_rows_of_the_owner(world: World, graph: CallerGraph, statement: str) -> None:
    values = {
        "user": world.alice.user_id, "node": graph.nodes["Family/Ana"].node, "source": world.alices_source
    }  # fmt: skip
    for asker in ("persona", "granted", "above", "nothing", "bob"):
        with (
            world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(sql.SQL(statement), values)
    with world.agent(*Secret(SECRET).sign(world.alices)) as connection:
        assert connection.execute(sql.SQL(statement), values).rowcount == 1, "the owner may"
        connection.rollback()


@pytest.mark.parametrize("table", ["node_statistics", "record_changes"])
def test_statistics_are_closed_to_the_application(world: World, graph: CallerGraph, table: str) -> None:
    """Only functions of the database read them, even for the owner."""
    statement = sql.SQL("SELECT FROM neurigraph.{}").format(sql.Identifier(table))
    for asker in ("persona", "granted", "above", "nothing", "alice"):
        with (
            world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement)
    with graph.installation.database.pipeline() as tx:
        assert tx.execute(statement).rowcount > 0, "there is something to hide"


WINDOWS = [
    "SELECT count(*) FROM neurigraph.read_windows",
    "SELECT facts FROM neurigraph.read_windows WHERE user_id = %(user)s",
    "INSERT INTO neurigraph.read_windows (record_id, digest, user_id, facts) "
    "VALUES (%(record)s, sha256('mallory'), %(user)s, '[]')",
    """UPDATE neurigraph.read_windows SET facts = '["mine"]'""",
    "DELETE FROM neurigraph.read_windows WHERE record_id = %(record)s",
    "TRUNCATE neurigraph.read_windows",
    "COPY neurigraph.read_windows TO STDOUT",
]
GATES = [
    "SELECT v.vectors FROM neurigraph.vectors(ARRAY[%(record)s]::uuid [], ARRAY[NULL]::text [], 'words') AS v",
    "SELECT w.* FROM neurigraph.node_words(ARRAY[%(node)s]::uuid [], 3) AS w",
    "SELECT l.* FROM neurigraph.layers(ARRAY[%(node)s]::uuid [], ARRAY[NULL]::bigint [], 3, 'words', 96) AS l",
    "SELECT l.* FROM neurigraph.layers(ARRAY[%(node)s]::uuid [], ARRAY[1]::bigint [], NULL, 'words', 96) AS l",
]


@pytest.mark.parametrize("statement", GATES)
@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_gates_of_search_are_closed(world: World, graph: CallerGraph, attempt: str, statement: str) -> None:
    """A caller who knows the ids of a hidden node and its record gets nothing, and the owner gets one row."""
    asker, target = ATTEMPTS[attempt]
    values = {field.name: getattr(graph.nodes[target], field.name) for field in fields(Ids)}
    with world.agent(*Secret(SECRET).sign(graph.askers[asker].claims)) as connection:
        assert connection.execute(sql.SQL(statement), values).fetchall() == []
    with world.agent(*Secret(SECRET).sign(world.bobs if target == "bob" else world.alices)) as connection:
        assert len(connection.execute(sql.SQL(statement), values).fetchall()) == 1


@pytest.mark.parametrize("statement", WINDOWS)
def test_windows_of_a_reader_are_closed_to_the_application(world: World, graph: CallerGraph, statement: str) -> None:
    """Only jobs read and write them: neither other callers do, nor the owner, nor a key bound to spaces."""
    callers = {name: asker.claims for name, asker in graph.askers.items()}
    callers["bound"] = world.alices.within(["garden"])
    values = {"user": world.alice.user_id, "record": graph.nodes["Family/Ana"].record}
    for claims in callers.values():
        with (
            world.agent(*Secret(SECRET).sign(claims)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(sql.SQL(statement), values)
    with graph.installation.database.pipeline() as tx:
        assert tx.execute(sql.SQL(WINDOWS[1]), values).rowcount > 0, "there is something to hide"


def test_grant_revoked_during_a_transaction(world: World, graph: CallerGraph) -> None:
    """The node is closed from the next statement on."""
    alice, database = graph.askers["alice"].claims, graph.installation.database
    subject = sharing.Subject(SubjectType.THIRD_PARTY, "for a moment")
    made, _ = sharing.grant(database, alice, subject, graph.nodes["Family/Ana"].node)
    claims = Claims("for a moment", "third_party", world.alice.user_id)
    with world.agent(*Secret(SECRET).sign(claims)) as connection:
        count = "SELECT count(*) AS n FROM neurigraph.graph_index"
        assert connection.execute(count).fetchone() == {"n": 1}
        sharing.revoke(database, alice, made.grant_id)
        assert connection.execute(count).fetchone() == {"n": 0}


def writing_persona(world: World, graph: CallerGraph) -> Claims:
    """Return a persona that may write to a node of Alice's."""
    persona = graph.askers["persona"].claims
    subject = sharing.Subject(SubjectType.PERSONA, persona.sub)
    node = graph.nodes["Assistant/Notes"].node
    sharing.grant(graph.installation.database, world.alices, subject, node, GrantType.READ_WRITE)
    return persona


def test_nobody_else_states_a_member_as_author(world: World, graph: CallerGraph) -> None:
    """Only a member's own claims make a source that member's."""
    persona = writing_persona(world, graph)
    statement = sql.SQL(
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, member_id) "
        "VALUES (%s, 'conversation', 'handed in', %s)"
    )
    for claims in (persona, world.alices):
        with world.agent(*Secret(SECRET).sign(claims)) as connection:
            assert connection.execute(statement, [world.alice.user_id, None]).rowcount == 1
            connection.rollback()
        with (
            world.agent(*Secret(SECRET).sign(claims)) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement, [world.alice.user_id, world.bob.user_id])


def test_persona_makes_nothing_private(world: World, graph: CallerGraph) -> None:
    """A persona that may write hands sources in, and cannot hide them from other readers."""
    persona = writing_persona(world, graph)
    statement = sql.SQL(
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, title, started_at, privacy) "
        "VALUES (%s, 'conversation', 'handed in', '', now(), %s)"
    )
    with world.agent(*Secret(SECRET).sign(persona)) as connection:
        assert connection.execute(statement, [world.alice.user_id, "shared"]).rowcount == 1
        connection.rollback()
    with (
        world.agent(*Secret(SECRET).sign(persona)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement, [world.alice.user_id, "private"])
    with world.agent(*Secret(SECRET).sign(world.alices)) as connection:
        assert connection.execute(statement, [world.alice.user_id, "private"]).rowcount == 1, "the owner may"
        connection.rollback()
