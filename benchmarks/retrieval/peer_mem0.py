"""mem0ai on pgvector, added to with ``infer=False``; runs in the environment of ``requirements/peer_mem0.txt``.

Its collection has an HNSW index by default (``hnsw=True``, cosine) and an index of words. A search combines a vector
search for four times the limit, at least 60, with a word search (``mem0/memory/main.py``,
``mem0/vector_stores/pgvector.py`` of 2.2.1). Without spaCy's models, which no package registry has, it uses the words
unchanged and looks for no entities, which is less work.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import uuid4

import psycopg
from mem0 import Memory
from mem0.utils.lemmatization import lemmatize_for_bm25

from benchmarks.retrieval.peer_process import USER, Corpus, serve


class CachedEmbedding:
    """Replaces mem0's embedder."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the known vector of a text."""
        return self._corpus.embed(text)


class Mem0:
    """Implements ``peer_process.Peer``."""

    tables = ("memories",)

    def __init__(self, database_url: str, corpus: Corpus) -> None:
        store = {
            "connection_string": database_url,
            "collection_name": "memories",
            "embedding_model_dims": corpus.dimensions,
            "hnsw": True,
        }
        model = {"provider": "openai", "config": {"api_key": "never used"}}
        self._memory = Memory.from_config(
            {"vector_store": {"provider": "pgvector", "config": store}, "llm": model, "embedder": model}
        )
        self._memory.embedding_model = CachedEmbedding(corpus)

    def add(self, number: int, text: str) -> None:
        """``Memory.add`` of one user's message."""
        self._memory.add(text, user_id=USER, infer=False, metadata={"number": number})

    def copy(self, connection: psycopg.Connection[Any], corpus: Corpus) -> None:
        """Rows as ``Memory._create_memory`` makes them, all but the history that no search reads."""
        row = connection.execute("SELECT payload FROM memories LIMIT 1").fetchone()
        assert row is not None
        with connection.cursor().copy("COPY memories (id, vector, payload) FROM STDIN") as copy:
            for number, text, vector in corpus.rest():
                own = {
                    "number": number,
                    "data": text,
                    "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
                    "text_lemmatized": lemmatize_for_bm25(text),
                }
                copy.write_row((uuid4(), vector, json.dumps(row[0] | own)))

    def search(self, query: str, limit: int) -> Any:
        """``Memory.search`` of the user's."""
        return self._memory.search(query, top_k=limit, filters={"user_id": USER})

    def numbers(self, found: Any) -> list[int]:
        """Return the numbers stored as metadata."""
        return [memory["metadata"]["number"] for memory in found["results"]]


if __name__ == "__main__":
    serve(Mem0)
