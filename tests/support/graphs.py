"""Graphs whose shape changes: access to nodes and records, and a check of consistency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from neurigraph_pipelines.graph.naming import name_key
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.corpus import counted, held
from tests.support.memories import (
    WordEmbedder,
    converse,
    ingest,
    new_user,
    node_rows,
    plain_context,
    rows,
    schemas_of,
    stored,
)


@dataclass(frozen=True, slots=True)
class Graph:
    """The graph of one user."""

    here: Installation
    user: User
    claims: Claims

    def remember(self, *memories: str) -> list[UUID]:
        """Store memories, each a text such as ``#Family/Dave He likes boats.``; returns their records in order."""
        sources = [converse(self.here, self.claims, memory) for memory in memories]
        done = ingest(plain_context(self.here), self.user)
        results = stored(done)
        assert len(results) == len(memories), done
        found = rows(
            self.here,
            "SELECT source_id, record_id FROM neurigraph.record_index WHERE source_id = ANY(%s)",
            sources,
        )
        by_source = {row["source_id"]: row["record_id"] for row in found}
        return [by_source[source] for source in sources]

    def node(self, path: str) -> UUID:
        """Return the node at a path below the root."""
        with self.here.database.agent(self.claims) as tx:
            return find_node(tx, self.user.user_id, path)

    def shell(self, path: str) -> dict[str, Any]:
        """Return the shell of the node at a path."""
        (row,) = rows(self.here, "SELECT * FROM neurigraph.graph_index WHERE node_id = %s", self.node(path))
        return row

    @property
    def paths(self) -> dict[UUID, str]:
        """Return the paths of all nodes by id; the root's is empty."""
        found = rows(
            self.here,
            """SELECT g.node_id, (SELECT array_agg(a.node_name ORDER BY a.layer_depth)
            FROM neurigraph.graph_index AS a WHERE a.node_id = ANY(g.path)) AS names
            FROM neurigraph.graph_index AS g WHERE g.user_id = %s""",
            self.user.user_id,
        )
        return {row["node_id"]: "/".join(row["names"][1:]) for row in found}

    @property
    def records(self) -> dict[UUID, str]:
        """Return the path of each record's node."""
        paths = self.paths
        found = rows(
            self.here, "SELECT record_id, node_id FROM neurigraph.record_index WHERE user_id = %s", self.user.user_id
        )
        return {row["record_id"]: paths[row["node_id"]] for row in found}

    @property
    def edges(self) -> set[tuple[str, str, str]]:
        """Return all edges as (from, to, relation)."""
        found = rows(self.here, "SELECT * FROM neurigraph.node_edges WHERE user_id = %s", self.user.user_id)
        paths = self.paths
        return {(paths[row["from_node_id"]], paths[row["to_node_id"]], row["relation"]) for row in found}

    def find(self, word: str) -> dict[UUID, str]:
        """Return the stored records that a search for a word finds, with their paths."""
        answer = search(self.here.acting_for(self.claims).using(embedder=WordEmbedder()), Question(word, limit=50))
        return {hit.key: str(hit.node_path).partition("/")[2] for hit in answer.hits if hit.stored}

    def check(self) -> None:
        """Assert that all derived data equals what the records and nodes imply."""
        assert verify(self.here.context, user_id=self.user.user_id).findings == []
        assert counted(self.here, self.user) == held(self.here, self.user)
        self._check_objects()
        nodes = rows(self.here, "SELECT * FROM neurigraph.graph_index WHERE user_id = %s", self.user.user_id)
        places = {node["node_id"]: node for node in nodes}
        for node in nodes:
            parent = places.get(node["parent_node_id"])
            assert node["path"] == [*(parent["path"] if parent else []), node["node_id"]]
            assert node["layer_depth"] == len(node["path"]) - 1 <= 5
            assert node["name_key"] == name_key(node["node_name"])
            self._check_centroid(node)
        self._check_schemas({node["schema_name"] for node in nodes})
        for table, column in (("compression_state_log", "file_id"), ("pending_embeddings", "record_id")):
            index = "file_index" if column == "file_id" else "record_index"
            astray = rows(
                self.here,
                f"SELECT FROM neurigraph.{table} AS t JOIN neurigraph.{index} AS i USING ({column}) "
                "WHERE t.user_id = %s AND t.node_id <> i.node_id",
                self.user.user_id,
            )
            assert not astray, table
        self._check_history()

    def _check_centroid(self, node: dict[str, Any]) -> None:
        vectors = node_rows(
            self.here,
            node["schema_name"],
            "SELECT embedding FROM {schema}.metadata_records WHERE NOT embedding_pending",
        )
        if not vectors:
            assert node["centroid"] is None
            return
        mean = np.mean([row["embedding"].to_numpy() for row in vectors], axis=0)
        assert np.allclose(node["centroid"].to_numpy(), mean, atol=1e-5)

    def _check_objects(self) -> None:
        """Assert that files and durable objects match one to one."""
        named = {
            row["storage_path"]
            for schema in schemas_of(self.here, self.user).values()
            for row in node_rows(self.here, schema, "SELECT storage_path FROM {schema}.file_manifest")
        }
        assert set(self.here.objects.keys(f"durable/{self.user.slug}/")) == named

    def _check_schemas(self, named: set[str]) -> None:
        """Assert that schemas and nodes match one to one."""
        tables = rows(
            self.here,
            "SELECT n.nspname FROM pg_class AS c JOIN pg_namespace AS n ON c.relnamespace = n.oid "
            "JOIN pg_trigger AS t ON t.tgrelid = c.oid "
            "WHERE c.relname = 'metadata_records' AND t.tgname = 'register_record' "
            "AND encode(t.tgargs, 'escape') LIKE %s",
            f"%{self.user.user_id}%",
        )
        assert {table["nspname"] for table in tables} == named

    def _check_history(self) -> None:
        """Assert that each record's deltas join, and that the newest names its node."""
        for record_id, path in self.records.items():
            deltas = rows(
                self.here,
                "SELECT delta_payload AS d FROM neurigraph.delta_log WHERE record_id = %s AND "
                "delta_payload -> 'after' ? 'node_id' ORDER BY w_coordinate",
                record_id,
            )
            places = [delta["d"]["after"]["node_id"] for delta in deltas]
            assert places[:-1] == [delta["d"]["before"]["node_id"] for delta in deltas[1:]]
            assert self.paths[UUID(places[-1])] == path


def new_graph(here: Installation) -> Graph:
    """Return the empty graph of a new user."""
    return Graph(here, *new_user(here))
