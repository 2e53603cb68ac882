"""MemPalace on Chroma, its default; runs in the environment of ``requirements/peer_mempalace.txt``.

Chroma keeps an HNSW index (cosine) and SQLite in a folder and runs in this process, so no search calls a server. A
search opens the collection, takes four times the limit of the wing's nearest drawers, and orders them by nearness and
words (``mempalace/searcher/query.py`` of 3.11.0). There are no closets, which its miner makes of whole files.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mempalace.embedding
import numpy as np
import psycopg
from mempalace.config import MempalaceConfig
from mempalace.miner import add_drawer
from mempalace.palace import get_collection
from mempalace.searcher import search_memories
from numpy.typing import NDArray

from benchmarks.retrieval.peer_process import USER, Corpus, serve

_BATCH = 1_000


class CachedEmbedding:
    """Replaces MemPalace's embedding function."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def __call__(self, input: list[str]) -> list[NDArray[np.float32]]:  # noqa: A002 - Chroma demands the name
        """Return the known vectors of texts."""
        return [np.asarray(self._corpus.embed(text), dtype=np.float32) for text in input]

    def embed_query(self, input: list[str]) -> list[NDArray[np.float32]]:  # noqa: A002
        """Return the known vectors of questions."""
        return self(input)

    def name(self) -> str:
        """Return the name of Chroma's own function, as all of MemPalace's do."""
        return "default"


@dataclass(slots=True)
class Drawers:
    """Takes the place of a collection, to keep what ``add_drawer`` would write."""

    documents: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    metadatas: list[dict[str, Any]] = field(default_factory=list)

    def upsert(self, documents: list[str], ids: list[str], metadatas: list[dict[str, Any]]) -> None:
        """Keep them."""
        self.documents += documents
        self.ids += ids
        self.metadatas += metadatas


class MemPalace:
    """Implements ``peer_process.Peer``."""

    tables = ()

    def __init__(self, database_url: str, corpus: Corpus) -> None:
        embedding = CachedEmbedding(corpus)
        mempalace.embedding.get_embedding_function = lambda *_, **__: embedding
        self._palace = MempalaceConfig().palace_path
        self._drawers = get_collection(self._palace)

    def add(self, number: int, text: str) -> None:
        """``add_drawer`` of one text, whose source is its number."""
        _add(self._drawers, number, text)

    def copy(self, connection: psycopg.Connection[Any], corpus: Corpus) -> None:
        """Drawers as ``add_drawer`` makes them, many in a call as its miner writes them."""
        for numbers in corpus.rest_in_batches(_BATCH):
            drawers = Drawers()
            for number in numbers:
                _add(drawers, number, corpus.texts[number])
            self._drawers.upsert(documents=drawers.documents, ids=drawers.ids, metadatas=drawers.metadatas)

    def search(self, query: str, limit: int) -> Any:
        """``search_memories`` of the user's wing."""
        return search_memories(query, self._palace, wing=USER, n_results=limit)

    def numbers(self, found: Any) -> list[int]:
        """The sources of the drawers."""
        return [int(drawer["source_path"]) for drawer in found["results"]]


def _add(collection: Any, number: int, text: str) -> None:
    add_drawer(collection, USER, "memories", text, str(number), chunk_index=0, agent="benchmark")


if __name__ == "__main__":
    serve(MemPalace)
