"""The registry of embedding models: which there are, who uses them, and the figures of their last comparison.

The database registers a model when a user begins to use it or to move to it; ``embedding_models`` moves users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Database, Embedder

_QUERIES = statements("embedding_models")


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A model of the registry.

    Attributes:
        provider: The service that computes it; None if no process that has it has said so, as for ``dimensions``.
        stored_as: The form in which its vectors of passages are stored.
        status: ``active`` if users' searches compare its vectors, ``canary`` if a user moves to it or if it was
            compared since its last use, ``archived`` otherwise.
        users: How many users' searches compare its vectors.
        moving: How many users move to it.
        comparison: The figures of its last comparison, as ``model_comparison`` notes them.
    """

    model: str
    provider: str | None
    dimensions: int | None
    stored_as: Literal["float32", "half", "int8", "binary"]
    created_at: datetime
    status: Literal["active", "canary", "archived"]
    users: int
    moving: int
    compared_at: datetime | None
    comparison: dict[str, object] | None

    def labelled(self) -> dict[str, str | int]:
        """Return the columns of a table of models for it, by label."""
        return {
            "model": self.model,
            "status": self.status,
            "provider": self.provider or "unknown",
            "dimensions": self.dimensions or 0,
            "stored as": self.stored_as,
            "users": self.users,
            "moving": self.moving,
        }


def describe_model(database: Database, embedder: Embedder, provider: str) -> None:
    """Register an embedder's model, or its changed values."""
    values = {"model": embedder.model, "provider": provider, "dimensions": embedder.dimensions}
    with database.pipeline() as tx:
        tx.execute(_QUERIES["describe"], values)


def list_models(database: Database) -> list[EmbeddingModel]:
    """Return the models of the registry, the oldest first."""
    with database.pipeline() as tx:
        return [EmbeddingModel(**row) for row in tx.execute(_QUERIES["list"])]


def note_comparison(database: Database, model: str, comparison: Mapping[str, object]) -> None:
    """Note the figures of a registered model that was compared as a canary."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["note_comparison"], {"model": model, "comparison": Jsonb(dict(comparison))})
