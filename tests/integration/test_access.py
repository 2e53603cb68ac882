"""Access control: what the owner, a persona and third parties read of a graph."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.graph import navigation, record_lists
from neurigraph_pipelines.graph.provisioning import create_user, provision_node
from neurigraph_pipelines.graph.record_lists import RecordFilter
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, converse, evidence, ingest, plain_context, schemas_of
from tests.support.shared_graph import SharedGraph, new_shared_graph
from tests.support.two_users import NODE_TABLES


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


@pytest.fixture(scope="module")
def quiet(shared_installation: Installation) -> SharedGraph:
    """A read-only graph without grants."""
    return new_shared_graph(shared_installation)


def seen(graph: SharedGraph, claims: Claims) -> set[str]:
    """Paths of the nodes that are listed, by SQL; the tables of those, and of no other, are open."""
    schemas = schemas_of(graph.installation, graph.owner)
    ids = {path: graph.node(path) for path in schemas}
    with graph.installation.database.agent(claims) as tx:
        listed = {row["node_id"] for row in tx.execute("SELECT node_id FROM neurigraph.graph_index")}
        for path, schema in schemas.items():
            counts = []
            for table in NODE_TABLES:
                query = sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier(schema, table))
                counts += [row["n"] for row in tx.execute(query)]
            assert min(counts) > 0 or max(counts) == 0, path
            assert max(counts) == 0 or ids[path] in listed, path
    return {path for path, node_id in ids.items() if node_id in listed}


def asked(graph: SharedGraph, claims: Claims, query: str, **more: Any) -> Found:
    here = graph.installation
    return search(here.acting_for(claims).using(embedder=WordEmbedder()), Question(query, explain=True, **more))


OWN = {"Work/Legal", "Work/Legal/Contracts"}


# Reading


def test_owner_sees_everything(quiet: SharedGraph) -> None:
    assert seen(quiet, quiet.owners) == {
        "",
        "Family",
        "Family/Dave",
        "Work",
        "Work/Marketing",
        *OWN,
    }


def test_persona_sees_its_subtree(quiet: SharedGraph) -> None:
    assert seen(quiet, quiet.personas) == OWN


def test_third_party_needs_a_grant(quiet: SharedGraph) -> None:
    assert seen(quiet, quiet.third_party("gmail")) == set()


@pytest.mark.parametrize("third_party", [None, "gmail"])
def test_grant_opens_one_node(graph: SharedGraph, third_party: str | None) -> None:
    claims, own = (graph.personas, OWN) if third_party is None else (graph.third_party(third_party), set())
    graph.grant("Work", third_party)
    assert seen(graph, claims) == {"Work", *own}
    assert seen(graph, graph.third_party("another")) == set()


def test_grant_in_another_graph_opens_nothing(graph: SharedGraph, quiet: SharedGraph) -> None:
    graph.grant("Work", "gmail")
    query = "SELECT r.node_id FROM neurigraph.readable_nodes() AS r (node_id)"
    for one, readable in ((graph, [graph.node("Work")]), (quiet, [])):
        with one.installation.database.agent(one.third_party("gmail")) as tx:
            assert [row["node_id"] for row in tx.execute(query)] == readable


def test_revoked_grant_ends_at_once(graph: SharedGraph) -> None:
    claims = graph.third_party("gmail")
    grant_id = graph.grant("Family/Dave", "gmail")
    node = {"node_id": graph.node("Family/Dave")}
    query = "SELECT count(*) AS n FROM neurigraph.graph_index WHERE node_id = %(node_id)s"
    with graph.installation.database.agent(claims) as tx:
        assert tx.execute(query, node).fetchone() == {"n": 1}
        graph.revoke(grant_id)
        assert tx.execute(query, node).fetchone() == {"n": 0}
    assert asked(graph, claims, "trout").hits == []


def test_grant_expires_on_time(graph: SharedGraph) -> None:
    claims = graph.third_party("gmail")
    grant_id = graph.grant("Family/Dave", "gmail", expires_at=datetime.now(UTC) + timedelta(days=1))
    assert seen(graph, claims) == {"Family/Dave"}
    with graph.installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.permission_grants SET expires_at = now() WHERE grant_id = %s", [grant_id])
    assert seen(graph, claims) == set()


def test_subjects_of_one_name_are_distinct(graph: SharedGraph) -> None:
    graph.grant("Family/Dave", str(graph.persona_id))
    assert seen(graph, graph.personas) == OWN
    graph.grant("Work")
    assert seen(graph, graph.third_party(str(graph.persona_id))) == {"Family/Dave"}


def test_persona_needs_its_node(graph: SharedGraph) -> None:
    graph.grant("Work")
    for claims in (
        Claims(str(uuid4()), "persona", graph.owner.user_id),
        Claims(str(graph.node("Family")), "persona", graph.owner.user_id),
        Claims(str(graph.persona_id), "persona", uuid4()),
    ):
        assert seen(graph, claims) == set()
    with graph.installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET node_type = 'concept' WHERE node_id = %s", [graph.persona_id])
    assert seen(graph, graph.personas) == set()


def test_persona_sees_own_rows_of_shared_tables(quiet: SharedGraph) -> None:
    own = [quiet.persona_id, quiet.node("Work/Legal/Contracts")]
    columns = {
        "graph_index": "node_id",
        "record_index": "node_id",
        "file_index": "node_id",
        "compression_state_log": "node_id",
        "segments": "node_id",
        "node_edges": "from_node_id",
    }
    with quiet.installation.database.agent(quiet.personas) as tx:
        for table, column in columns.items():
            found = tx.execute(sql.SQL(f"SELECT {column} AS id FROM neurigraph.{table}")).fetchall()
            assert {row["id"] for row in found} <= set(own), table
            assert found or table == "node_edges", table
        deltas = tx.execute("SELECT delta_payload -> 'after' ->> 'node_id' AS id FROM neurigraph.delta_log").fetchall()
        assert {UUID(row["id"]) for row in deltas} == set(own)
        sources = tx.execute("SELECT external_id FROM neurigraph.sources").fetchall()
        assert len(sources) == 1
        for table in (
            "users", "messages", "permission_grants", "warm_nodes", "node_statistics", "layer_packs",
            "storage_triggers", "pipeline_failures", "uploads", "node_candidates", "pending_embeddings", "user_changes",
        ):  # fmt: skip
            try:
                with tx.transaction():
                    rest = tx.execute(
                        sql.SQL("SELECT count(*) AS n FROM {}").format(sql.Identifier("neurigraph", table))
                    )
                    assert rest.fetchone() == {"n": 0}, table
            except psycopg.errors.InsufficientPrivilege:
                continue


def test_owner_cost_is_independent_of_grants(graph: SharedGraph) -> None:
    with graph.installation.database.agent(graph.owners) as tx:
        for table in ("graph_index", "node_edges", "record_index", "file_index", "sources", "messages", "delta_log"):
            explain = sql.SQL("EXPLAIN (ANALYZE, FORMAT JSON) SELECT FROM {} WHERE user_id = %s")
            query = explain.format(sql.Identifier("neurigraph", table))
            (row,) = tx.execute(query, [graph.owner.user_id]).fetchall()
            (plan,) = row["QUERY PLAN"]
            asked_of_others = [
                node for node in plan["Plan"]["Plans"] if node.get("Subplan Name", "").startswith("SubPlan")
            ]
            assert asked_of_others, table
            assert all(node["Actual Loops"] == 0 for node in asked_of_others), table


# What an answer reveals


def test_hidden_node_names_stay_hidden(graph: SharedGraph) -> None:
    with graph.installation.database.agent(graph.personas) as tx:
        tree = navigation.tree(tx, graph.owner.user_id)
        shell = navigation.shell(tx, graph.persona_id)
        child = navigation.shell(tx, graph.node("Work/Legal/Contracts"))
    assert (tree.name, [node.name for node in tree.children], tree.others) == ("Legal", ["Contracts"], [])
    assert [node.edges for node in (tree, *tree.children)] == [[], []]
    assert (shell.path, shell.parent_node_id) == ("Legal", None)
    assert (child.path, child.parent_node_id, child.edges) == ("Legal/Contracts", graph.persona_id, [])
    refusals = repr(
        [*tree.links, *(value for one in (shell, child) for name, value in one if name not in ("keywords", "summary"))]
    )
    assert not any(name in refusals for name in ("Work", "Family", "Marketing", "work_", graph.owner.slug))
    graph.grant("Family/Dave")
    with graph.installation.database.agent(graph.personas) as tx:
        tree = navigation.tree(tx, graph.owner.user_id)
        child = navigation.shell(tx, graph.node("Work/Legal/Contracts"))
    assert sorted(node.name for node in (tree, *tree.others)) == ["Dave", "Legal"]
    assert [edge.node_name for edge in child.edges] == ["Dave"]
    (legal,) = (node for node in (tree, *tree.others) if node.name == "Legal")
    ends = [(edge.relation, edge.node_id, edge.strength) for edge in child.edges]
    assert [(one.relation, one.node_id, one.strength) for one in legal.children[0].edges] == ends


def test_paths_of_listed_memories_begin_at_the_first_visible_node(graph: SharedGraph) -> None:
    here = graph.installation
    graph.grant("Family/Dave", "gmail")
    for claims, paths in (
        (graph.owners, {f"{graph.owner.slug}/{path}" for path in ("Family/Dave", "Work", "Work/Marketing", *OWN)}),
        (graph.personas, {"Legal", "Legal/Contracts"}),
        (graph.third_party("gmail"), {"Dave"}),
    ):
        listed = record_lists.list_records(here.listing(claims), RecordFilter())
        assert {record.node_path for record in listed.items} == paths


def test_foreign_memories_change_no_answer(graph: SharedGraph) -> None:
    """Scores, names and the number of staged nodes are independent of hidden records."""
    queries = ("Acme contract of Dave", "Zanzibar lawyers", "Marketing", "Ottilie and the floor")
    before = [asked(graph, graph.personas, query, limit=50) for query in queries]
    converse(
        graph.installation,
        graph.owners,
        "#Family/Dave Dave caught a trout. @Marketing:sister @Ana:aunt",
        "#Family/Ottilie Acme and lawyers and the contract in Zanzibar: Ottilie knows them all by heart.",
        "#Work/Contracts A node by the same name.",
    )
    ingest(plain_context(graph.installation), graph.owner)
    after = [asked(graph, graph.personas, query, limit=50) for query in queries]
    assert after == before


def test_hidden_names_displace_no_open_name(graph: SharedGraph) -> None:
    with graph.installation.database.owner() as tx:
        tx.execute(
            """UPDATE neurigraph.graph_index SET aliases = ARRAY(
                SELECT 'contr ' || n FROM generate_series(10, 50) AS g (n)
            ) WHERE node_id = %s""",
            [graph.node("Family/Dave")],
        )
    owners = asked(graph, graph.owners, "contr").anchors
    assert [anchor.node_path.rpartition("/")[2] for anchor in owners if anchor.reason == "name"] == ["Dave"]
    anchors = {anchor.node_path: anchor.reason for anchor in asked(graph, graph.personas, "contr").anchors}
    assert anchors["Legal/Contracts"] == "name"


def test_no_path_through_hidden_node(graph: SharedGraph) -> None:
    """Both nodes of the persona have an edge to a node that it does not see; only one is found, so one is staged."""
    with graph.installation.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.node_edges (user_id, from_node_id, to_node_id, relation)
            VALUES (%s, %s, %s, 'secret')""",
            [graph.owner.user_id, graph.persona_id, graph.node("Family/Dave")],
        )
    assert asked(graph, graph.owners, "contract with Acme", limit=1).warmed > 2
    assert asked(graph, graph.personas, "contract with Acme", limit=1).warmed == 1


def test_speakers_of_open_nodes_only(graph: SharedGraph) -> None:
    with graph.installation.database.owner() as tx:
        for path, speaker in (("Family/Dave", "ottilie"), ("Work/Legal", "the lawyer")):
            tx.execute(
                "UPDATE neurigraph.node_statistics SET speakers = %s WHERE node_id = %s", [[speaker], graph.node(path)]
            )
    row = evidence(graph.installation, graph.personas)
    assert row is not None
    assert (row["data_version"], row["speakers"]) == (None, ["the lawyer"])


def test_id_is_visible_to_whom_its_node_is_open(graph: SharedGraph, quiet: SharedGraph) -> None:
    """What every face asks before it acts on an id that a caller names."""
    open_record, hidden_record = quiet.record_of("Work/Legal")[0], quiet.record_of("Family/Dave")[0]
    of_personas = {("node", quiet.node("Work/Legal")), ("record", open_record)}
    of_owner = of_personas | {("node", quiet.node("Family/Dave")), ("record", hidden_record)}
    absent = {("node", uuid4()), ("record", uuid4()), ("record", quiet.node("Work/Legal"))}
    visible = {"owner": of_owner, "personas": of_personas, "stranger": set()}
    askers = {"owner": quiet.owners, "personas": quiet.personas, "stranger": graph.owners}
    for asker, claims in askers.items():
        seen_ids = set()
        for kind, wanted in of_owner | absent:
            with suppress(NotFoundError):
                require_visible(quiet.installation.database, claims, kind, wanted)
                seen_ids.add((kind, wanted))
        assert seen_ids == visible[asker], asker


def test_schema_names_reveal_nothing(shared_installation: Installation) -> None:
    user, _ = create_user(shared_installation.database, f"grace-{uuid4().hex[:8]}", opaque_schema_names=True)
    provision_node(shared_installation.database, Claims.of_user(user.user_id), user.root_node_id, "Zanzibar")
    names = schemas_of(shared_installation, user)
    assert set(names) == {"", "Zanzibar"}
    assert all(re.fullmatch(r"n_[0-9a-f]{32}", name) for name in names.values())
