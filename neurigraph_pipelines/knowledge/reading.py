"""Reading records for facts: waiting records, and again the records of some days.

A commit lets its records wait in a table. A run leases waiting records, reads their transcripts, and writes the facts
of each in one transaction, which also ends its wait. So a run that is killed leaves no partial facts, and the next one
reads what it had leased, without the ``windows`` that a model has read. ``grounding`` says which facts are dropped,
``listing`` shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.extraction import DESCRIPTION
from neurigraph_pipelines.ingestion.record_locations import pages_of_days
from neurigraph_pipelines.ingestion.records import Progress
from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.ingestion.waiting_records import Leased, Waiting, WaitingRecords
from neurigraph_pipelines.knowledge.grounding import Said, within_bounds
from neurigraph_pipelines.knowledge.links import link_facts
from neurigraph_pipelines.knowledge.locks import lock_facts
from neurigraph_pipelines.knowledge.windows import KeptWindows
from neurigraph_pipelines.knowledge.writing import stated_by, write_read, write_stated
from neurigraph_pipelines.model import Segment, SourceKind
from neurigraph_pipelines.model.chat import rests_on_search
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError, TransientError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import storable

MAX_READ = 2_000
"""Default limit of records per run."""

OVERDUE_SECONDS = 86_400.0
"""Waiting time from which a record is reported."""

_LEASED_AT_ONCE = 16
_QUERIES = statements("facts")

TO_READ = WaitingRecords("pending_facts")
"""The records that wait to be read."""


@dataclass(slots=True)
class FactsRead:
    """The result of a run.

    Attributes:
        extractor: The language model.
        records: Records that were read.
        record_ids: Their ids.
        facts: Facts that were found in them.
        dropped: Facts whose figures or names do not stand in the messages that they cite, and those beyond the bounds.
        failed: Records that wait further, with the reason.
    """

    extractor: str
    records: int = 0
    facts: int = 0
    dropped: int = 0
    record_ids: list[UUID] = field(default_factory=list)
    failed: list[tuple[UUID, str]] = field(default_factory=list)


def wait_for_reading(tx: Transaction, record_ids: Iterable[UUID]) -> None:
    """Let records wait to be read; records that wait already are due at once."""
    tx.execute(_QUERIES["insert_pending"], {"record_ids": list(record_ids)})


def waiting(context: Context) -> Waiting:
    """Count the records that wait to be read."""
    with context.database.pipeline() as tx:
        (row,) = tx.execute(_QUERIES["waiting"], {"overdue_seconds": OVERDUE_SECONDS})
    return Waiting(**row)


def choose_days(
    context: Context, since: datetime | None, until: datetime, user_id: UUID | None = None, *, again: bool = False
) -> list[UUID]:
    """Return the records of a period in which the configured model has found no facts yet.

    Args:
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id: Only this user's records.
        again: Return all records of the period.
    """
    chosen: list[UUID] = []
    for page in pages_of_days(context.database, since, until, user_id):
        values = {
            "record_ids": [row.record_id for row in page],
            "extractor": context.language_model.name,
            "again": again,
        }
        with context.database.pipeline() as tx:
            chosen += [row["record_id"] for row in tx.execute(_QUERIES["to_read"], values)]
    return chosen


def read_again(context: Context, record_ids: Sequence[UUID], on_done: Progress | None = None) -> FactsRead:
    """Read some records for facts now, whether they wait or not. The new facts replace the earlier ones."""
    done = FactsRead(context.language_model.name)
    for first in range(0, len(record_ids), MAX_READ):
        part = record_ids[first : first + MAX_READ]
        with context.database.pipeline() as tx:
            wait_for_reading(tx, part)
        _read(context, done, len(part), None, part, on_done)
    return done


def read_waiting(
    context: Context, limit: int = MAX_READ, user_id: UUID | None = None, on_done: Progress | None = None
) -> FactsRead:
    """Read waiting records for facts, the longest waiting first.

    The run ends early if the provider is down. What it leased is due again later, like the records of a killed run.

    Args:
        context: With the language model, which is called up to its ``concurrency`` at once.
        limit: Maximum number of records.
        user_id: Only this user's records; None for all users.
        on_done: Called after each record.
    """
    done = FactsRead(context.language_model.name)
    _read(context, done, limit, user_id, None, on_done)
    return done


def _read(
    context: Context,
    done: FactsRead,
    limit: int,
    user_id: UUID | None,
    record_ids: Sequence[UUID] | None,
    on_done: Progress | None,
) -> None:
    pool = ThreadPoolExecutor(context.language_model.concurrency, thread_name_prefix="facts")
    try:
        while limit > 0:
            leased = TO_READ.lease(context, min(_LEASED_AT_ONCE, limit), user_id, record_ids)
            if not leased:
                return
            limit -= len(leased)
            held = {one.record_id: one.attempts for one in leased}
            down = False
            with TO_READ.kept(context, held):
                for one, outcome in zip(leased, pool.map(partial(_attempt, context), leased), strict=True):
                    del held[one.record_id]
                    if isinstance(outcome, Exception):
                        TO_READ.postpone(context, one.record_id, one.attempts, outcome)
                        down |= isinstance(outcome, TransientError)
                        done.failed.append((one.record_id, str(outcome)))
                    else:
                        done.records += 1
                        done.record_ids.append(one.record_id)
                        done.facts += outcome[0]
                        done.dropped += outcome[1]
                    if on_done is not None:
                        on_done(1)
            if down:
                return
    finally:
        pool.shutdown(cancel_futures=True)


def _attempt(context: Context, leased: Leased) -> tuple[int, int] | Exception:
    """Read one record; return how many facts were written and dropped."""
    try:
        return _read_record(context, leased)
    except OperationalError:
        raise
    except (NotFoundError, ConflictError):  # forgotten meanwhile, or without a transcript: there is nothing to read
        with context.database.pipeline() as tx:
            TO_READ.end(tx, leased)
        return 0, 0
    except Exception as error:  # one bad item must not fail the others
        return error


def _read_record(context: Context, leased: Leased) -> tuple[int, int]:
    model = context.language_model
    segment = read_segment(context, leased.user_id, leased.record_id)
    with context.database.pipeline() as tx:
        stated = stated_by(tx, leased.record_id, segment.messages[0])
    segment = _told(segment)
    said = Said(segment.messages, segment.ref.owner_name)
    kept = KeptWindows(context, leased, said)
    found = storable(model.extract_facts(segment, kept)) if stated is None and segment.messages else []
    grounded = {fact.statement: fact for fact in found if said.grounds(fact)}
    facts = within_bounds(list(grounded.values()), segment.messages)
    with context.database.pipeline() as tx:
        lock_facts(tx, leased.user_id)
        if not TO_READ.end(tx, leased):
            return 0, 0  # another run has taken it over, or it was forgotten
        if stated is not None:
            write_stated(tx, leased.record_id, leased.user_id, stated)
            return 1, 0
        written = write_read(tx, leased.record_id, leased.user_id, model.name, facts)
        link_facts(tx, leased.record_id, leased.user_id, segment.messages, model.name, facts)
    return written, len(found) - len(facts) + kept.dropped


def _told(segment: Segment) -> Segment:
    """Return a segment without texts of ours that nobody said: descriptions of files, and answers of our chats."""
    is_file = segment.ref.source_kind is SourceKind.UPLOAD
    told = tuple(
        one
        for one in segment.messages
        if not (is_file and one.external_id == DESCRIPTION) and not rests_on_search(one.tool_calls)
    )
    return replace(segment, messages=told)
