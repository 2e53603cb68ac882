"""Stored conversations, embedders that differ, and the vectors in the tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.defs.shared.backfills import partition_of
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.records import Committed
from neurigraph_pipelines.model import Claims, ImportedConversation, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.in_context import CONTEXT_END
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import node_rows, schemas_of
from tests.support.segments import segments_of


class NamedEmbedder:
    """Implements ``ports.Embedder``: the sum of a random direction for each word, other directions in each model.

    Vectors of two models therefore have cosines near zero, whatever the texts. Counts the texts it was given.
    """

    prefix_trained = False
    is_remote = False
    max_tokens = 1_000_000

    def __init__(self, model: str, dimensions: int = 256) -> None:
        self.model = model
        self.dimensions = dimensions
        self.texts = 0

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        self.texts += len(texts)
        vectors = np.stack([sum(self._direction(word) for word in _words(text)) for text in texts])
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit

    def _direction(self, word: str) -> NDArray[np.float32]:
        seed = hashlib.sha256(f"{self.model}:{word}".encode()).digest()
        return np.random.default_rng(list(seed)).standard_normal(self.dimensions, dtype=np.float32)


class UnreachableEmbedder(NamedEmbedder):
    """The same model with its service down."""

    def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
        raise TransientError(f"{self.model} could not be reached")


def with_embedder(installation: Installation, embedder: Embedder) -> Context:
    """The context of an installation, with another embedder."""
    return installation.context.using(embedder=embedder)


def end_conversation(installation: Installation, user: User, external_id: str, *contents: str) -> None:
    """Put a whole conversation into the inbox."""
    inbox = Inbox(installation.context)
    messages = tuple(
        IncomingMessage(Role.USER, content, author="Bob", external_id=f"{external_id}-{number}")
        for number, content in enumerate(contents, start=1)
    )
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        inbox.add_conversations(tx, user.user_id, [ImportedConversation(external_id, messages)])
        source_id, _ = inbox.open_source(tx, user.user_id, SourceKind.CONVERSATION, external_id=external_id)
        inbox.end(tx, SourceKind.CONVERSATION, source_id)


def store(installation: Installation, context: Context) -> list[Committed]:
    """Run the pipeline until nothing is due."""
    return [record for result in run_due(context, "tests") for record in result.stored]


def ask(installation: Installation, embedder: Embedder, user: User, query: str) -> Found:
    """Search as the user, with all score components."""
    question = Question(query, explain=True)
    return search(installation.acting_for(Claims.of_user(user.user_id)).using(embedder=embedder), question)


def day_of_records(installation: Installation) -> str:
    """Return the partition of the newest record, which is another than the present one's around midnight (UTC)."""
    with installation.database.owner() as tx:
        row = tx.execute("SELECT max(created_at) AS newest FROM neurigraph.record_index").fetchone()
    assert row is not None
    return partition_of(row["newest"])


def records_of(installation: Installation, user: User) -> list[dict[str, Any]]:
    """The vectors of every record of a user: labels, the record's own, and those of its first passage."""
    found: list[dict[str, Any]] = []
    for schema in schemas_of(installation, user).values():
        found += node_rows(
            installation,
            schema,
            "SELECT record_id, summary, embedding, embedding_model, embedding_pending, embedding_next, "
            "embedding_next_model FROM {schema}.metadata_records",
        )
    segments = segments_of(installation, user)
    for record in found:
        segment = segments[record["record_id"]]
        in_use = segment.vectors if segment.vectors is not None else [None]
        following = segment.next_vectors if segment.next_vectors is not None else [None]
        record["passage"] = in_use[0]
        record["passage_next"] = following[0]
        assert segment.row["model"] == record["embedding_model"]
        assert segment.row["next_model"] == record["embedding_next_model"]
    return sorted(found, key=lambda record: record["record_id"])


def one(installation: Installation, query: str, *parameters: object) -> Any:
    """Return the single value of a query as the pipeline role."""
    with installation.database.pipeline() as tx:
        row = tx.execute(query.encode(), parameters).fetchone()
    assert row is not None
    (value,) = row.values()
    return value


def models_of(installation: Installation, user_id: UUID) -> tuple[str | None, str | None]:
    """Return the model in use and the next model of a user."""
    with installation.database.pipeline() as tx:
        row = tx.execute(
            "SELECT embedding_model, embedding_next_model FROM neurigraph.users WHERE user_id = %s", [user_id]
        ).fetchone()
    assert row is not None
    return row["embedding_model"], row["embedding_next_model"]


def _words(text: str) -> list[str]:
    text = text.rpartition(CONTEXT_END)[2]
    return text.lower().replace(".", " ").replace("?", " ").replace(":", " ").split() or ["(empty)"]
