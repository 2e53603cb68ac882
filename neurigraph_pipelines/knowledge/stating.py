"""Stating facts by hand, and changing, retracting and confirming facts.

A stated fact is a note whose memory carries exactly this fact, so it takes the one way into the graph. New words are
the next version of a fact, by the same way. Other changes are made at once, and logged with their author.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import author_of, authored
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords, require_period, state_values, word_values
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.knowledge.writing import fact_id_of
from neurigraph_pipelines.lifecycle.note_memories import settle_memories
from neurigraph_pipelines.model import Privacy
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.text.json_fields import JsonObject
from neurigraph_pipelines.views.facts import StatedFact
from neurigraph_pipelines.views.kinds import FactKind, FactStatus, Impact, StatedAs

_DEFAULTS: JsonObject = {
    "kind": FactKind.OTHER,
    "stated_as": StatedAs.STATEMENT,
    "who": [],
    "importance": 0.5,
    "impact": Impact.MEDIUM,
    "pinned": False,
    "tags": [],
    "metadata": {},
}
_NEW_WORDS_KEEP = ("kind", "who", "importance", "impact", "pinned", "tags", "metadata")
"""What a next version with another statement takes from the one before."""

_QUERIES = statements("facts")
_VERDICTS = statements("verdicts")


@dataclass(frozen=True, slots=True)
class NewFact:
    """A fact to state.

    Attributes:
        path: File it at the node of this path; ``node_id`` is the same by id. By default a model decides.
    """

    words: FactWords
    state: FactState = field(default_factory=FactState)
    path: str | None = None
    node_id: UUID | None = None
    privacy: Privacy = Privacy.SHARED


@dataclass(frozen=True, slots=True)
class _Place:
    """A fact that the caller may change."""

    user_id: UUID
    record_id: UUID
    node_id: UUID
    source_id: UUID
    is_private: bool
    is_by_hand: bool


def state_fact(context: Context, new: NewFact) -> StatedFact:
    """State a fact. The same again changes nothing.

    Raises:
        InvalidInputError: A value is empty, too long, or does not fit the others.
        NotFoundError: The node does not exist, or the caller may not write to it.
        ForbiddenError: The caller may not write at all.
        ConflictError: Facts are switched off.
    """
    if new.words.statement is None:
        raise InvalidInputError("a fact needs a statement")
    return _write(context, new, None, {})


def change_fact(
    context: Context, fact_id: UUID, words: FactWords, state: FactState, guard: Guard = FREE
) -> StatedFact | None:
    """Change a fact: new words become a next version, which supersedes the fact once stored; the rest applies at once.

    Returns:
        The next version; None if only the state changed.

    Raises:
        InvalidInputError: There is nothing to change; otherwise as for ``state_fact``.
        NotFoundError: There is no such fact, or the caller does not see it; also in the functions below.
        ForbiddenError: The caller may read but not change it; also in the functions below.
        ConflictError: Facts are switched off.
    """
    if not words.given():
        change = state_values(context, state)
        if not change:
            raise InvalidInputError("there is nothing to change: give new words, tags or another field")
        _change(context, fact_id, change, guard)
        return None
    place = _require_write(context, fact_id)
    before = context.database.ask(context.claims, _QUERIES["words_of"], {"fact_id": fact_id})
    if not before:  # erased meanwhile
        raise NotFoundError
    kept = {name: value for name, value in before[0]["words"].items() if value is not None}
    if words.statement is not None:
        kept = {name: kept[name] for name in _NEW_WORDS_KEEP}
    privacy = Privacy.PRIVATE if place.is_private else Privacy.SHARED
    return _write(context, NewFact(words, state, node_id=place.node_id, privacy=privacy), (fact_id, place), kept)


def retract(context: Context, fact_id: UUID, guard: Guard = FREE) -> None:
    """Take a fact back: it is archived, and the version that it superseded stands again. Idempotent.

    So are the facts that say the same, but for other versions of it and those that the caller may not change.
    """
    _change(context, fact_id, {}, guard, FactStatus.ARCHIVED)


def confirm(context: Context, fact_id: UUID, guard: Guard = FREE) -> None:
    """Confirm that a fact holds: it becomes active, even if it was retracted or disputed.

    Facts that say the same and were taken back are active again, too.
    """
    _change(context, fact_id, {"confirmed_at": datetime.now(UTC).isoformat()}, guard, FactStatus.ACTIVE)


def _change(
    context: Context, fact_id: UUID, change: JsonObject, guard: Guard, status: FactStatus | None = None
) -> None:
    of_status: JsonObject = {} if status is None else {"status": status}
    place = _require_write(context, fact_id)
    with context.database.pipeline() as tx:
        lock_facts(tx, place.user_id)
        # With the lock, because a memory may just be read that says the same.
        restatements = [] if status is None else _restatements(context, fact_id, status)
        guard.admit(tx)
        authored(tx, author_of(context.claims), context.claims)
        values = {"fact_id": fact_id, "change": Jsonb(change | of_status)}
        if tx.execute(_QUERIES["change_fact"], values).fetchone() is None:
            raise NotFoundError
        for one in restatements:
            tx.execute(_QUERIES["change_fact"], {"fact_id": one, "change": Jsonb(of_status)})
        if status is not None:
            for one in [fact_id, *restatements]:
                settle_memories(tx, one)
            if status is FactStatus.ARCHIVED:
                tx.execute(_VERDICTS["withdraw_retracted"], {"fact_ids": [fact_id, *restatements]})
        guard.note_result(tx)


def _restatements(context: Context, fact_id: UUID, status: FactStatus) -> list[UUID]:
    """Return the facts of the same words that the caller may change and that do not have this status yet."""
    values = {"fact_id": fact_id, "archived": status is not FactStatus.ARCHIVED}
    return [row["fact_id"] for row in context.database.ask(context.claims, _QUERIES["restatements"], values)]


def _require_write(context: Context, fact_id: UUID) -> _Place:
    found = context.database.ask(context.claims, _QUERIES["writable_fact"], {"fact_id": fact_id})
    if not found:
        raise NotFoundError
    (row,) = found
    if not row["writable"]:
        raise ForbiddenError("this key may read but not change this fact: ask its owner for write access")
    return _Place(
        row["user_id"],
        row["record_id"],
        row["node_id"],
        row["source_id"],
        row["is_private"],
        row["is_by_hand"],
    )


def _write(context: Context, new: NewFact, before: tuple[UUID, _Place] | None, kept: JsonObject) -> StatedFact:
    """Write the note of a fact, which replaces the note of the version before if a note stated that, too."""
    if not context.settings.ingestion.facts:
        raise ConflictError("facts are switched off on this installation (`facts`)")
    follows, place = before if before is not None else (None, None)
    values = {**_DEFAULTS, **kept, **word_values(context, new.words), **state_values(context, new.state)}
    require_period(values)
    note = IncomingNote(
        text=str(values.pop("statement")),
        path=new.path,
        node_id=new.node_id,
        importance=new.words.importance,
        privacy=new.privacy,
        fact=values,
        follows=follows,
        replaces=place.source_id if place is not None and place.is_by_hand else None,
    )
    written = write_note(context, note)
    return StatedFact(
        fact_id=fact_id_of(written.note_id, written.version),
        note_id=written.note_id,
        created=written.created,
        follows=follows,
    )
