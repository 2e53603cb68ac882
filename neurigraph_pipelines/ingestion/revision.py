"""Changing what is remembered: new words for a memory, or a newer memory in its place.

One transaction each, of which the database writes the delta (``history``); a memory that somebody else changes at the
same moment is never overwritten unseen. Whoever asks must be let write to the memory's node. Moving a memory to another
node is for ``graph``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, ForbiddenError, InvalidInputError, NeurigraphError, NotFoundError
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.graph.shell import replace_vector
from neurigraph_pipelines.history import author_of, authored
from neurigraph_pipelines.ingestion.inbox import MAX_TITLE_LENGTH
from neurigraph_pipelines.ingestion.keywords import MAX_KEYWORD_LENGTH, MAX_KEYWORDS
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, locate, lock_record
from neurigraph_pipelines.model import KEYWORD_COLUMNS, RECORD_DIMENSIONS, Claims
from neurigraph_pipelines.ports import Database, Embedder, Redactor, Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAX_SUMMARY_CHARACTERS = 20_000
"""A summary stands for its memory in every search: some hundred words are usual."""

_Thing = TypeVar("_Thing")
_QUERIES = statements("history")
_EMBEDDINGS = statements("embeddings")


@dataclass(frozen=True, slots=True)
class Revision:
    """New values for fields of a memory; None leaves a field as it is.

    Attributes:
        entities: Replace those that are there, as do the other keywords.
    """

    title: str | None = None
    summary: str | None = None
    entities: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    dates: Sequence[str] | None = None
    relationships: Sequence[str] | None = None


def revise(
    context: Context,
    record_id: UUID,
    revision: Revision,
    expected_delta: UUID | None = None,
) -> None:
    """Give a memory another title, summary or keywords; its files stay as they are. Repeating it changes nothing.

    A new summary is embedded at once. Where that cannot be, the memory waits for its vectors as after a commit.

    Args:
        expected_delta: The newest delta that whoever asks has seen; None to change whatever is there.

    Raises:
        InvalidInputError: There is nothing to change, or a value is empty or too long.
        NotFoundError: No such record, or not visible to whoever asks; so below.
        ForbiddenError: It is visible to them, and not theirs to change; so below.
        ConflictError: It was changed since ``expected_delta``; so below.
    """
    values = checked(revision, context.redactor)
    user_id = _require_write(context.database, context.claims, record_id)
    vector = _embedded(context.embedder, values["summary"]) if "summary" in values else None
    with context.database.pipeline() as tx:
        words = lock_words(tx, user_id, record_id)
        _require_unchanged(tx, record_id, expected_delta)
        replace_words(tx, words, values, vector, context.embedder.model, author_of(context.claims))


@dataclass(frozen=True, slots=True)
class LockedWords:
    """A record whose words nobody else changes until the transaction ends; ``row`` is of ``lock_words``."""

    place: RecordLocation
    row: Mapping[str, Any]
    model_in_use: str | None


def lock_words(tx: Transaction, user_id: UUID, record_id: UUID) -> LockedWords:
    """Keep a record as it is until the transaction ends.

    Raises:
        NotFoundError: It is gone.
    """
    place = _found(lock_record(tx, user_id, record_id))
    in_use = _found(tx.execute(_EMBEDDINGS["models"], {"user_id": user_id}).fetchone())["embedding_model"]
    lock = _QUERIES["lock_words"].format(schema=place.schema)
    return LockedWords(place, _found(tx.execute(lock, {"record_id": record_id}).fetchone()), in_use)


def replace_words(
    tx: Transaction,
    words: LockedWords,
    values: Mapping[str, Any],
    vector: NDArray[np.float32] | None,
    model: str,
    author: str,
) -> bool:
    """Give a record other words: the one way in which that is done.

    Args:
        values: Of ``checked``.
        vector: Of the new summary; None lets the record wait for it.
        model: That the vector is of.
        author: Of the delta.

    Returns:
        False where it bears these words already.
    """
    place, row = words.place, words.row
    if values.items() <= row.items():
        return False
    vectors: dict[str, Any] = {}
    if values.get("summary", row["summary"]) != row["summary"] and not row["embedding_pending"]:
        usable = vector if words.model_in_use == model else None
        if usable is None:
            tx.execute(_EMBEDDINGS["insert_pending"], asdict(place))
        lost = row["embedding"].to_numpy() if row["embedding_model"] == words.model_in_use else None
        replace_vector(tx, place.node_id, lost=lost, gained=usable)
        vectors = _vector_columns(usable, model)
    authored(tx, author)
    revised = {**row, **values, **vectors, "record_id": place.record_id}
    tx.execute(_QUERIES["revise"].format(schema=place.schema), revised)
    return True


def supersede(
    database: Database, claims: Claims, record_id: UUID, by: UUID | None, expected_delta: UUID | None = None
) -> None:
    """Let a newer memory take the place of another, which stays and is left out of searches. Repeatable.

    Args:
        record_id: Is superseded.
        by: Takes its place; visible to whoever asks. None lets the memory stand for itself again.

    Raises:
        InvalidInputError: A memory cannot take its own place.
        ConflictError: The newer one is itself superseded by the other, through however many.
    """
    if record_id == by:
        raise InvalidInputError("a memory cannot take its own place: name another one")
    user_id = _require_write(database, claims, record_id)
    if by is not None and not database.ask(claims, _QUERIES["writable"], {"record_id": by}):
        raise NotFoundError
    with database.pipeline() as tx:
        lock_graph_exclusive(tx, user_id)  # or two memories could take each other's place at the same moment
        place = _found(locate(tx, record_id))
        _require_unchanged(tx, record_id, expected_delta)
        newer = by
        while newer is not None:
            if newer == record_id:
                raise ConflictError("the memory that should take its place is superseded by it: restore that one first")
            newer = _superseded_by(tx, newer)
        authored(tx, author_of(claims))
        tx.execute(_QUERIES["set_superseded"].format(schema=place.schema), {"record_id": record_id, "by": by})


def _superseded_by(tx: Transaction, record_id: UUID) -> UUID | None:
    place = locate(tx, record_id)
    if place is None:
        return None
    row = tx.execute(_QUERIES["superseded_by"].format(schema=place.schema), {"record_id": record_id}).fetchone()
    return row["superseded_by"] if row is not None else None


def _require_write(database: Database, claims: Claims, record_id: UUID) -> UUID:
    """Make sure that whoever asks may change a record; gives its user."""
    found = database.ask(claims, _QUERIES["writable"], {"record_id": record_id})
    if not found:
        raise NotFoundError
    (row,) = found
    if not row["writable"]:
        raise ForbiddenError("this memory may be read with this key, and not changed: ask its owner for the right")
    user_id: UUID = row["user_id"]
    return user_id


def _found(thing: _Thing | None) -> _Thing:
    if thing is None:
        raise NotFoundError
    return thing


def _require_unchanged(tx: Transaction, record_id: UUID, expected_delta: UUID | None) -> None:
    if expected_delta is None:
        return
    row = tx.execute(_QUERIES["newest_delta"], {"record_id": record_id}).fetchone()
    if row is None or row["delta_id"] != expected_delta:
        raise ConflictError("the memory was changed meanwhile: read it again, and decide anew")


def _embedded(embedder: Embedder, summary: str) -> NDArray[np.float32] | None:
    from neurigraph_pipelines.text.vectors import to_record_vector  # with numpy behind it

    try:
        return to_record_vector(embedder.embed([summary])[0])
    except NeurigraphError:
        return None


def _vector_columns(vector: NDArray[np.float32] | None, model: str) -> dict[str, Any]:
    """What a record has of a new summary's vector; without one it waits, as after a commit."""
    import numpy as np
    from pgvector import Vector

    return {
        "embedding": Vector(np.zeros(RECORD_DIMENSIONS, np.float32) if vector is None else vector),
        "embedding_pending": vector is None,
        "embedding_model": None if vector is None else model,
        # That one is of the old summary; whoever is moving the user to its model finds it missing.
        "embedding_next": None,
        "embedding_next_model": None,
    }


def checked(revision: Revision, redactor: Redactor | None) -> dict[str, Any]:
    """The columns that are to be given values.

    Raises:
        InvalidInputError: There is nothing to change, or a value is empty or too long.
    """

    def kept(name: str, text: str, most: int) -> str:
        cleaned = clean_text(text, "repair")[0].strip()
        if not cleaned:
            raise InvalidInputError(f"{name}: a text is empty")
        if len(cleaned) > most:
            raise InvalidInputError(f"{name}: a text has {len(cleaned):,} characters and the limit is {most:,}")
        return cleaned if redactor is None else redactor.redact(cleaned)[0]

    values: dict[str, Any] = {}
    for name, text, most in (
        ("title", revision.title, MAX_TITLE_LENGTH),
        ("summary", revision.summary, MAX_SUMMARY_CHARACTERS),
    ):
        if text is not None:
            values[name] = kept(name, text, most)
    for name, column in KEYWORD_COLUMNS.items():
        words: Sequence[str] | None = getattr(revision, name)
        if words is not None:
            if len(words) > MAX_KEYWORDS:
                raise InvalidInputError(f"{name} are {len(words):,} and the limit is {MAX_KEYWORDS}")
            values[column] = list(dict.fromkeys(kept(name, word, MAX_KEYWORD_LENGTH) for word in words))
    if not values:
        raise InvalidInputError("there is nothing to change: give a title, a summary or keywords")
    return values
