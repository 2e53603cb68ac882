"""Corpus statistics as stored, and the same computed from the passages."""

from __future__ import annotations

from collections import Counter
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows


def counted(installation: Installation, user: User) -> dict[str, Any]:
    """Return the stored statistics."""
    (totals,) = rows(
        installation, "SELECT passages, lexemes FROM neurigraph.user_statistics WHERE user_id = %s", user.user_id
    ) or [{"passages": 0, "lexemes": 0}]
    per_node = "SELECT node_id, passages, lexemes FROM neurigraph.node_statistics WHERE user_id = %s AND passages > 0"
    lexemes = "SELECT lexeme, passages FROM neurigraph.user_lexemes WHERE user_id = %s"
    node_lexemes = "SELECT node_id, lexeme, passages FROM neurigraph.node_lexemes WHERE user_id = %s"
    return {
        "totals": (totals["passages"], totals["lexemes"]),
        "nodes": {
            row["node_id"]: (row["passages"], row["lexemes"]) for row in rows(installation, per_node, user.user_id)
        },
        "lexemes": {row["lexeme"]: row["passages"] for row in rows(installation, lexemes, user.user_id)},
        "node lexemes": {
            (row["node_id"], row["lexeme"]): row["passages"] for row in rows(installation, node_lexemes, user.user_id)
        },
    }


def held(installation: Installation, user: User) -> dict[str, Any]:
    """Compute the same statistics from the passages."""
    nodes: dict[UUID, tuple[int, int]] = {}
    of_node: Counter[tuple[UUID, str]] = Counter()
    for row in rows(
        installation, "SELECT node_id, schema_name FROM neurigraph.graph_index WHERE user_id = %s", user.user_id
    ):
        query = sql.SQL("SELECT author, lexemes, lexeme_count FROM {}.passages").format(
            sql.Identifier(row["schema_name"])
        )
        with installation.database.pipeline() as tx:
            found = tx.execute(query).fetchall()
        if found:
            nodes[row["node_id"]] = (len(found), sum(passage["lexeme_count"] for passage in found))
        for passage in found:
            speaker = [f"@{passage['author'].lower()}"] if passage["author"] else []
            of_node.update((row["node_id"], lexeme) for lexeme in (*passage["lexemes"], *speaker))
    of_user: Counter[str] = Counter()
    for (_, lexeme), number in of_node.items():
        of_user[lexeme] += number
    return {
        "totals": (sum(n for n, _ in nodes.values()), sum(n for _, n in nodes.values())),
        "nodes": nodes,
        "lexemes": dict(of_user),
        "node lexemes": dict(of_node),
    }
