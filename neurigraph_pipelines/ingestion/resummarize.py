"""Words made anew: stored records summarised and described once more, by the configured language model.

Their transcripts are read from the object store, and go through the steps of the ingestion job; what comes out is
written as a revision, with the pipeline as its author. How records get vectors of another model is for ``reembed``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, NeurigraphError, NotFoundError, TransientError
from neurigraph_pipelines.history import pipeline_author
from neurigraph_pipelines.ingestion.keywords import keywords_of
from neurigraph_pipelines.ingestion.record_locations import lock_record, pages_of_days
from neurigraph_pipelines.ingestion.records import Progress
from neurigraph_pipelines.ingestion.revision import Revision, checked, lock_words, replace_words
from neurigraph_pipelines.ingestion.summarize import summary_of
from neurigraph_pipelines.ingestion.triggers import ref_of
from neurigraph_pipelines.lifecycle.stored_bytes import durable_content
from neurigraph_pipelines.model import Segment
from neurigraph_pipelines.ports import Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.transcript import read_messages
from neurigraph_pipelines.text.vectors import to_record_vector

_DOWN_AFTER = 3
"""Records in a row that a provider has no answer for: one of them may be to blame itself, three are not."""

_HISTORY = statements("history")
_TRIGGERS = statements("triggers")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which of the records of some days are summarised; those whose words a model wrote, but not this one, always.

    Attributes:
        again: Those whose words this model wrote, too.
        revised: Those whose words a person wrote, too.
    """

    again: bool = False
    revised: bool = False


@dataclass(slots=True)
class Resummarized:
    """What a run did; in a dry run ``records`` is what it would have taken up.

    Attributes:
        model: The language model.
        records: Were given other words.
        unchanged: Came out with the words that they had.
        complete: Had their words from this model already.
        revised: Were left alone since a person gave them their words.
        gone: Were forgotten meanwhile.
        failed: Bear the words that they had, and why.
    """

    model: str
    records: int = 0
    unchanged: int = 0
    complete: int = 0
    revised: int = 0
    gone: int = 0
    failed: list[tuple[UUID, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Words:
    """Who gave a record its words, and with which delta."""

    delta_id: UUID
    authored_by: str

    @property
    def of_a_person(self) -> bool:
        return not self.authored_by.startswith(pipeline_author(""))


def resummarize(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    record_ids: Sequence[UUID] | None = None,
    *,
    wanted: Wanted | None = None,
    dry_run: bool = False,
    on_done: Progress | None = None,
) -> Resummarized:
    """Give records stored within a time the titles, summaries and keywords that the language model finds now.

    Each is written in one transaction of its own, and none that another has revised meanwhile.

    Args:
        context: Whose language model writes, as many records at once as it takes.
        since: First moment; None for the beginning.
        until: First moment that is not within.
        user_id: Only this user's.
        record_ids: Only these; those that are not there fail.
        wanted: Which of them.
        dry_run: Only count.
        on_done: Told of each record looked at.

    Raises:
        TransientError: The provider is down; what was written stays, and another run goes on from there.
    """
    done = Resummarized(context.language_model.name)
    absent = set(record_ids or ())
    pool = ThreadPoolExecutor(context.language_model.concurrency, thread_name_prefix="resummarize")

    def attempt(item: tuple[dict[str, Any], _Words]) -> bool | Exception:
        row, words = item
        try:
            return _renew(context, row["user_id"], row["record_id"], words)
        except OperationalError:
            raise
        except Exception as error:  # one poisoned item must not take its neighbours down
            return error

    down = 0
    try:
        for page in pages_of_days(context.database, since, until, user_id, record_ids):
            absent.difference_update(row["record_id"] for row in page)
            chosen = _chosen(context, page, wanted or Wanted(), done)
            if on_done is not None:
                on_done(len(page) - len(chosen))
            if dry_run:
                done.records += len(chosen)
                continue
            for (row, _), outcome in zip(chosen, pool.map(attempt, chosen), strict=True):
                _count(done, row["record_id"], outcome)
                down = down + 1 if isinstance(outcome, TransientError) else 0
                if down == _DOWN_AFTER and isinstance(outcome, TransientError):
                    raise outcome
                if on_done is not None:
                    on_done(1)
    finally:
        pool.shutdown(cancel_futures=True)  # whoever interrupts us waits for what runs, and for nothing else
    done.failed += [(record_id, "there is no such record") for record_id in sorted(absent)]
    return done


def _chosen(
    context: Context, page: Sequence[dict[str, Any]], wanted: Wanted, done: Resummarized
) -> list[tuple[dict[str, Any], _Words]]:
    """Those of a page that are to be summarised; the others are counted."""
    author = pipeline_author(done.model)
    with context.database.pipeline() as tx:
        words = _words_of(tx, [row["record_id"] for row in page])
    chosen: list[tuple[dict[str, Any], _Words]] = []
    for row in page:
        found = words.get(row["record_id"])
        if found is None:
            done.gone += 1
        elif found.of_a_person and not wanted.revised:
            done.revised += 1
        elif found.authored_by == author and not wanted.again:
            done.complete += 1
        else:
            chosen.append((row, found))
    return chosen


def _words_of(tx: Transaction, record_ids: Iterable[UUID]) -> dict[UUID, _Words]:
    found = tx.execute(_HISTORY["newest_words"], {"record_ids": list(record_ids)})
    return {row["record_id"]: _Words(row["delta_id"], row["authored_by"]) for row in found}


def _count(done: Resummarized, record_id: UUID, outcome: bool | Exception) -> None:
    if isinstance(outcome, NotFoundError):
        done.gone += 1
    elif isinstance(outcome, NeurigraphError):
        done.failed.append((record_id, str(outcome)))
    elif isinstance(outcome, Exception):
        done.failed.append((record_id, f"{type(outcome).__name__}: {outcome}"))
    elif outcome:
        done.records += 1
    else:
        done.unchanged += 1


def _renew(context: Context, user_id: UUID, record_id: UUID, words: _Words) -> bool:
    """Summarise one record; False where its words came out as they were.

    Raises:
        NotFoundError: It is gone.
        ConflictError: It was revised meanwhile.
    """
    model = context.language_model
    segment = _read(context, user_id, record_id)
    summary = summary_of(model, segment, context.settings.ingestion.summary_words)
    values = checked(Revision(summary.title, summary.text, **asdict(keywords_of(model, segment))), context.redactor)
    # Unlike a person's revision, this can wait: a record never loses its vector for it.
    vector = to_record_vector(context.embedder.embed([values["summary"]])[0])
    with context.database.pipeline() as tx:
        locked = lock_words(tx, user_id, record_id)
        if _words_of(tx, [record_id])[record_id] != words:
            raise ConflictError("the record was revised while it was summarised: its words stay as they are now")
        return replace_words(tx, locked, values, vector, context.embedder.model, pipeline_author(model.name))


def _read(context: Context, user_id: UUID, record_id: UUID) -> Segment:
    """The part of a segment that a record was made of, from its transcript."""
    with context.database.pipeline() as tx:
        place = lock_record(tx, user_id, record_id)
        if place is None:
            raise NotFoundError
        query = _TRIGGERS["segment_of_record"].format(schema=place.schema)
        row = tx.execute(query, {"record_id": record_id}).fetchone()
    if row is None:
        raise ConflictError("the record has no transcript to be summarised from")
    content = durable_content(context.objects, row).content
    return Segment(ref_of(row), tuple(read_messages(content)))
