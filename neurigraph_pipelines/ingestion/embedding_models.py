"""The embedding model of each user, and moving a user from one model to another.

Every vector stores its model's name. A user has one current model, and searches compare only vectors of that model.
During a move, vectors of the next model are written to separate columns. Once every record has them, one transaction
makes the next model the current one. Then each record's next vectors are copied into the main columns; meanwhile
searches read either. ``reembed`` computes the vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import authored, pipeline_author
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.graph.provisioning import require_node
from neurigraph_pipelines.graph.shell import set_centroid
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

_FINISHED_AT_ONCE = 100
_QUERIES = statements("embeddings")


@dataclass(frozen=True, slots=True)
class UserModels:
    """A user's current model, and the model that the user is moving to, if any."""

    current: str
    following: str | None

    def adopt(self, model: str) -> bool:
        """Return whether vectors of ``model`` may be written: searches use them now or after the switch."""
        return model in (self.current, self.following)


def lock_models(tx: Transaction, user_id: UUID, model: str) -> UserModels:
    """Lock and return a user's models until the transaction ends.

    Args:
        tx: A transaction of the pipeline.
        user_id: The user.
        model: Becomes the current model if the user has none yet.
    """
    tx.execute(_QUERIES["adopt_model"], {"user_id": user_id, "model": model})
    (row,) = tx.execute(_QUERIES["models"], {"user_id": user_id})
    return UserModels(row["embedding_model"], row["embedding_next_model"])


def begin_moves(database: Database, user_ids: Iterable[UUID], model: str) -> None:
    """Mark users as moving to a model, except those who use it already."""
    with database.pipeline() as tx:
        tx.execute(_QUERIES["begin_move"], {"user_ids": sorted(user_ids), "model": model})


@dataclass(frozen=True, slots=True)
class ModelMove:
    """The progress of a user's move.

    Attributes:
        missing: Records that still have vectors of another model only; 0 once searches use the new one.
        finished: Records whose next vectors were copied into the main columns by this call.
    """

    user_id: UUID
    missing: int
    finished: int


def finish_moves(
    database: Database, model: str, user_id: UUID | None = None, *, only_switched: bool = False
) -> list[ModelMove]:
    """Switch every user who moves to ``model`` and whose records all have its vectors, and finish the switches.

    Can be interrupted anywhere and repeated, and can run concurrently.

    Args:
        database: Used as the pipeline.
        model: The model that users are moving to.
        user_id: Only this user.
        only_switched: Only finish earlier switches. Checking whether all records are ready reads all of them.
    """
    with database.pipeline() as tx:
        moving = tx.execute(_QUERIES["moving_users"], {"model": model, "user_id": user_id}).fetchall()
    moves = []
    for row in moving:
        if only_switched and row["embedding_model"] != model:
            continue
        missing = 0 if row["embedding_model"] == model else _switch(database, row["user_id"], model)
        moves.append(ModelMove(row["user_id"], missing, 0 if missing else _finish_switch(database, row["user_id"])))
    return moves


def _switch(database: Database, user_id: UUID, model: str) -> int:
    """Make the next model the current one, for all nodes at once; or return how many records still lack it."""
    missing = _missing(database, user_id, model)
    if missing:
        return missing
    with database.pipeline() as tx:
        # Commits of this user wait from here on, so that none adds a record without vectors of the next model.
        models = tx.execute(_QUERIES["lock_models"], {"user_id": user_id}).fetchone()
        if models is None or models["embedding_next_model"] != model:
            return 0  # the user was erased, or moves to another model
        nodes = []
        for node in _nodes(tx, user_id):
            readiness = _QUERIES["readiness"].format(schema=sql.Identifier(node.schema_name))
            found = tx.execute(readiness, {"model": model}).fetchone()
            assert found is not None
            missing += int(found["missing"])
            nodes.append((node.node_id, found["embedded"], found["centroid"]))
        if missing:
            return missing
        for node_id, embedded, centroid in nodes:
            set_centroid(tx, node_id, embedded, centroid)
        tx.execute(_QUERIES["switch_model"], {"user_id": user_id})
    return 0


def _finish_switch(database: Database, user_id: UUID) -> int:
    """Copy the current model's vectors into the main columns and drop those of abandoned moves, record by record."""
    finished = 0
    while True:
        with database.pipeline() as tx:
            nodes = _nodes(tx, user_id)
        for node in nodes:
            with suppress(NotFoundError):  # the records of a removed node are in other nodes now
                finished += _finish_node(database, user_id, sql.Identifier(node.schema_name))
        with database.pipeline() as tx:
            lock_graph_shared(tx, user_id)  # a record may have moved to a node that was already finished
            if _switched_model(tx.execute(_QUERIES["lock_models"], {"user_id": user_id}).fetchone()) is None:
                return finished
            if not any(_unfinished(tx, sql.Identifier(node.schema_name)) for node in _nodes(tx, user_id)):
                tx.execute(_QUERIES["end_move"], {"user_id": user_id})
                return finished


def _finish_node(database: Database, user_id: UUID, schema: sql.Identifier) -> int:
    finished = 0
    while True:
        with database.pipeline() as tx:
            record_ids = _unfinished(tx, schema)
        for record_id in record_ids:
            with database.pipeline() as tx:
                model = _switched_model(tx.execute(_QUERIES["models"], {"user_id": user_id}).fetchone())
                if model is None:
                    return finished
                authored(tx, pipeline_author(model))
                finished += tx.execute(
                    _QUERIES["finish_record"].format(schema=schema), {"record_id": record_id, "model": model}
                ).rowcount
        if len(record_ids) < _FINISHED_AT_ONCE:
            return finished


class _Node(NamedTuple):
    """A node with records."""

    node_id: UUID
    schema_name: str


def _switched_model(models: Mapping[str, object] | None) -> str | None:
    """Return the model after a switch; None if the user was erased or moves to another model."""
    if models is None or models["embedding_model"] != models["embedding_next_model"]:
        return None
    return str(models["embedding_model"])


def _unfinished(tx: Transaction, schema: sql.Identifier) -> list[UUID]:
    rows = tx.execute(_QUERIES["with_next"].format(schema=schema), {"limit": _FINISHED_AT_ONCE})
    return [row["record_id"] for row in rows]


def _missing(database: Database, user_id: UUID, model: str) -> int:
    """Count the records that have vectors, but none of a model, in one transaction per node."""
    missing = 0
    with database.pipeline() as tx:
        nodes = _nodes(tx, user_id)
    for node in nodes:
        # The records of a removed node are in other nodes now; ``_switch`` counts again under the lock.
        with suppress(NotFoundError), database.pipeline() as tx:
            require_node(tx, node.node_id)
            row = tx.execute(
                _QUERIES["missing"].format(schema=sql.Identifier(node.schema_name)), {"model": model}
            ).fetchone()
            assert row is not None
            missing += int(row["missing"])
    return missing


def _nodes(tx: Transaction, user_id: UUID) -> list[_Node]:
    return rows_of(tx, _QUERIES["nodes_with_records"], _Node, {"user_id": user_id})
