"""Revisions of memories: new title, summary or keywords, or superseding by a newer memory.

Each is one transaction whose delta the database writes (``history``). Concurrent changes are detected rather than
overwritten. The caller needs write access to the memory's node. ``graph.moving`` moves memories to other nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph import revised
from neurigraph_pipelines.graph.history import author_of, authored
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.revised import StoredWords
from neurigraph_pipelines.graph.shell import replace_vector
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, locate, lock_record
from neurigraph_pipelines.model import KEYWORD_COLUMNS, RECORD_DIMENSIONS, Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import (
    ConflictError,
    ForbiddenError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
)
from neurigraph_pipelines.model.limits import MAX_KEYWORD_LENGTH, MAX_KEYWORDS, MAX_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Database, Embedder, Redactor, Transaction
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.scalars import ValuesByName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_SUMMARY_CHARACTERS = 20_000
"""Longest summary in characters; a few hundred words are usual, because searches show it."""

_T = TypeVar("_T")
_QUERIES = statements("history")
_EMBEDDINGS = statements("embeddings")
_VERDICTS = statements("verdicts")


_Words = Annotated[
    list[str] | None,
    Field(description="Replaces the present ones.", json_schema_extra={"maxItems": MAX_KEYWORDS}),
]


class Revision(Form):
    """New values for fields of a memory. Fields that are missing or null stay as they are."""

    title: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_TITLE_LENGTH})
    summary: str | None = Field(default=None, json_schema_extra={"maxLength": MAX_SUMMARY_CHARACTERS})
    entities: _Words = None
    topics: _Words = None
    dates: _Words = None
    relationships: _Words = None


def revise(
    context: Context,
    record_id: UUID,
    revision: Revision,
    guard: Guard = FREE,
) -> None:
    """Change the title, summary or keywords of a memory. Its files stay unchanged. Idempotent.

    A new summary is embedded at once. If that fails, the memory is pending, as after a commit.

    Args:
        context: With the caller's claims.
        record_id: The memory.
        revision: The new values.
        guard: Called with the record locked, and before the commit.

    Raises:
        InvalidInputError: The revision is empty, or a value is empty or too long.
        NotFoundError: No such record, or not visible to the caller; also in the functions below.
        ForbiddenError: The caller may read but not change it; also in the functions below.
    """
    values = checked(revision, context.redactor)
    user_id = _require_write(context.database, context.claims, record_id)
    vector = _embedded(context.embedder, values["summary"]) if "summary" in values else None
    with context.database.pipeline() as tx:
        words = lock_words(tx, user_id, record_id)
        guard.admit(tx)
        replace_words(tx, words, values, vector, context.embedder.model, author_of(context.claims), context.claims)
        if "summary" in values:  # which may correct its facts
            tx.execute(_VERDICTS["insert_pending"], {"record_ids": [record_id]})
        guard.note_result(tx)


@dataclass(frozen=True, slots=True)
class LockedWords:
    """A record whose words are locked until the transaction ends."""

    location: RecordLocation
    stored: StoredWords
    current_model: str | None


def lock_words(tx: Transaction, user_id: UUID, record_id: UUID) -> LockedWords:
    """Lock a record's words until the transaction ends.

    Raises:
        NotFoundError: The record no longer exists.
    """
    location = _found(lock_record(tx, user_id, record_id))
    current_model = _found(tx.execute(_EMBEDDINGS["models"], {"user_id": user_id}).fetchone())["embedding_model"]
    return LockedWords(location, _found(revised.lock_words(tx, location.schema, record_id)), current_model)


def replace_words(
    tx: Transaction,
    words: LockedWords,
    values: ValuesByName,
    vector: NDArray[np.float32] | None,
    model: str,
    author: str,
    caller: Claims | None = None,
) -> bool:
    """Write new words for a record. All revisions use this function.

    Args:
        tx: The transaction that locked the words.
        words: The locked record.
        values: The new ones, from ``checked``.
        vector: The vector of the new summary; None leaves the record pending.
        model: The embedding model of the vector.
        author: The author of the delta.
        caller: Who revises the words; None for jobs.

    Returns:
        False if the record has these words already.
    """
    location, stored = words.location, words.stored
    if stored.have(values):
        return False
    vectors: dict[str, object] = {}
    if values.get("summary", stored.summary) != stored.summary and not stored.embedding_pending:
        usable = vector if words.current_model == model else None
        if usable is None:
            tx.execute(_EMBEDDINGS["insert_pending"], location._asdict())
        lost = stored.embedding.to_numpy() if stored.embedding_model == words.current_model else None
        replace_vector(tx, location.node_id, location.record_id, lost=lost, gained=usable)
        vectors = _vector_columns(usable, model)
    authored(tx, author, caller)
    columns = {**stored._asdict(), **values, **vectors, "record_id": location.record_id}
    tx.execute(_QUERIES["revise"].format(schema=location.schema), columns)
    revised.carry_revision(tx, location.user_id, location.record_id, stored, values, author)
    return True


def supersede(database: Database, claims: Claims, record_id: UUID, by: UUID | None, guard: Guard = FREE) -> None:
    """Mark a memory as superseded by a newer one. It stays but searches skip it. Idempotent.

    Args:
        database: The database.
        claims: Who is asking.
        record_id: The memory to supersede.
        by: The newer memory, which must be visible to the caller; None restores the memory.
        guard: Called with the graph locked, and before the commit.

    Raises:
        InvalidInputError: A memory cannot supersede itself.
        ConflictError: The newer memory is superseded by this one, directly or through others.
    """
    if record_id == by:
        raise InvalidInputError("a memory cannot supersede itself: name another one")
    user_id = _require_write(database, claims, record_id)
    if by is not None and not database.ask(claims, _QUERIES["writable"], {"record_id": by}):
        raise NotFoundError
    with database.pipeline() as tx:
        lock_graph_exclusive(tx, user_id)  # otherwise two memories could supersede each other concurrently
        location = _found(locate(tx, record_id))
        guard.admit(tx)
        newer = by
        while newer is not None:
            if newer == record_id:
                raise ConflictError("the newer memory is superseded by this one: restore the newer memory first")
            newer = _superseded_by(tx, newer)
        authored(tx, author_of(claims), claims)
        tx.execute(_QUERIES["set_superseded"].format(schema=location.schema), {"record_id": record_id, "by": by})
        guard.note_result(tx)


def _superseded_by(tx: Transaction, record_id: UUID) -> UUID | None:
    location = locate(tx, record_id)
    if location is None:
        return None
    row = tx.execute(_QUERIES["superseded_by"].format(schema=location.schema), {"record_id": record_id}).fetchone()
    return row["superseded_by"] if row is not None else None


def _require_write(database: Database, claims: Claims, record_id: UUID) -> UUID:
    """Check that the caller may change a record, and return its user."""
    found = database.ask(claims, _QUERIES["writable"], {"record_id": record_id})
    if not found:
        raise NotFoundError
    (row,) = found
    if not row["writable"]:
        raise ForbiddenError("this key may read but not change this memory: ask its owner for write access")
    user_id: UUID = row["user_id"]
    return user_id


def _found(value: _T | None) -> _T:
    if value is None:
        raise NotFoundError
    return value


def _embedded(embedder: Embedder, summary: str) -> NDArray[np.float32] | None:
    from neurigraph_pipelines.text.vectors import to_record_vector  # imports numpy

    try:
        return enriched("vector of a summary", lambda: to_record_vector(embedder.embed([summary])[0]), lambda: None)
    except NeurigraphError:
        return None


def _vector_columns(vector: NDArray[np.float32] | None, model: str) -> dict[str, object]:
    """Return the vector columns for a new summary; without a vector the record is pending, as after a commit."""
    import numpy as np
    from pgvector import Vector

    return {
        "embedding": Vector(np.zeros(RECORD_DIMENSIONS, np.float32) if vector is None else vector),
        "embedding_pending": vector is None,
        "embedding_model": None if vector is None else model,
        # The next vector belongs to the old summary; a move to its model computes it again.
        "embedding_next": None,
        "embedding_next_model": None,
    }


def checked(revision: Revision, redactor: Redactor | None) -> ValuesByName:
    """Validate a revision and return the new words.

    Raises:
        InvalidInputError: The revision is empty, or a value is empty or too long.
    """

    def cleaned_text(name: str, text: str, limit: int) -> str:
        cleaned = clean_text(text, "repair")[0].strip()
        if not cleaned:
            raise InvalidInputError(f"{name}: a text is empty")
        if len(cleaned) > limit:
            raise InvalidInputError(f"{name}: a text has {len(cleaned):,} characters and the limit is {limit:,}")
        return cleaned if redactor is None else redactor.redact(cleaned)[0]

    values: ValuesByName = {}
    for name, text, limit in (
        ("title", revision.title, MAX_TITLE_LENGTH),
        ("summary", revision.summary, MAX_SUMMARY_CHARACTERS),
    ):
        if text is not None:
            values[name] = cleaned_text(name, text, limit)
    for name, column in KEYWORD_COLUMNS.items():
        words: Sequence[str] | None = getattr(revision, name)
        if words is not None:
            if len(words) > MAX_KEYWORDS:
                raise InvalidInputError(f"there are {len(words):,} {name} and the limit is {MAX_KEYWORDS}")
            values[column] = list(dict.fromkeys(cleaned_text(name, word, MAX_KEYWORD_LENGTH) for word in words))
    if not values:
        raise InvalidInputError("there is nothing to change: give a title, a summary or keywords")
    return values
