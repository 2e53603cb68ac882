"""Recounting: the words of the passages of stored records, counted again from their transcripts.

For a change of the installation's language, and of the rules by which words are counted. Passages keep their places in
the file and their vectors; ``reembed`` computes other vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg import OperationalError

from neurigraph_pipelines.database.array_literals import array_literal
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion.passage_words import count_lexemes
from neurigraph_pipelines.ingestion.record_locations import RecordLocation, lock_record, pages_of_days
from neurigraph_pipelines.ingestion.reembed import read_passages
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.text.languages import CODES, languages_of, stemmer_of
from neurigraph_pipelines.text.lexemes import window_lengths
from neurigraph_pipelines.text.transcript import Passage

_QUERIES = statements("passages")


@dataclass(slots=True)
class Recounted:
    """The result of a run; in a dry run ``records`` and ``passages`` count what it would write.

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
        for location in (row.location for row in page):
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
    columns = _columns(passages, context.settings.language)
    key = {"record_id": location.record_id}
    with context.database.owner() as tx:  # the pipeline may not remove passages
        found = lock_record(tx, location.user_id, location.record_id)
        stored = tx.execute(_QUERIES["lock_counts"].format(schema=found.schema), key).fetchall() if found else []
        if found is None or [row["seq"] for row in stored] != columns["seq"]:
            raise ConflictError("the record was changed meanwhile: run it again")
        if all([row[name] for row in stored] == columns[name] for name in ("lexemes", "frequencies")):
            return 0
        if not dry_run:
            tx.execute(_QUERIES["replace_counts"].format(schema=found.schema), key | _literals(columns))
    return len(passages)


def _columns(passages: list[Passage], usual: str) -> dict[str, list[Any]]:
    """Return the columns of passages that hold their words, as a commit counts them."""
    messages = list({passage.message.seq: passage.message for passage in passages}.values())
    _, languages = languages_of(messages, CODES[usual])
    spoken = {message.seq: stemmer_of(one) for message, one in zip(messages, languages, strict=True)}
    counts = [count_lexemes(passage, spoken[passage.message.seq], usual) for passage in passages]
    return {
        "seq": [passage.seq for passage in passages],
        "lexemes": [lexemes for lexemes, _, _ in counts],
        "frequencies": [frequencies for _, frequencies, _ in counts],
        "lexeme_count": [total for _, _, total in counts],
        "window_length": window_lengths([total for _, _, total in counts]),
    }


def _literals(columns: dict[str, list[Any]]) -> dict[str, str]:
    """Return the columns as array literals; an array within one is its words with spaces between, which none has."""
    joined = {name: [" ".join(map(str, one)) for one in columns[name]] for name in ("lexemes", "frequencies")}
    return {name: array_literal(values) for name, values in (columns | joined).items()}
