"""Search as faces call it: times in the question's words are understood, and the best records reranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain

from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.measuring import measured, report
from neurigraph_pipelines.model.ports import Reranker
from neurigraph_pipelines.retrieval.changed import newest_first
from neurigraph_pipelines.retrieval.index.stored import StoredRecord
from neurigraph_pipelines.retrieval.log import expiring, note
from neurigraph_pipelines.retrieval.query.expansion import fused, wordings
from neurigraph_pipelines.retrieval.query.find import find
from neurigraph_pipelines.retrieval.query.found import Found
from neurigraph_pipelines.retrieval.query.hits import view
from neurigraph_pipelines.retrieval.query.parse import ParsedQuestion, moment_asked, named_times, parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.rerank import rerank
from neurigraph_pipelines.retrieval.query.warming import is_prefetch_due, prefetch
from neurigraph_pipelines.retrieval.replicas import from_replica
from neurigraph_pipelines.text.hygiene import FIRST_YEAR, LAST_YEAR
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.time_phrases import EventPhrase, period_around
from neurigraph_pipelines.views import search as views
from neurigraph_pipelines.views.search import Period

_BEGINNING, _END = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)


@measured("search")
@from_replica
def search(
    context: Context,
    question: Question,
    *,
    asked_at: datetime | None = None,
    run_after: Callable[..., object] | None = None,
    is_noted: bool = True,
) -> views.Found:
    """Answer a question from metadata layers; no file is opened.

    Times that the words name are preferred, never required: what was said about a time was often said at another.
    ``before the move`` costs a second run of ``find``, for the time of the move. An expander adds other wordings of the
    question, and each costs a run of ``find``. A reranker puts the first ``settings.reranker.top_n`` records in order
    by their titles and summaries. If either fails, the answer is that without it, and a note says so.

    Args:
        question: Its ``periods`` are read from its words unless it gives some.
        asked_at: Relative times count from here, and days begin in its zone; by default now, in UTC.
        run_after: Called with a function and its arguments, which the caller runs once the answer is given: it
            prefetches the nodes that may be asked about next.
        is_noted: Whether this is a retrieval of its own, which is logged if the settings ask for it, and whose notes
            name conflicts.

    Raises:
        InvalidInputError: The question is empty or too long, or a limit or filter is not valid.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    settings, reranker = context.settings, context.reranker
    parsed = parse(question, settings.language)
    moment = moment_asked(parsed, asked_at)
    periods = enriched("times named", lambda: _named_periods(context, parsed, moment), list[Period])
    records_read = settings.reranker.top_n if reranker is not None else 0
    found = _found_by_any_wording(context, _widened(parsed, records_read, periods))
    if reranker is not None:
        found = _reranked(reranker, parsed, found, records_read)
    best = found
    found = enriched("conflicts", lambda: newest_first(context, best, with_notes=is_noted), lambda: best)
    if run_after is not None and is_prefetch_due(context.database, context.claims):
        run_after(prefetch, context)
    if is_noted:
        returned = (
            (one.record.record_id for one in found.records if one.is_stored),
            (one.record_id for one in found.messages if one.record_id is not None),
        )
        note(context, "search", chain(*returned), question.query)
    report("searched", records=len(found.records), messages=len(found.messages))
    expiry = expiring(context, (one.record.record_id for one in found.records if one.is_stored))
    return view(found, periods, expiry)


def _found_by_any_wording(context: Context, parsed: ParsedQuestion) -> Found:
    """Return the hits of a question and, if there is an expander, of its other wordings."""
    question, settings = parsed.question, context.settings
    found = find(context, parsed)
    others, notes = wordings(context.expander, question.query, settings.expansion.wordings)
    if others:
        asked = [replace(question, query=other, explain=False) for other in others]
        asked_first = found
        found = enriched(
            "other wordings",
            lambda: fused(asked_first, [find(context, parse(one, settings.language)) for one in asked], question),
            lambda: asked_first,
        )
    return replace(found, notes=(*found.notes, *notes))


def _named_periods(context: Context, parsed: ParsedQuestion, moment: datetime) -> list[Period]:
    """Return the periods that the question names, that of an event by its time in the memories."""
    times = named_times(parsed, moment)
    periods = list(times.periods)
    if times.event is not None:
        record = _record_of_event(context, parsed, times.event)
        if record is not None:
            periods.append(period_around(times.event, record.occurred_at.astimezone(moment.tzinfo)))
    return periods


def _record_of_event(context: Context, parsed: ParsedQuestion, phrase: EventPhrase) -> StoredRecord | None:
    """Return the best record about an event; None if the best does not hold a word of it: then it is about another."""
    lexer = lexer_of(context.settings.language)
    about = Question(phrase.event, limit=1, message_limit=0, at=parsed.question.at)
    for found in find(context, parse(about, context.settings.language)).records:
        words = lexer.lexemes(f"{found.record.title} {found.record.summary}")
        if not set(lexer.lexemes(phrase.event)).isdisjoint(words):
            return found.record
    return None


def _widened(parsed: ParsedQuestion, least: int, periods: Sequence[Period]) -> ParsedQuestion:
    """Return the question for at least so many records, with the periods that its words name."""
    question = parsed.question
    named = tuple((period.starts_at or _BEGINNING, period.ends_at or _END) for period in periods)
    return replace(
        parsed, question=replace(question, limit=max(question.limit, least), periods=question.periods or named)
    )


def _reranked(reranker: Reranker, parsed: ParsedQuestion, found: Found, most: int) -> Found:
    """Return the records in the reranker's order; their scores stay those of the search."""
    first, rest = found.records[:most], found.records[most:]
    texts = [f"{one.record.title}\n{one.record.summary}" for one in first]
    order, notes = rerank(reranker, parsed.question.query, texts)
    records = (*(first[index] for index in order), *rest)[: parsed.question.limit]
    return replace(found, records=records, notes=(*found.notes, *notes))
