"""What callers see of memories in quarantine, through every door, and what is derived from the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row

from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.graph.navigation import shell, tree
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_messages
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from tests.support.growing_graph import records
from tests.support.memories import plain_context, rows
from tests.support.shared_graph import SharedGraph

POISON = ("zyxgrub", "Mallory", "bribery", "Poisonfarm")
"""Words, a person and a node that only the poison names."""


def context(graph: SharedGraph, claims: Claims | None = None) -> Context:
    return plain_context(graph.installation).acting_for(claims or graph.owners)


def derived(graph: SharedGraph) -> dict[str, list[Any]]:
    """Return everything that is derived from the user's records, as the owner of the tables sees it."""
    queries = {
        "graph_index": "SELECT to_jsonb(t) - 'last_accessed_at' AS row FROM neurigraph.graph_index t",
        "node_edges": "SELECT to_jsonb(t) AS row FROM neurigraph.node_edges t",
        "node_candidates": "SELECT to_jsonb(t) AS row FROM neurigraph.node_candidates t",
        "node_statistics": "SELECT to_jsonb(t) AS row FROM neurigraph.node_statistics t",
        "segments": "SELECT to_jsonb(t) AS row FROM neurigraph.segments t",
        "record_index": "SELECT to_jsonb(t) AS row FROM neurigraph.record_index t",
        "delta_log": "SELECT to_jsonb(t) AS row FROM neurigraph.delta_log t",
    }
    found = {}
    with psycopg.connect(graph.installation.administrator_url, row_factory=dict_row) as connection:
        for name, query in queries.items():
            wanted = connection.execute(query + " WHERE t.user_id = %s", [graph.owner.user_id])
            found[name] = sorted(json.dumps(row["row"], sort_keys=True) for row in wanted)
        schemas = connection.execute(
            "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s", [graph.owner.user_id]
        ).fetchall()
        for row in schemas:
            statement = sql.SQL("SELECT to_jsonb(t) - 'last_accessed_at' AS row FROM {} AS t").format(
                sql.Identifier(row["schema_name"], "metadata_records")
            )
            found[f"{row['schema_name']}.metadata_records"] = sorted(
                json.dumps(one["row"], sort_keys=True) for one in connection.execute(statement)
            )
    return found


def seen(graph: SharedGraph, claims: Claims) -> str:
    """Return all rows of all tables that a caller can read with SQL, as one text; the inbox is not retrieved from."""
    left_out = ("sources", "messages", "storage_triggers", "uploads", "quarantines", "quarantined_records")
    with psycopg.connect(graph.installation.administrator_url, row_factory=dict_row) as connection:
        tables = connection.execute(
            """SELECT n.nspname, c.relname FROM pg_class AS c INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
            WHERE c.relkind = 'r' AND has_table_privilege('neurigraph_agent', c.oid, 'SELECT')
            AND (n.nspname = 'neurigraph' OR n.nspname IN (
                SELECT g.schema_name FROM neurigraph.graph_index AS g WHERE g.user_id = %s
            ))""",
            [graph.owner.user_id],
        ).fetchall()
    found = []
    with graph.installation.database.agent(claims) as tx:
        for table in tables:
            if table["relname"] not in left_out:
                name = sql.Identifier(table["nspname"], table["relname"])
                found += [str(row) for row in tx.execute(sql.SQL("SELECT t::text FROM {} AS t").format(name))]
    return "\n".join(found)


def through_all_doors(graph: SharedGraph, claims: Claims, hidden: Sequence[dict[str, Any]]) -> str:
    """Return everything that the doors of retrieval give, as one text."""
    here, ask_as = graph.installation, context(graph, claims)
    found: list[Any] = []
    for query in ("zyxgrub password", "What did Mallory tell Dave?", "Poisonfarm", "bribery Ana", "everything"):
        for question in (Question(query), Question(query, include_superseded=True)):
            answer = search(ask_as, question)
            found += [answer.hits, answer.messages, [anchor.node_path for anchor in answer.anchors]]
        reply = ask(ask_as, Question(query))
        found += [reply.answer, reply.citations]
    with here.database.agent(claims) as tx:
        found.append(str(tree(tx, claims.user_id)))
        nodes = tx.execute("SELECT node_id FROM neurigraph.graph_index").fetchall()
        found += [str(shell(tx, node["node_id"])) for node in nodes]
    found.append(records(here, claims))
    for record in hidden:
        with pytest.raises(NotFoundError):
            record_at(here.database, claims, record["record_id"])
        with pytest.raises(NotFoundError):
            history(here.database, claims, record["record_id"])
        with pytest.raises(NotFoundError):
            file_of_record(here.database, claims, record["record_id"])
        with pytest.raises(NotFoundError):
            open_file(ask_as, record["file_id"])
        assert open_messages(ask_as, record["file_id"], [1, 2]) == []
    return str(found) + seen(graph, claims)


def hidden_records(graph: SharedGraph) -> list[dict[str, Any]]:
    return rows(
        graph.installation,
        """SELECT i.record_id, f.file_id FROM neurigraph.record_index AS i
        INNER JOIN neurigraph.file_index AS f ON i.record_id = f.record_id
        WHERE i.user_id = %s AND i.quarantined ORDER BY i.record_id""",
        graph.owner.user_id,
    )


def traces(text: str, hidden: Sequence[dict[str, Any]] = ()) -> set[str]:
    ids = [str(value) for record in hidden for value in record.values()]
    return {word for word in (*POISON, *ids) if word.lower() in text.lower()}
