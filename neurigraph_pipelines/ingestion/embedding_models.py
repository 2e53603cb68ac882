"""Which model's vectors a user's searches compare, and moving a user from one model to another.

Vectors bear the name of their model, and a user has one model in use: searches compare a question's vector with
vectors of that model alone. While a user moves, vectors of the next model are written beside those in use; once every
record has them, one transaction makes the next model the one in use. After that, what lay beside takes its place,
record by record, and searches read it from either place. Making vectors is for ``reembed``.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.errors import NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.provisioning import upgrade_node
from neurigraph_pipelines.graph.shell import set_centroid
from neurigraph_pipelines.history import authored, pipeline_author
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import statements

_SETTLED_AT_ONCE = 100
_QUERIES = statements("embeddings")


@dataclass(frozen=True, slots=True)
class UserModels:
    """The model in use, and the one that the user is moving to, if any."""

    current: str
    following: str | None

    def adopt(self, model: str) -> bool:
        """Whether vectors of a model may be written: searches use them, or will after the switch."""
        return model in (self.current, self.following)


def lock_models(tx: Transaction, user_id: UUID, model: str) -> UserModels:
    """A user's models, which stay as they are until the transaction ends; the first to come is the one in use.

    Args:
        tx: Of the pipeline.
        user_id: Whose.
        model: Becomes the one in use if there is none yet.
    """
    tx.execute(_QUERIES["adopt_model"], {"user_id": user_id, "model": model})
    row = tx.execute(_QUERIES["models"], {"user_id": user_id}).fetchone()
    assert row is not None
    return UserModels(row["embedding_model"], row["embedding_next_model"])


def begin_moves(database: Database, user_ids: Iterable[UUID], model: str) -> None:
    """Note that users are on the way to a model; nothing happens to those who use it already."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["begin_move"], {"user_ids": sorted(user_ids), "model": model})


@dataclass(frozen=True, slots=True)
class Move:
    """How far a user's move has come.

    Attributes:
        missing: Records that still have vectors of another model alone; 0 once searches use the new one.
        settled: Records whose vectors took their place just now.
    """

    user_id: UUID
    missing: int
    settled: int


def finish_moves(
    database: Database, model: str, user_id: UUID | None = None, *, only_switched: bool = False
) -> list[Move]:
    """Switch every user on the way to ``model`` whose records all have its vectors, and tidy up after them.

    May be cut off anywhere and run again, or run twice at once.

    Args:
        database: Works as the pipeline.
        model: The model that users are moving to.
        user_id: Only this user.
        only_switched: Only tidy up after switches: looking whether all records are ready reads all of them.
    """
    with database.pipeline() as tx:
        moving = tx.execute(_QUERIES["moving_users"], {"model": model, "user_id": user_id}).fetchall()
    moves = []
    for row in moving:
        if only_switched and row["embedding_model"] != model:
            continue
        missing = 0 if row["embedding_model"] == model else _switch(database, row["user_id"], model)
        moves.append(Move(row["user_id"], missing, 0 if missing else _settle(database, row["user_id"])))
    return moves


def _switch(database: Database, user_id: UUID, model: str) -> int:
    """Make the next model the one in use, for all nodes at once; or say how many records it still lacks."""
    missing = _missing(database, user_id, model)
    if missing:
        return missing
    with database.pipeline() as tx:
        # Commits of this user wait from here on, so that none can add a record without vectors of the next model.
        models = tx.execute(_QUERIES["lock_models"], {"user_id": user_id}).fetchone()
        if models is None or models["embedding_next_model"] != model:
            return 0  # forgotten, or on the way elsewhere
        nodes = []
        for node in _nodes(tx, user_id):
            readiness = _QUERIES["readiness"].format(schema=sql.Identifier(node["schema_name"]))
            found = tx.execute(readiness, {"model": model}).fetchone()
            assert found is not None
            missing += int(found["missing"])
            nodes.append((node["node_id"], found["embedded"], found["centroid"]))
        if missing:
            return missing
        for node_id, embedded, centroid in nodes:
            set_centroid(tx, node_id, embedded, centroid)
        tx.execute(_QUERIES["switch_model"], {"user_id": user_id})
    return 0


def _settle(database: Database, user_id: UUID) -> int:
    """Bring the vectors in use to their place and drop those of abandoned moves; each record by itself."""
    settled = 0
    while True:
        with database.pipeline() as tx:
            nodes = _nodes(tx, user_id)
        for node in nodes:
            with suppress(NotFoundError):  # what was removed meanwhile has left its records elsewhere
                settled += _settle_node(database, user_id, sql.Identifier(node["schema_name"]))
        with database.pipeline() as tx:
            lock_graph_shared(tx, user_id)  # a record may have moved to a node that was done
            if _settling(tx.execute(_QUERIES["lock_models"], {"user_id": user_id}).fetchone()) is None:
                return settled
            if not any(_unsettled(tx, sql.Identifier(node["schema_name"])) for node in _nodes(tx, user_id)):
                tx.execute(_QUERIES["end_move"], {"user_id": user_id})
                return settled


def _settle_node(database: Database, user_id: UUID, schema: sql.Identifier) -> int:
    settled = 0
    while True:
        with database.pipeline() as tx:
            rows = _unsettled(tx, schema)
        for row in rows:
            with database.pipeline() as tx:
                model = _settling(tx.execute(_QUERIES["models"], {"user_id": user_id}).fetchone())
                if model is None:
                    return settled
                authored(tx, pipeline_author(model))
                settled += tx.execute(
                    _QUERIES["settle_record"].format(schema=schema), {"record_id": row["record_id"], "model": model}
                ).rowcount
        if len(rows) < _SETTLED_AT_ONCE:
            return settled


def _settling(models: dict[str, Any] | None) -> str | None:
    """The model whose vectors take their place; None for a user who was forgotten, or is on the way elsewhere."""
    if models is None or models["embedding_model"] != models["embedding_next_model"]:
        return None
    return str(models["embedding_model"])


def _unsettled(tx: Transaction, schema: sql.Identifier) -> list[dict[str, Any]]:
    return tx.execute(_QUERIES["with_next"].format(schema=schema), {"limit": _SETTLED_AT_ONCE}).fetchall()


def _missing(database: Database, user_id: UUID, model: str) -> int:
    """How many records have vectors, but none of a model.

    Brings every node to the current DDL on the way; no lock outlives a node.
    """
    missing = 0
    with database.pipeline() as tx:
        nodes = _nodes(tx, user_id)
    for node in nodes:
        # What a node held that was removed meanwhile is counted once more by whoever switches.
        with suppress(NotFoundError), database.pipeline() as tx:
            upgrade_node(tx, node["node_id"], node["schema_name"])
            row = tx.execute(
                _QUERIES["missing"].format(schema=sql.Identifier(node["schema_name"])), {"model": model}
            ).fetchone()
            assert row is not None
            missing += int(row["missing"])
    return missing


def _nodes(tx: Transaction, user_id: UUID) -> list[dict[str, Any]]:
    return tx.execute(_QUERIES["nodes_with_records"], {"user_id": user_id}).fetchall()
