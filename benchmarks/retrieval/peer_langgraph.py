"""LangGraph's ``PostgresStore``; runs in the environment of ``requirements/peer_langgraph.txt``.

``setup`` creates an HNSW index over the vectors, its default kind. A search joins the vectors of a namespace, and of
all namespaces below it, to their documents, nearest first (``langgraph/store/postgres/base.py`` of
langgraph-checkpoint-postgres 3.2.0).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import psycopg
from langgraph.store.postgres import PostgresStore
from psycopg.rows import dict_row

from benchmarks.retrieval.peer_process import USER, Corpus, serve

NAMESPACE = (USER, "memories")
PREFIX = ".".join(NAMESPACE)


class LangGraph:
    """Implements ``peer_process.Peer``."""

    tables = ("store", "store_vectors")

    def __init__(self, database_url: str, corpus: Corpus) -> None:
        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [corpus.embed(text) for text in texts]

        index = {
            "dims": corpus.dimensions,
            "embed": embed,
            "fields": ["text"],
            "ann_index_config": {"kind": "hnsw", "vector_type": "vector"},
            "distance_type": "cosine",
        }
        # As PostgresStore.from_conn_string connects.
        connection = psycopg.connect(database_url, autocommit=True, prepare_threshold=0, row_factory=dict_row)
        self._store = PostgresStore(connection, index=index)
        self._store.setup()

    def add(self, number: int, text: str) -> None:
        """``PostgresStore.put`` of one document."""
        self._store.put(NAMESPACE, str(number), {"text": text})

    def copy(self, connection: psycopg.Connection[Any], corpus: Corpus) -> None:
        """Rows as ``_prepare_batch_PUT_queries`` makes them."""
        with connection.cursor().copy("COPY store (prefix, key, value) FROM STDIN") as copy:
            for number, text, _ in corpus.rest():
                copy.write_row((PREFIX, str(number), json.dumps({"text": text})))
        with connection.cursor().copy("COPY store_vectors (prefix, key, field_name, embedding) FROM STDIN") as copy:
            for number, _, vector in corpus.rest():
                copy.write_row((PREFIX, str(number), "text", vector))

    def search(self, query: str, limit: int) -> Any:
        """``PostgresStore.search`` below the user's namespace."""
        return self._store.search(NAMESPACE, query=query, limit=limit)

    def numbers(self, found: Any) -> list[int]:
        """The keys of the documents."""
        return [int(item.key) for item in found]


if __name__ == "__main__":
    serve(LangGraph)
