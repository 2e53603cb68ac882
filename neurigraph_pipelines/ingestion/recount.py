"""Recounting: the words of the passages of stored records, counted again from their transcripts.

For a change of the installation's language, and of the rules by which words are counted. Passages keep their places in
the file and their vectors; ``reembed`` computes other vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion.passage_words import columns_of, count_words
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, lock_record, pages_of_days
from neurigraph_pipelines.ingestion.reembed import read_passages
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.text.languages import CODES, languages_of, stemmer_of
from neurigraph_pipelines.text.lexemes import window_lengths
from neurigraph_pipelines.text.search_segments import SearchSegment, Words
from neurigraph_pipelines.text.transcript import Passage

_CHANGED = "the record was changed meanwhile: run it again"
_QUERIES = statements("commit")


@dataclass(slots=True)
class Recounted:
    """The result of a run; in a dry run ``records`` and ``passages`` count the planned writes.

    Attributes:
        records: Records whose passages have other words.
        passages: Passages of these records.
        complete: Records whose passages came out the same.
        failed: Records that keep their passages, with the reason.
    """

    records: int = 0
    passages: int = 0
    complete: int = 0
    failed: list[tuple[UUID, str]] = field(default_factory=list)


def recount(
    context: Context,
    since: datetime | None,
    until: datetime,
    user_id: UUID | None = None,
    *,
    dry_run: bool = False,
) -> Recounted:
    """Count the words of the passages of a period again; each record is written in its own transaction.

    Args:
        context: With the language of the installation.
        since: Start of the period; None for the beginning.
        until: End of the period, exclusive.
        user_id: Only this user's records.
        dry_run: Read and count, and write nothing.
    """
    done = Recounted()
    for page in pages_of_days(context.database, since, until, user_id):
        for location in page:
            try:
                changed = recount_record(context, location, dry_run=dry_run)
            except OperationalError:
                raise
            except Exception as error:  # one damaged file must not fail the others
                done.failed.append((location.record_id, str(error)))
                continue
            done.records += changed > 0
            done.passages += changed
            done.complete += changed == 0
    return done


def recount_record(context: Context, location: RecordLocation, *, dry_run: bool = False) -> int:
    """Count one record again; return the number of its passages, or 0 if they came out the same."""
    passages = read_passages(context, location)[1]
    if not passages:
        return 0
    words, languages = _words(passages, context.settings.language)
    key = {"record_id": location.record_id}
    with context.database.pipeline() as tx:
        found = lock_record(tx, location.user_id, location.record_id)
        stored = tx.execute(_QUERIES["lock_segment"], key).fetchone() if found else None
        if stored is None:
            raise ConflictError(_CHANGED)
        before = SearchSegment.read(stored["content"])
        if before.rows["seq"].tolist() != [passage.seq for passage in passages]:
            raise ConflictError(_CHANGED)
        segment = before.with_words(words, window_lengths([one.total for one in words]))
        columns = columns_of(segment, languages, context.settings.language)
        if all(columns[name] == stored[name] for name in ("content", "languages")):
            return 0
        if not dry_run:
            tx.execute(_QUERIES["replace_words"], key | columns)
    return len(passages)


def _words(passages: list[Passage], usual: str) -> tuple[list[Words], list[str]]:
    """Return the words of passages as a commit counts them, and the stemmers of their messages."""
    messages = list({passage.message.seq: passage.message for passage in passages}.values())
    _, languages = languages_of(messages, CODES[usual])
    spoken = {message.seq: stemmer_of(one) for message, one in zip(messages, languages, strict=True)}
    return [count_words(passage, spoken[passage.message.seq]) for passage in passages], list(spoken.values())
