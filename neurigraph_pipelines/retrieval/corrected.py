"""Corrections in answers: a person's revision of a summary stands before the messages that say it otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import ask_rows
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Statement
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.retrieval.changed import Conflict
from neurigraph_pipelines.retrieval.passages import ReadMessage, stated
from neurigraph_pipelines.text.corrections import Correction, correction_of, corrections_of, sentences_of
from neurigraph_pipelines.text.lexemes import Lexer, lexer_of
from neurigraph_pipelines.views.kinds import Effect

_QUERIES = statements("corrections")


class _Revised(NamedTuple):
    """A summary that a person wrote: the record, the summary before people revised it, and the time of the last."""

    record_id: UUID
    before: str
    corrected_at: datetime


def with_corrections(context: Context, passages: Sequence[ReadMessage]) -> list[ReadMessage]:
    """Return passages, before the first one that was corrected its correction; as they are if a defect ends that.

    A correction is a sentence that came into the summary of a memory in the place of another one.
    """
    return enriched("corrections", lambda: list(_corrected(context, passages)), lambda: list(passages))


def _corrected(context: Context, passages: Sequence[ReadMessage]) -> Iterator[ReadMessage]:
    lexer = lexer_of(context.settings.language)
    revised = _revised(context, passages)
    told: set[tuple[UUID | None, str]] = set()
    for one in passages:
        row = revised.get(one.hit.record_id) if one.message else None
        made = corrections_of(row.before, one.hit.summary, lexer) if row else []
        correction = correction_of(one.text, made, lexer)
        if row and correction and (row.record_id, correction.text) not in told:
            told.add((row.record_id, correction.text))
            yield ReadMessage(one.hit, correction.text, row.corrected_at, is_correction=True)
        yield replace(one, corrected_by=correction)


def _revised(context: Context, passages: Sequence[ReadMessage]) -> dict[UUID | None, _Revised]:
    record_ids = list({one.hit.record_id for one in passages if one.message and one.hit.record_id})
    if not record_ids:
        return {}
    rows = ask_rows(context.database, context.claims, _QUERIES["corrected"], _Revised, {"record_ids": record_ids})
    return {row.record_id: row for row in rows}


def corrected_first(
    context: Context, asked: frozenset[str], given: Sequence[Statement], passages: Sequence[ReadMessage]
) -> list[Statement]:
    """Return statements, each that rests on corrected words alone behind the correction of them.

    Where the question is about other words of the same message, the correction follows them.

    Args:
        asked: The lexemes of the question.
        given: Statements that quote the passages by their places, from 1.
    """
    lexer = lexer_of(context.settings.language)
    found: dict[Statement, None] = {}
    for one in given:
        cited = [passages[place - 1] for place in one.quoted]
        made = [passage.corrected_by for passage in cited if passage.corrected_by]
        correction = correction_of(one.text, made, lexer) if len(made) == len(cited) else None
        if correction is None:
            found.setdefault(one)
            continue
        place = _place(passages, cited, correction)
        told = next((other for other in given if other.quoted == (place,)), None) or stated(passages, place)
        is_all = all(len(list(sentences_of(passage.text))) == 1 for passage in cited)
        if is_all or not asked.isdisjoint(lexer.lexemes(correction.text)):
            found |= dict.fromkeys((told, replace(one, is_superseded=True)))
        else:
            found |= dict.fromkeys((one, told))
    return list(found)


def corrected_conflicts(
    conflicts: Iterable[Conflict], passages: Sequence[ReadMessage], lexer: Lexer
) -> Iterator[Conflict]:
    """Yield conflicts, those that wait for a person with the corrections of their later statements.

    One whose earlier statement was corrected is over.
    """
    made = {passage.hit.record_id: [passage.corrected_by] for passage in passages if passage.corrected_by}
    for one in conflicts:
        later, earlier = (
            correction_of(text, made.get(record_id, []), lexer) if one.effect == Effect.FLAGGED else None
            for text, record_id in (
                (one.later_statement, one.later_record_id),
                (one.earlier_statement, one.earlier_record_id),
            )
        )
        if earlier is None:
            yield one._replace(later_statement=later.text) if later else one


def _place(passages: Sequence[ReadMessage], cited: Sequence[ReadMessage], correction: Correction) -> int:
    """Return the place of a correction of some passages, which stands before them."""
    records = {one.hit.record_id for one in cited}
    return next(
        place
        for place, one in enumerate(passages, start=1)
        if one.is_correction and one.text == correction.text and one.hit.record_id in records
    )
