"""The process of a peer: load memories, answer questions, and time the search call alone.

Runs in the peer's environment, where this project is not installed: it imports only the standard library, numpy and
psycopg. A peer's own calls are in its module; ``peers`` starts the process.

One JSON object a line, in and out: first ``{"database_url", "folder"}``, answered by ``{"by_api", "seconds"}`` once all
is loaded; then ``{"query", "limit"}``, each answered by ``{"numbers", "seconds"}``. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import psycopg
from psycopg import sql

USER = "8a1b6f0e-6a53-4b29-9a2f-0f6f3c5d7e11"
"""The user of all memories; every search is scoped to it."""

BY_API = 1_000
"""Number of memories added one by one through the peer's own calls; the rest are copied into its tables."""


class Corpus:
    """The memories and the questions of one graph, with the vectors of both."""

    def __init__(self, folder: Path) -> None:
        self.texts: list[str] = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
        self.vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        self.dimensions = int(self.vectors.shape[1])
        questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        known = np.load(folder / "question_vectors.npy").tolist()
        self._cached: dict[str, list[float]] = dict(zip(questions, known, strict=True))
        self._know(0, BY_API)

    def embed(self, text: str) -> list[float]:
        """Return the vector of a question, or of a memory that is added through the peer's own calls."""
        return self._cached[text]

    def rest_in_batches(self, size: int) -> Iterator[range]:
        """Return the numbers of the memories that are copied, for peers with a call for many; ``embed`` knows them."""
        for first in range(BY_API, len(self.texts), size):
            numbers = range(first, min(first + size, len(self.texts)))
            self._know(numbers.start, numbers.stop)
            yield numbers

    def rest(self) -> Iterator[tuple[int, str, str]]:
        """Return number, text and vector (in Postgres' text form) of the memories that are copied."""
        for number in range(BY_API, len(self.texts)):
            yield number, self.texts[number], json.dumps(self.vectors[number].tolist())

    def _know(self, first: int, end: int) -> None:
        self._cached.update(zip(self.texts[first:end], self.vectors[first:end].tolist(), strict=True))


class Peer(Protocol):
    """A memory system whose tables are set up and empty."""

    @property
    def tables(self) -> Sequence[str]:
        """The tables in which it keeps what it remembers; none if it keeps it elsewhere."""
        ...

    def add(self, number: int, text: str) -> None:
        """Store one text and its number through the peer's own call."""
        ...

    def copy(self, connection: psycopg.Connection[Any], corpus: Corpus) -> None:
        """Write the rest of the corpus directly to where it is kept, in the form in which ``add`` writes."""
        ...

    def search(self, query: str, limit: int) -> Any:
        """Call the peer's own search and nothing else; this is what is timed."""
        ...

    def numbers(self, found: Any) -> list[int]:
        """Return the numbers of the memories that a search found, best first."""
        ...


def serve(make: Callable[[str, Corpus], Peer]) -> None:
    """Load the memories named in the first line, then answer line by line until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints is no answer
    begin = json.loads(sys.stdin.readline())
    corpus = Corpus(Path(begin["folder"]))
    peer = make(begin["database_url"], corpus)
    print(json.dumps(_load(peer, corpus, begin["database_url"])), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        started = time.perf_counter()
        found = peer.search(asked["query"], asked["limit"])
        seconds = time.perf_counter() - started
        print(json.dumps({"numbers": peer.numbers(found), "seconds": seconds}), file=answers, flush=True)


def _load(peer: Peer, corpus: Corpus, database_url: str) -> dict[str, float]:
    first = corpus.texts[:BY_API]
    started = time.perf_counter()
    for number, text in enumerate(first):
        peer.add(number, text)
    seconds = time.perf_counter() - started
    with psycopg.connect(database_url, autocommit=True) as connection:
        if len(corpus.texts) > BY_API:
            with _vector_indexes_set_aside(connection, peer.tables):
                peer.copy(connection, corpus)
        for table in peer.tables:
            connection.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(table)))
    return {"by_api": len(first), "seconds": seconds}


@contextmanager
def _vector_indexes_set_aside(connection: psycopg.Connection[Any], tables: Sequence[str]) -> Iterator[None]:
    """Drop the peer's HNSW indexes during a load and rebuild them, which saves hours."""
    indexes = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = ANY(%s) AND indexdef LIKE '%% USING hnsw %%'",
        [list(tables)],
    ).fetchall()
    for name, _ in indexes:
        connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(name)))
    yield
    connection.execute("SET maintenance_work_mem = '4GB'")
    for _, definition in indexes:
        connection.execute(definition)
