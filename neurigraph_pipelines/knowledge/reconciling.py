"""Reconciliation: new facts are compared with the known ones, and the consequences are written.

A trigger lets records with new facts wait. A run leases them, asks for verdicts without holding a lock, and writes all
that follows for a record in one transaction, in which nobody else decides about facts of its user. So a run that is
killed leaves no verdict without its effects. Nothing is ever deleted: each effect is a row with its reason, which
``undoing`` takes back. ``superseding`` decides, ``candidates`` says which facts are compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.asking import rows_of, value_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import pipeline_author
from neurigraph_pipelines.ingestion.record_locations import pages_of_days
from neurigraph_pipelines.ingestion.records import OFFLINE
from neurigraph_pipelines.ingestion.waiting_records import Leased, WaitingRecords
from neurigraph_pipelines.knowledge.candidates import (
    alike_pairs,
    distinct,
    ended_pairs,
    mistaken_pairs,
    own_pairs,
    pairs_of,
    shared_first_names,
)
from neurigraph_pipelines.knowledge.correcting import supersede_corrected
from neurigraph_pipelines.knowledge.effects import write_effects
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.knowledge.superseding import Decision, decide, within_limit
from neurigraph_pipelines.knowledge.undoing import reject
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.facts import THE_USER, Slot
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.model.verdicts import Authority, KnownFact, Pair
from neurigraph_pipelines.text.hygiene import storable
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.slots import KEYS, PROPERTIES
from neurigraph_pipelines.views.kinds import Effect, FactKind

MAX_RECONCILED = 2_000
"""Default limit of records per run."""

MAX_KNOWN = 400
"""Most known facts that are read for the facts of one record."""

MAX_OWN_KNOWN = 1_000
"""Most facts that the owner said without a name, the newest, that such facts of one record are compared with."""

MAX_OWN_PAIRS = 60
"""Most pairs of such facts of one record that are judged."""

MAX_PAIRS = 120
"""Most pairs of one record that are judged: they fit one call."""

_LEASED_AT_ONCE = 16
_QUERIES = statements("verdicts")

TO_COMPARE = WaitingRecords("pending_verdicts")
"""The records whose facts wait for verdicts."""


class _Fact(NamedTuple):
    """A fact to compare, as the query ``to_compare`` returns it."""

    fact_id: UUID
    record_id: UUID
    statement: str
    kind: str
    confidence: float
    subject: str | None
    predicate: str
    object: str
    who: list[str]
    why: str | None
    message: int
    is_kept: bool
    is_own: bool
    owner_name: str | None
    said_at: datetime
    authority: str


@dataclass(slots=True)
class Reconciled:
    """The result of a run: counts of verdicts and effects, the records, and those that wait further, with why."""

    judge: str
    records: int = 0
    verdicts: int = 0
    superseded: int = 0
    disputed: int = 0
    flagged: int = 0
    record_ids: list[UUID] = field(default_factory=list)
    failed: list[tuple[UUID, str]] = field(default_factory=list)

    def count(self, record_id: UUID, decisions: Sequence[Decision]) -> None:
        """Add the decisions for one record."""
        self.records += 1
        self.record_ids.append(record_id)
        self.verdicts += len(decisions)
        self.superseded += sum(one.effect is Effect.SUPERSEDES for one in decisions)
        self.disputed += sum(one.effect is Effect.DISPUTES for one in decisions)
        self.flagged += sum(one.effect is Effect.FLAGGED for one in decisions)


@dataclass(frozen=True, slots=True)
class ToCompare:
    """Counts of records that have pairs without a verdict, and of these pairs."""

    records: int
    pairs: int


def waiting(context: Context) -> int:
    """Count the records that wait."""
    with context.database.pipeline() as tx:
        return value_of(int, tx.execute(_QUERIES["waiting"]))


def reconcile_days(
    context: Context, since: datetime | None, until: datetime, user_id: UUID | None = None, *, again: bool = False
) -> Reconciled:
    """Compare the facts of all records of a period.

    Args:
        context: With the language model that judges.
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id: Only this user's records.
        again: Also pairs with a verdict of a model. What a person decided stands.
    """
    done = Reconciled(context.language_model.name)
    for page in pages_of_days(context.database, since, until, user_id):
        record_ids = [row.record_id for row in page]
        with context.database.pipeline() as tx:
            tx.execute(_QUERIES["insert_pending"], {"record_ids": record_ids})
        _reconcile(context, done, len(record_ids), None, record_ids, None, again=again)
    return done


def count_days(
    context: Context, since: datetime | None, until: datetime, user_id: UUID | None = None, *, again: bool = False
) -> ToCompare:
    """Count the facts that ``reconcile_days`` would compare; changes nothing and asks no model."""
    counted = []
    for page in pages_of_days(context.database, since, until, user_id):
        for row in page:
            counted.append(len(_pairs(context, row.user_id, row.record_id, again=again)[0]))
    return ToCompare(sum(pairs > 0 for pairs in counted), sum(counted))


def reconcile_waiting(
    context: Context,
    limit: int = MAX_RECONCILED,
    user_id: UUID | None = None,
    *,
    before_effects: Callable[[], None] | None = None,
) -> Reconciled:
    """Compare the facts of waiting records, the longest waiting first.

    Args:
        context: With the language model that judges.
        limit: Maximum number of records.
        user_id: Only this user's records.
        before_effects: Called in the transaction of a record, after its verdicts were written.
    """
    done = Reconciled(context.language_model.name)
    _reconcile(context, done, limit, user_id, None, before_effects)
    return done


def _reconcile(
    context: Context,
    done: Reconciled,
    limit: int,
    user_id: UUID | None,
    record_ids: Sequence[UUID] | None,
    before_effects: Callable[[], None] | None,
    *,
    again: bool = False,
) -> None:
    while limit > 0:
        leased = TO_COMPARE.lease(context, min(_LEASED_AT_ONCE, limit), user_id, record_ids)
        if not leased:
            return
        limit -= len(leased)
        held = {one.record_id: one.attempts for one in leased}
        with TO_COMPARE.kept(context, held):
            for one in leased:
                try:
                    decisions = _reconcile_record(context, one, before_effects, again=again)
                except OperationalError:
                    raise
                except Exception as error:  # one bad item must not fail the others
                    del held[one.record_id]
                    TO_COMPARE.postpone(context, one.record_id, one.attempts, error)
                    done.failed.append((one.record_id, str(error)))
                    if isinstance(error, TransientError):
                        return
                else:
                    del held[one.record_id]
                    if decisions is not None:
                        done.count(one.record_id, decisions)


def _reconcile_record(
    context: Context, leased: Leased, before_effects: Callable[[], None] | None, *, again: bool
) -> list[Decision] | None:
    """Compare the facts of one record; None if another run has taken it over."""
    user_id: UUID = leased.user_id
    pairs, mistaken = _pairs(context, user_id, leased.record_id, again=again)
    is_automatic = context.settings.ingestion.reconciliation == "auto"
    judged = storable(context.language_model.judge(pairs)) if pairs else []
    decisions = within_limit(
        [decide(pair, one, is_automatic=is_automatic) for pair, one in zip(pairs, judged, strict=True)],
        leased.record_id,
    )
    with context.database.pipeline() as tx:
        lock_facts(tx, user_id)
        if not TO_COMPARE.end(tx, leased):
            return None
        for pair in mistaken:
            _withdraw_mistaken(tx, user_id, pair, context.language_model.name)
        if again:
            _drop_changed(tx, user_id, decisions, context.language_model.name)
        supersede_corrected(tx, user_id, leased.record_id, lexer_of(context.settings.language))
        return write_effects(tx, user_id, decisions, context.language_model.name, before_effects)


def _drop_changed(tx: Transaction, user_id: UUID, decisions: Sequence[Decision], judge: str) -> None:
    """Take back the verdicts of models that differ from new decisions, and remove them."""
    for one in decisions:
        pair = {"later_id": one.pair.later.fact_id, "earlier_id": one.pair.earlier.fact_id}
        found = tx.execute(_QUERIES["verdict_of_model"], pair).fetchone()
        if found is not None and (found["verdict"], found["effect"]) != (one.judgement.verdict, one.effect):
            reject(tx, user_id, pair["later_id"], pair["earlier_id"], pipeline_author(judge))
            tx.execute(_QUERIES["drop_verdict"], pair)


def _withdraw_mistaken(tx: Transaction, user_id: UUID, pair: Pair, judge: str) -> None:
    """Take back the proposals of a model for a pair that no longer passes for one thing."""
    ids = {"later_id": pair.later.fact_id, "earlier_id": pair.earlier.fact_id}
    found = tx.execute(_QUERIES["verdict_of_model"], ids).fetchone()
    if found is not None and found["effect"] == Effect.FLAGGED:
        reject(tx, user_id, ids["later_id"], ids["earlier_id"], pipeline_author(judge))


def _pairs(context: Context, user_id: UUID, record_id: UUID, *, again: bool) -> tuple[list[Pair], list[Pair]]:
    """Return the facts of a record with the facts to compare, without pairs that have a verdict.

    The second list has pairs of known facts that passed for one thing before.
    """
    with context.database.pipeline() as tx:
        new, known, judged = _read(tx, user_id, record_id, again=again)
    if not new:
        return [], []
    language = context.settings.language
    most = max(1, MAX_PAIRS // len(new))
    own = own_pairs(new, known)[:MAX_OWN_PAIRS] + ended_pairs(new, known) if language == "english" else []
    found = distinct((*own, *(pair for one in new for pair in pairs_of(one, known, language)[:most])))
    if context.language_model.name != OFFLINE and language == "english":
        found = distinct((*found, *alike_pairs(new, known)[: max(0, MAX_PAIRS - len(found))]))
    pairs = [one for one in found if frozenset((one.later.fact_id, one.earlier.fact_id)) not in judged]
    return pairs, mistaken_pairs(new, known)


def _read(
    tx: Transaction, user_id: UUID, record_id: UUID, *, again: bool
) -> tuple[list[KnownFact], list[KnownFact], set[frozenset[UUID]]]:
    """Return the facts of a record, all facts that may have to do with them, and pairs with a verdict."""
    everything = dict.fromkeys(("record_id", "subjects", "firsts", "who", "predicates"))
    usual = {"user_id": user_id, "undated": sorted(PROPERTIES), "owns": False, "limit": MAX_KNOWN}
    values: dict[str, object] = everything | usual
    new = rows_of(tx, _QUERIES["to_compare"], _Fact, values | {"record_id": record_id})
    if not new:
        return [], [], set()
    subjects = sorted({row.subject.lower() for row in new if row.subject})
    about = {
        "subjects": subjects,
        "firsts": sorted({subject.split(" ")[0] for subject in subjects}),
        "who": sorted({name for row in new for name in row.who}),
    }
    known = rows_of(tx, _QUERIES["to_compare"], _Fact, values | about)
    if any(row.is_own for row in new):
        known += rows_of(tx, _QUERIES["to_compare"], _Fact, values | {"owns": True, "limit": MAX_OWN_KNOWN})
    if keys := sorted(KEYS & {row.predicate for row in new}):
        known += rows_of(tx, _QUERIES["to_compare"], _Fact, values | {"predicates": keys})
    rows = {row.fact_id: row for row in (*known, *new)}
    shared = _shared_first_names(tx, user_id, rows.values())
    facts = {fact_id: _known(row, shared) for fact_id, row in rows.items()}
    judged = {
        frozenset((row["later_id"], row["earlier_id"]))
        for row in tx.execute(_QUERIES["judged_pairs"], {"fact_ids": [row.fact_id for row in new], "again": again})
    }
    return [facts[row.fact_id] for row in new], list(facts.values()), judged


def _shared_first_names(tx: Transaction, user_id: UUID, rows: Iterable[_Fact]) -> frozenset[str]:
    """Return the names of one word among the subjects that several people have."""
    firsts = sorted({row.subject.lower() for row in rows if row.subject and " " not in row.subject})
    if not firsts:
        return frozenset()
    names = tx.execute(_QUERIES["full_names"], {"user_id": user_id, "firsts": firsts}).fetchall()
    return shared_first_names(row["name"] for row in names)


def _unnamed(statement: str, owner: str | None) -> str:
    """Return the statements of the owner about themselves, without the name of the account: rules know "the user"."""
    return re.sub(rf"(?<!\w){re.escape(owner)}(?!\w)", THE_USER, statement) if owner else statement


def _known(row: _Fact, shared: frozenset[str]) -> KnownFact:
    subject = row.subject
    return KnownFact(
        fact_id=row.fact_id,
        record_id=row.record_id,
        statement=_unnamed(row.statement, row.owner_name) if row.is_own else row.statement,
        kind=FactKind(row.kind),
        confidence=row.confidence,
        authority=Authority[row.authority.upper()],
        said_at=row.said_at,
        slot=Slot(subject, row.predicate, row.object) if subject else None,
        who=tuple(row.who),
        why=row.why,
        is_ambiguous=subject is not None and subject.lower() in shared,
        is_kept=row.is_kept,
        is_own=row.is_own,
        message=row.message,
    )
