"""Hindsight without models; runs in the environment of ``requirements/peer_hindsight.txt``.

Its provider "none" stores each text as it is, without facts by a language model, and its reranker "rrf" keeps the order
of reciprocal ranks: both are its own, and less work than with models. A recall searches three kinds of memories by
vectors (one HNSW index for each kind of a bank), words, links and times, and merges the four
(``hindsight_api/engine/memory_engine.py`` of 1.1.0). It returns as many as fit 4,096 tokens, best first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any

import psycopg
from hindsight_api import MemoryEngine, RequestContext
from hindsight_api.engine.cross_encoder import RRFPassthroughCrossEncoder
from hindsight_api.engine.embeddings import Embeddings
from sqlalchemy import event
from sqlalchemy.engine import Engine

from benchmarks.retrieval.peer_process import USER, Corpus, serve

_BATCH = 500


@event.listens_for(Engine, "before_cursor_execute", retval=True)
def _without_trigrams(
    _connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool
) -> tuple[str, Any]:
    """Leave out pg_trgm, which the packaged server lacks; it is for names of entities, and no model finds any here."""
    return "SELECT 1" if "trgm" in statement or "btree_gin" in statement else statement, parameters


class CachedEmbedding(Embeddings):  # type: ignore[misc]
    """Replaces Hindsight's embedding model."""

    provider_name = "cached"
    dimension = 0

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.dimension = corpus.dimensions

    async def initialize(self) -> None:
        """Nothing to load."""

    async def encode(self, texts: list[str]) -> list[list[float]]:
        """Return the known vectors of texts, to which a month is added when they are stored."""
        return [self._corpus.embed(text.partition(" (happened in ")[0]) for text in texts]


class Hindsight:
    """Implements ``peer_process.Peer``."""

    tables = ("memory_units", "memory_links", "documents", "chunks")

    def __init__(self, database_url: str, corpus: Corpus) -> None:
        self._loop = asyncio.new_event_loop()
        # In a thread, so that what a call leaves to the background is done before the next.
        Thread(target=self._loop.run_forever, daemon=True).start()
        self._engine = MemoryEngine(
            database_url.partition("?")[0],  # asyncpg does not know libpq's parameters
            memory_llm_provider="none",
            embeddings=CachedEmbedding(corpus),
            cross_encoder=RRFPassthroughCrossEncoder(),
        )
        self._run(self._engine.initialize())

    def add(self, number: int, text: str) -> None:
        """``MemoryEngine.retain_async`` of one document."""
        self._run(self._engine.retain_async(USER, text, document_id=str(number), request_context=RequestContext()))

    def copy(self, connection: psycopg.Connection[Any], corpus: Corpus) -> None:
        """``MemoryEngine.retain_batch_async``: its links of memories are too much to be made otherwise."""
        for numbers in corpus.rest_in_batches(_BATCH):
            contents = [{"content": corpus.texts[number], "document_id": str(number)} for number in numbers]
            self._run(self._engine.retain_batch_async(USER, contents, request_context=RequestContext()))

    def search(self, query: str, limit: int) -> Any:
        """``MemoryEngine.recall_async`` of the user's bank."""
        return self._run(self._engine.recall_async(USER, query, request_context=RequestContext())).results[:limit]

    def numbers(self, found: Any) -> list[int]:
        """The documents of the memories."""
        return [int(memory.document_id) for memory in found]

    def _run(self, call: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(call, self._loop).result()


if __name__ == "__main__":
    serve(Hindsight)
