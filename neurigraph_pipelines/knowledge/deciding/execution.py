"""Carrying out approved actions: each once, as it was proposed, and only if who asked for it may still do so.

Each kind calls the function of the domain that does it, for the owner of the graph. The last look and the mark that it
was done are in the transaction of the change itself, so a process that dies leaves both or neither.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID

from psycopg.types.json import Jsonb

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.proposed_places import node_of
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.ingestion.revision import supersede
from neurigraph_pipelines.knowledge.digesting import digest_around
from neurigraph_pipelines.knowledge.linking import approve_link
from neurigraph_pipelines.knowledge.replacing import supersede_fact
from neurigraph_pipelines.knowledge.stating import retract
from neurigraph_pipelines.lifecycle.archive import archive, restore
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.retention import promote
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import (
    ChangedError,
    ConflictError,
    ForbiddenError,
    NeurigraphError,
    NotFoundError,
    RehydratingError,
    TransientError,
)
from neurigraph_pipelines.model.links import LinkEnd, StatedLink
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.kinds import ActionKind, ActionState, EndKind, FactStatus

_QUERIES = statements("actions")
_FACTS = statements("facts")


class _Approved(NamedTuple):
    """An approved action; its kind says which of the ids it has."""

    action_id: UUID
    user_id: UUID
    kind: ActionKind
    node_id: UUID
    other_node_id: UUID
    record_id: UUID
    other_record_id: UUID
    fact_id: UUID
    other_fact_id: UUID
    source_id: UUID
    details: dict[str, object]


_Execution = Callable[[Context, _Approved, Guard], object]


class _DoneError(Exception):
    """Somebody else has carried it out, or is about to."""


class _Once(Guard):
    """Lets an approved action pass once, and marks it as executed with the change."""

    def __init__(self, action_id: UUID) -> None:
        self._action = {"action_id": action_id}

    def admit(self, tx: Transaction) -> None:
        row = tx.execute(_QUERIES["lock_approved"], self._action).fetchone()
        if row is None:
            raise _DoneError
        if not row["is_as_expected"]:
            raise ChangedError("what this is about was changed since it was proposed: decide about it as it is now")
        if not row["may_write"]:
            raise ForbiddenError("who asked for this may no longer write there")
        tx.execute(_QUERIES["finish"], {**self._action, "state": ActionState.EXECUTED, "failure": None})


def carry_out(context: Context, action_id: UUID | None = None) -> int:
    """Carry out an approved action, or all that are approved, and return how many were.

    One that cannot be done is marked as failed. After an error that may pass it stays approved, and is tried again.

    Raises:
        NeurigraphError: The one action could not be carried out.
    """
    with context.database.pipeline() as tx:
        rows = rows_of(tx, _QUERIES["approved"], _Approved, {"action_id": action_id})
    done = 0
    for row in rows:
        try:
            _carry_out(context, row)
        except _DoneError:
            continue
        except NeurigraphError as error:
            stands = isinstance(error, TransientError | RehydratingError) or _fail(context, row.action_id, error)
            if stands and action_id is not None:
                raise
        else:
            done += 1
    return done


def _carry_out(context: Context, row: _Approved) -> None:
    execution = _EXECUTIONS.get((row.kind, row.fact_id is not None))
    if execution is None:
        raise ConflictError(f"this version cannot carry out {row.kind} here: reject it, or do it by hand")
    # Its changes name the action as their author, beside the owner of the graph.
    owner = replace(Claims.of_user(row.user_id), sub=f"{row.user_id} (action {row.action_id})")
    execution(context.acting_for(owner), row, _Once(row.action_id))


def _fail(context: Context, action_id: UUID, error: NeurigraphError) -> bool:
    """Mark an action as failed, and return False if somebody else carried it out meanwhile."""
    reasons = {ChangedError: "changed", ForbiddenError: "no_right", NotFoundError: "gone"}
    failure = next((word for kind, word in reasons.items() if isinstance(error, kind)), "impossible")
    with context.database.pipeline() as tx:
        finished = {"action_id": action_id, "state": ActionState.FAILED, "failure": failure}
        return tx.execute(_QUERIES["finish"], finished).rowcount == 1


def _store(context: Context, row: _Approved, guard: Guard) -> None:
    with context.database.owner() as tx:
        guard.admit(tx)
        tx.execute(_QUERIES["let_in"], {"source_id": row.source_id})


def _delete_record(context: Context, row: _Approved, guard: Guard) -> None:
    forget(context, ErasureSubject(SubjectKind.RECORD, row.record_id), through="action", guard=guard)


def _delete_fact(context: Context, row: _Approved, guard: Guard) -> None:
    forget(context, ErasureSubject(SubjectKind.FACT, row.fact_id), through="action", guard=guard)


def _promote(context: Context, row: _Approved, guard: Guard) -> None:
    promote(context, row.record_id, guard=guard)


def _archive(context: Context, row: _Approved, guard: Guard) -> None:
    archive(context, [row.record_id], "approved", guard=guard)


def _restore(context: Context, row: _Approved, guard: Guard) -> None:
    restore(context, [row.record_id], guard=guard)


def _supersede_record(context: Context, row: _Approved, guard: Guard) -> None:
    supersede(context.database, context.claims, row.record_id, row.other_record_id, guard)


def _supersede_fact(context: Context, row: _Approved, guard: Guard) -> None:
    supersede_fact(context, row.fact_id, row.other_fact_id, guard)


def _digest(context: Context, row: _Approved, guard: Guard) -> None:
    digest_around(context, row.record_id, guard)


def _merge(context: Context, row: _Approved, guard: Guard) -> None:
    merge_nodes(context.database, context.claims, row.node_id, row.other_node_id, guard=guard)


def _move(context: Context, row: _Approved, guard: Guard) -> None:
    node_id = node_of(context.database, row.user_id, str(row.details.get("first")))
    move_records(context.database, context.claims, [row.record_id], node_id, guard=guard)


class _WithConfirmation(Guard):
    """Confirms another fact in the transaction of a change."""

    def __init__(self, guard: Guard, fact_id: UUID) -> None:
        self._guard = guard
        self._fact_id = fact_id

    def admit(self, tx: Transaction) -> None:
        self._guard.admit(tx)

    def note_result(self, tx: Transaction, result: object = None, *, status: int | None = None) -> None:
        change = {"status": FactStatus.ACTIVE, "confirmed_at": datetime.now(UTC).isoformat()}
        tx.execute(_FACTS["change_fact"], {"fact_id": self._fact_id, "change": Jsonb(change)})


def _resolve(context: Context, row: _Approved, guard: Guard) -> None:
    retract(context, row.other_fact_id, _WithConfirmation(guard, row.fact_id))


def _link(context: Context, row: _Approved, guard: Guard) -> None:
    """Confirm the link that was inferred, or state it if it is not there."""
    start = _end(row.fact_id, row.record_id, row.node_id)
    end = _end(row.other_fact_id, row.other_record_id, row.other_node_id)
    said = StatedLink(start, end, str(row.details.get("relation")))
    approve_link(context, said, guard)


def _end(fact_id: UUID | None, record_id: UUID | None, node_id: UUID | None) -> LinkEnd:
    for kind, found in ((EndKind.FACT, fact_id), (EndKind.RECORD, record_id), (EndKind.NODE, node_id)):
        if found is not None:
            return LinkEnd(kind, found)
    raise ConflictError("the action does not say what is linked: reject it")


_EXECUTIONS: dict[tuple[str, bool], _Execution] = {
    (ActionKind.STORE, False): _store,
    (ActionKind.DELETE, False): _delete_record,
    (ActionKind.DELETE, True): _delete_fact,
    (ActionKind.PROMOTE, False): _promote,
    (ActionKind.ARCHIVE, False): _archive,
    (ActionKind.RESTORE, False): _restore,
    (ActionKind.SUPERSEDE, False): _supersede_record,
    (ActionKind.SUPERSEDE, True): _supersede_fact,
    (ActionKind.DIGEST, False): _digest,
    (ActionKind.MOVE, False): _move,
    (ActionKind.MERGE_NODES, False): _merge,
    (ActionKind.RESOLVE, True): _resolve,
    (ActionKind.LINK, True): _link,
    (ActionKind.LINK, False): _link,
}
"""By kind, and whether it is about a fact."""
