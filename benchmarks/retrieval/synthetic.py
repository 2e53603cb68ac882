"""Synthetic graphs of any size, written directly into the tables: vectors around topics, lexemes by Zipf's law.

They need no model and no pipeline, because only search is measured on them. The tables' triggers keep registries and
statistics, so these graphs are complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import NodeRef, create_user, resolve_path
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.model import Claims, ConceptKind, PlannedNode, Role, Voice
from neurigraph_pipelines.text.lexemes import window_lengths
from neurigraph_pipelines.text.search_segments import SearchSegment, Spoken, Words, pack_vectors
from neurigraph_pipelines.wiring.installation import Installation

MODEL = "synthetic"
DIMENSIONS = 384
MESSAGES_OF_RECORD = 20
WORDS_OF_MESSAGE = 15
VOCABULARY = 30_000
"""Number of common words; each topic has its own words in addition."""

TOPIC_VOCABULARY = 300
NODES_OF_CONNECTION = 50
"""Nodes created over one connection, because each new node makes it search its cached metadata of all tables."""

SPREAD = 1.2
"""Length of the noise that is added to a topic's unit vector for a message."""

_START = datetime(2020, 1, 1, tzinfo=UTC)
_SOURCE_COLUMNS = "source_id, user_id, kind, external_id"
_RECORD_COLUMNS = (
    "record_id, title, summary, embedding, embedding_model, content_type, trigger_type, source_kind, source_id, "
    "first_message, last_message, content_hash, occurred_at"
)
_SEGMENT_COLUMNS = "record_id, user_id, node_id, passages, words, speakers, languages, content, vectors, model"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about one message: its words, its vector, and the message that it is about.

    Attributes:
        number: The row of the message in the graph's ``vectors`` and ``texts``.
    """

    text: str
    vector: NDArray[np.float32]
    record_id: UUID
    seq: int
    number: int


@dataclass(frozen=True, slots=True)
class Graph:
    """A user with memories, and questions about them."""

    claims: Claims
    memories: int
    nodes: int
    vectors: NDArray[np.float32]
    texts: list[str]
    questions: list[Asked]


class SyntheticEmbedder:
    """Implements ``ports.Embedder`` for questions whose vectors are known."""

    model = MODEL
    dimensions = DIMENSIONS
    prefix_trained = False
    is_remote = False
    max_tokens = 1_000

    def __init__(self, questions: Sequence[Asked]) -> None:
        self._vectors = {question.text: question.vector for question in questions}

    def embed(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        """Return the vectors of questions."""
        return np.stack([self._vectors[text] for text in texts])


def make_graph(installation: Installation, slug: str, memories: int, nodes: int, questions: int = 200) -> Graph:
    """Create a user with ``memories`` messages in ``nodes`` topics with sizes proportional to one over their rank."""
    random = np.random.default_rng(memories)
    user, _ = create_user(installation.database, slug)
    sizes = 1 / np.arange(1, nodes + 1) ** 0.7
    records = np.maximum(1, np.round(sizes / sizes.sum() * memories / MESSAGES_OF_RECORD)).astype(int)
    everything: list[NDArray[np.float32]] = []
    texts: list[str] = []
    asked: list[Asked] = []
    for first in range(0, nodes, NODES_OF_CONNECTION):
        with psycopg.connect(installation.administrator_url) as connection:
            register_vector(connection)
            connection.execute("SET synchronous_commit = off")
            for number in range(first, min(first + NODES_OF_CONNECTION, nodes)):
                count = int(records[number])
                with installation.database.owner() as tx:
                    name = f"Area{number % 20}" if number < 20 else f"Topic{number}"
                    path = (name,) if number < 20 else (f"Area{number % 20}", name)
                    planned = [PlannedNode(path[: depth + 1], ConceptKind.TOPIC, 1.0) for depth in range(len(path))]
                    node = resolve_path(tx, user.user_id, slug, path, planned)
                share = max(1, round(questions * count / records.sum()))
                vectors = _fill(connection, user.user_id, node, _Topic(random, number), count, texts, asked, share)
                centroid = np.pad(vectors.mean(axis=0), (0, 1536 - DIMENSIONS))
                connection.execute(
                    "UPDATE neurigraph.graph_index SET record_count = %s, embedded_count = %s, centroid = %s "
                    "WHERE node_id = %s",
                    [count, count, Vector(centroid), node.node_id],
                )
                connection.commit()
                everything.append(vectors)
        installation.database.close()
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.users SET embedding_model = %s WHERE user_id = %s", [MODEL, user.user_id])
    random.shuffle(asked)
    return Graph(
        Claims.of_user(user.user_id), sum(map(len, everything)), nodes, np.concatenate(everything), texts, asked
    )


class _Topic:
    """The distribution of messages about one topic."""

    def __init__(self, random: np.random.Generator, number: int) -> None:
        self._random = random
        self._center = _unit(random.standard_normal(DIMENSIONS, dtype=np.float32))
        self._own = np.array([f"topic{number}word{i}" for i in range(TOPIC_VOCABULARY)])

    def vectors(self, count: int) -> NDArray[np.float32]:
        """Return ``(count, DIMENSIONS)`` unit vectors around the topic's vector."""
        noise = self._random.standard_normal((count, DIMENSIONS), dtype=np.float32) / np.sqrt(DIMENSIONS)
        return _unit(self._center + np.float32(SPREAD) * noise)

    def words(self, count: int) -> list[list[str]]:
        """Return the words of messages: four of five from the common vocabulary, the others from the topic's own."""
        common = (self._random.zipf(1.2, (count, WORDS_OF_MESSAGE)) - 1) % VOCABULARY
        own = (self._random.zipf(1.3, (count, WORDS_OF_MESSAGE)) - 1) % TOPIC_VOCABULARY
        is_own = self._random.random((count, WORDS_OF_MESSAGE)) < 0.2
        return [
            [self._own[o] if mine else f"word{c}" for c, o, mine in zip(*row, strict=True)]
            for row in zip(common, own, is_own, strict=True)
        ]


def _fill(
    connection: psycopg.Connection[Any],
    user_id: UUID,
    node: NodeRef,
    topic: _Topic,
    records: int,
    texts: list[str],
    asked: list[Asked],
    share: int,
) -> NDArray[np.float32]:
    """Write the records of one node, add their texts and some questions, and return the vectors."""
    schema, node_id = sql.Identifier(node.schema_name), node.node_id
    count = records * MESSAGES_OF_RECORD
    vectors, words = topic.vectors(count), topic.words(count)
    ids = [uuid4() for _ in range(records)]
    with connection.cursor() as cursor:
        _copy(cursor, sql.Identifier("neurigraph"), "sources", _SOURCE_COLUMNS, _sources(ids, user_id))
        _copy(cursor, schema, "metadata_records", _RECORD_COLUMNS, _records(ids, vectors, words))
        segments = _segments(ids, user_id, node_id, vectors, words)
        _copy(cursor, sql.Identifier("neurigraph"), "segments", _SEGMENT_COLUMNS, segments)
    random = np.random.default_rng(count)
    for index in random.choice(count, min(share, count), replace=False):
        chosen = sorted(set(words[index]), key=len)[-5:]
        noise = random.standard_normal(DIMENSIONS).astype(np.float32) / np.float32(np.sqrt(DIMENSIONS))
        asked.append(
            Asked(
                f"what about {' '.join(chosen)} in {index}",
                _unit(vectors[index] + np.float32(0.7) * noise),
                ids[index // MESSAGES_OF_RECORD],
                int(index) % MESSAGES_OF_RECORD + 1,
                len(texts) + int(index),
            )
        )
    texts.extend(" ".join(message) for message in words)
    return vectors


def _copy(
    cursor: psycopg.Cursor[Any], schema: sql.Identifier, table: str, columns: str, rows: Iterator[tuple[Any, ...]]
) -> None:
    """Copy rows in binary form, which costs half the processor time of vectors as text."""
    target = {"table": sql.SQL("{}.{}").format(schema, sql.Identifier(table)), "columns": sql.SQL(columns)}
    described = cursor.execute(sql.SQL("SELECT {columns} FROM {table} LIMIT 0").format(**target)).description
    with cursor.copy(sql.SQL("COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)").format(**target)) as copy:
        # An enum that psycopg does not know is sent as its label.
        copy.set_types(
            [one.type_code if cursor.adapters.types.get(one.type_code) else "text" for one in described or ()]
        )
        for row in rows:
            copy.write_row(row)


def _sources(ids: Sequence[UUID], user_id: UUID) -> Iterator[tuple[Any, ...]]:
    for source_id in ids:
        yield source_id, user_id, "conversation", str(source_id)


def _records(
    ids: Sequence[UUID], vectors: NDArray[np.float32], words: Sequence[Sequence[str]]
) -> Iterator[tuple[Any, ...]]:
    for number, record_id in enumerate(ids):
        rows = slice(number * MESSAGES_OF_RECORD, (number + 1) * MESSAGES_OF_RECORD)
        summary = " ".join(word for message in words[rows] for word in message[:5])
        yield (
            record_id,
            summary[:60],
            summary,
            Vector(np.pad(_unit(vectors[rows].mean(axis=0)), (0, 1536 - DIMENSIONS))),
            MODEL,
            "conversation",
            "conversation_end",
            "conversation",
            record_id,
            1,
            MESSAGES_OF_RECORD,
            record_id.bytes * 2,
            _START + timedelta(hours=number),
        )


def _segments(
    ids: Sequence[UUID], user_id: UUID, node_id: UUID, vectors: NDArray[np.float32], words: Sequence[Sequence[str]]
) -> Iterator[tuple[Any, ...]]:
    lengths = window_lengths([WORDS_OF_MESSAGE] * MESSAGES_OF_RECORD)
    for number, record_id in enumerate(ids):
        rows = slice(number * MESSAGES_OF_RECORD, (number + 1) * MESSAGES_OF_RECORD)
        segment = SearchSegment.of(
            [_spoken(seq, message, lengths[seq - 1]) for seq, message in enumerate(words[rows], start=1)]
        )
        columns = columns_of(segment, (), "english")
        yield record_id, user_id, node_id, *columns.values(), pack_vectors(vectors[rows]), MODEL


def _spoken(seq: int, message: Sequence[str], window_length: float) -> Spoken:
    counted = Counter(message)
    role, voice = (Role.USER, Voice.OWNER) if seq % 2 else (Role.ASSISTANT, Voice.ASSISTANT)
    words = Words(list(counted), list(counted.values()), len(message))
    return Spoken(seq, seq, None, None, None, role, voice, words, 0, window_length)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
    return unit
