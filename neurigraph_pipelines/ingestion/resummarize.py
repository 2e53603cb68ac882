"""Resummarizing: new titles, summaries and keywords, or keywords alone, by the configured language model.

Reads the transcripts from the object store, runs the steps of the ingestion job, and writes the result as a revision
with the pipeline as its author. ``reembed`` computes vectors of another model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import pipeline_author
from neurigraph_pipelines.ingestion.distinct_titles import free_titles, possible_titles
from neurigraph_pipelines.ingestion.keywords import keywords_of
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, lock_record, pages_of_days
from neurigraph_pipelines.ingestion.records import Progress
from neurigraph_pipelines.ingestion.recount import recount_record
from neurigraph_pipelines.ingestion.refiling import refile
from neurigraph_pipelines.ingestion.revision import Revision, checked, lock_words, replace_words
from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.ingestion.summarize import summary_of
from neurigraph_pipelines.ingestion.unfinished import UNFINISHED, end_mark
from neurigraph_pipelines.model import KEYWORD_COLUMNS, Segment
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NeurigraphError, NotFoundError, TransientError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.vectors import to_record_vector

_DOWN_AFTER = 3
"""Consecutive transient failures after which the provider counts as down; a single one may be the record's fault."""

_FILED = ("filing (", "links (", "description of nodes (")
"""How marks begin of what ``refile`` makes again."""

_HISTORY = statements("history")


@dataclass(frozen=True, slots=True)
class WantedSummaries:
    """Which records to summarise. Records whose words another model wrote are always included.

    Attributes:
        again: Include records whose words this model wrote.
        revised: Include records whose words a person wrote.
        keywords_only: Write keywords, and leave titles and summaries as they are.
    """

    again: bool = False
    revised: bool = False
    keywords_only: bool = False


@dataclass(slots=True)
class Resummarized:
    """The result of a run; in a dry run ``records`` counts the records it would summarise.

    Attributes:
        model: The language model.
        records: Records with new words.
        unchanged: Records for which the model gave the same words.
        complete: Records that were skipped because this model wrote their words.
        revised: Records that were skipped because a person wrote their words.
        gone: Records that were erased meanwhile.
        failed: Records that keep their words, with the reason.
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
    """The author of a record's words, and the delta that wrote them."""

    delta_id: UUID
    authored_by: str
    notes: tuple[str, ...] = ()

    @property
    def is_unfinished(self) -> bool:
        """Whether a defect kept some of them from being made."""
        return self.authored_by == UNFINISHED

    @property
    def by_person(self) -> bool:
        return not self.authored_by.startswith(pipeline_author(""))


def resummarize(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    record_ids: Sequence[UUID] | None = None,
    *,
    wanted: WantedSummaries | None = None,
    dry_run: bool = False,
    on_done: Progress | None = None,
) -> Resummarized:
    """Write new titles, summaries and keywords for the records of a period.

    Each record is written in its own transaction, unless it was revised meanwhile.

    Args:
        context: With the language model, which is called up to its ``concurrency`` at once.
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id, record_ids: Only this user's records, and only these; those that do not exist fail.
        wanted: Which records to summarise.
        dry_run: Only count.
        on_done: Called with the number of records checked or summarised.

    Raises:
        TransientError: The provider is down. Written records stay, and the next run continues.
    """
    wanted = wanted or WantedSummaries()
    done, down, absent = Resummarized(context.language_model.name), 0, set(record_ids or ())
    pool = ThreadPoolExecutor(context.language_model.concurrency, thread_name_prefix="resummarize")
    try:
        for page in pages_of_days(context.database, since, until, user_id, record_ids):
            absent.difference_update(row.record_id for row in page)
            chosen = _chosen(context, page, wanted, done)
            _tell(on_done, len(page) - len(chosen))
            if dry_run:
                done.records += len(chosen)
                continue
            for (row, _), outcome in zip(chosen, pool.map(partial(_attempt, context, wanted), chosen), strict=True):
                _count(done, row.record_id, outcome)
                down = down + 1 if isinstance(outcome, TransientError) else 0
                if down == _DOWN_AFTER and isinstance(outcome, TransientError):
                    raise outcome
                _tell(on_done, 1)
    finally:
        pool.shutdown(cancel_futures=True)  # an interruption waits only for running calls
    done.failed += [(record_id, "there is no such record") for record_id in sorted(absent)]
    return done


def _tell(on_done: Progress | None, records: int) -> None:
    if on_done is not None:
        on_done(records)


def _attempt(context: Context, wanted: WantedSummaries, item: tuple[RecordLocation, _Words]) -> bool | Exception:
    row, words = item
    describe = _keywords_again if wanted.keywords_only and not words.is_unfinished else _summarize_again
    try:
        return describe(context, row.user_id, row.record_id, words)
    except OperationalError:
        raise
    except Exception as error:  # one bad item must not fail the others
        return error


def _chosen(
    context: Context, page: Sequence[RecordLocation], wanted: WantedSummaries, done: Resummarized
) -> list[tuple[RecordLocation, _Words]]:
    """Return the records of a page to summarise, and count the others."""
    author = pipeline_author(done.model)
    with context.database.pipeline() as tx:
        words = _words_of(tx, [row.record_id for row in page], keywords_only=wanted.keywords_only)
    chosen: list[tuple[RecordLocation, _Words]] = []
    for row in page:
        found = words.get(row.record_id)
        if found is None:
            done.gone += 1
        elif found.by_person and not wanted.revised:
            done.revised += 1
        elif found.authored_by == author and not wanted.again:
            done.complete += 1
        else:
            chosen.append((row, found))
    return chosen


def _words_of(tx: Transaction, record_ids: Iterable[UUID], *, keywords_only: bool = False) -> dict[UUID, _Words]:
    keywords, summary = list(KEYWORD_COLUMNS.values()), ["title", "summary"]
    values = {
        "record_ids": list(record_ids),
        "pipeline": pipeline_author(""),
        "by_models": keywords if keywords_only else summary,
        "by_people": keywords if keywords_only else summary + keywords,
    }
    found = tx.execute(_HISTORY["newest_words"], values)
    return {row["record_id"]: _Words(row["delta_id"], row["authored_by"], tuple(row["notes"])) for row in found}


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


def _summarize_again(context: Context, user_id: UUID, record_id: UUID, words: _Words) -> bool:
    """Summarise one record; return False if the model gave the same words.

    Raises:
        NotFoundError: The record no longer exists.
        ConflictError: It was revised meanwhile.
    """
    model = context.language_model
    segment = read_segment(context, user_id, record_id)
    summary = summary_of(model, segment, context.settings.ingestion.summary_words)
    values = checked(
        Revision(title=summary.title, summary=summary.text, **asdict(keywords_of(model, segment))), context.redactor
    )
    if words.is_unfinished:
        _make_missing(context, record_id, segment, words, values["kw_entities"] or ())
    # Unlike a person's revision, this fails if the embedder is down, so a record never loses its vector.
    vector = to_record_vector(context.embedder.embed([values["summary"]])[0])
    with context.database.pipeline() as tx:
        locked = lock_words(tx, user_id, record_id)
        if segment.ref.note is None or segment.ref.title is None:
            subjects = (*(values["kw_topics"] or ()), *(values["kw_entities"] or ()))
            titles = possible_titles(record_id, values["title"], subjects, segment.occurred_at)
            values["title"] = free_titles(tx, user_id, {record_id: titles})[record_id]
        if _words_of(tx, [record_id])[record_id] != words:
            raise ConflictError("the record was revised while it was being summarised: its words stay as they are now")
        author = pipeline_author(model.name)
        is_changed = replace_words(tx, locked, values, vector, context.embedder.model, author)
        if words.is_unfinished:
            end_mark(tx, record_id, locked.stored._asdict() | values, author)
        return is_changed or words.is_unfinished


def _make_missing(context: Context, record_id: UUID, segment: Segment, words: _Words, entities: Sequence[str]) -> None:
    """Make the parts that a memory lacks beside its words: the stems of its passages, its place and its links."""
    with context.database.pipeline() as tx:
        location = lock_record(tx, segment.ref.user_id, record_id)
    if location is None:
        raise NotFoundError
    recount_record(context, location)
    if any(note.startswith(_FILED) for note in words.notes):
        refile(context, record_id, segment, entities)


def _keywords_again(context: Context, user_id: UUID, record_id: UUID, words: _Words) -> bool:
    """Extract the keywords of one record; return and raise as ``_summarize_again`` does."""
    model = context.language_model
    keywords = keywords_of(model, read_segment(context, user_id, record_id))
    values = checked(Revision(**asdict(keywords)), context.redactor)
    with context.database.pipeline() as tx:
        locked = lock_words(tx, user_id, record_id)
        if _words_of(tx, [record_id], keywords_only=True)[record_id] != words:
            raise ConflictError("the keywords were revised meanwhile: they stay as they are now")
        return replace_words(tx, locked, values, None, context.embedder.model, pipeline_author(model.name))
