"""A search as people ask for it: filters checked, times that the question names understood, the first results reranked.

What faces call. The search itself is ``search``; the words of times are read by ``time_phrases``.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError, NeurigraphError
from neurigraph_pipelines.model import Claims, Period
from neurigraph_pipelines.ports import Database, Embedder, Reranker
from neurigraph_pipelines.retrieval.query.question import MAX_QUERY_CHARACTERS, Answer, Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.query.time_phrases import event_phrases, period_around, time_phrases
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.text.hygiene import FIRST_YEAR, LAST_YEAR, MAX_NAME_CHARACTERS, clean_text, utc
from neurigraph_pipelines.text.lexemes import Lexer

_BEGINNING, _END = datetime(FIRST_YEAR, 1, 1, tzinfo=UTC), datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC)


def find(
    database: Database,
    embedder: Embedder,
    settings: Settings,
    claims: Claims,
    question: Question,
    *,
    asked_at: datetime | None = None,
    reranker: Reranker | None = None,
) -> Answer:
    """Search the metadata layer; no file is opened.

    Times that the words name are preferred, never required: what was said about a time was often said at another.
    ``before the move`` costs one more search, for the time of the move.

    Args:
        question: Its ``periods`` are read from its words unless some are given.
        asked_at: Relative times count from here, and days begin in its zone; now in UTC if not given.
        reranker: Puts the first ``settings.reranker.top_n`` records in order by their titles and summaries. Without
            an answer from it the order stays, and a note says so.

    Raises:
        InvalidInputError: The question is empty or too long, or a limit or filter cannot be.
        NotFoundError: The node to search below does not exist or is not visible.
    """
    question = checked(question)
    moment = _with_zone(asked_at or question.at or datetime.now(UTC))
    named = [] if question.periods else _named_periods(database, embedder, settings, claims, question, moment)
    wide = replace(
        question,
        limit=max(question.limit, settings.reranker.top_n) if reranker else question.limit,
        periods=question.periods or tuple((p.start or _BEGINNING, p.end or _END) for p in named),
    )
    answer = replace(search(database, embedder, settings, claims, wide), periods=[_shown(period) for period in named])
    return answer if reranker is None else _reranked(reranker, question, answer, settings.reranker.top_n)


def checked(question: Question) -> Question:
    """The question with its words and filters in the form in which they are compared.

    Raises:
        InvalidInputError: A filter cannot be.
    """
    after, before = (None if t is None else utc(t) for t in (question.occurred_after, question.occurred_before))
    if after is not None and before is not None and after >= before:
        raise InvalidInputError("occurred_after does not lie before occurred_before, so nothing is between: swap them")
    speaker = None if question.speaker is None else _clean(question.speaker)
    if speaker == "":
        raise InvalidInputError("the speaker is empty: give a name, or leave the filter out")
    if speaker is not None and len(speaker) > MAX_NAME_CHARACTERS:
        raise InvalidInputError(f"the speaker has more than {MAX_NAME_CHARACTERS} characters: give the name as stored")
    return replace(
        question,
        query=_clean(question.query),
        at=None if question.at is None else utc(question.at),
        occurred_after=after,
        occurred_before=before,
        speaker=speaker,
    )


def _clean(text: str) -> str:
    return clean_text(text, "repair")[0].strip()


def _with_zone(moment: datetime) -> datetime:
    """A moment in its own zone, or in UTC; of a year that can be stored."""
    return utc(moment) if moment.tzinfo is None else utc(moment).astimezone(moment.tzinfo)


def _named_periods(
    database: Database, embedder: Embedder, settings: Settings, claims: Claims, question: Question, moment: datetime
) -> list[Period]:
    text = question.query[:MAX_QUERY_CHARACTERS]
    periods = time_phrases(text, moment)
    for phrase in event_phrases(text)[:1]:
        about = Question(phrase.event, limit=1, message_limit=0, at=question.at)
        found = search(database, embedder, settings, claims, about).hits
        if found and _speaks_of(found[0], phrase.event, Lexer(settings.language)):
            happened_at = datetime.fromisoformat(found[0]["occurred_at"])
            periods.append(period_around(phrase, happened_at.astimezone(moment.tzinfo)))
    return periods


def _speaks_of(hit: dict[str, Any], event: str, lexer: Lexer) -> bool:
    """Whether a record holds a word of the event: the best hit for what is not remembered is about something else."""
    return not set(lexer.lexemes(event)).isdisjoint(lexer.lexemes(f"{hit['title']} {hit['summary']}"))


def _shown(period: Period) -> dict[str, Any]:
    return {
        "words": period.words,
        "start": period.start and period.start.isoformat(),
        "end": period.end and period.end.isoformat(),
        "certain": period.certain,
    }


def _reranked(reranker: Reranker, question: Question, answer: Answer, most: int) -> Answer:
    """The records in the reranker's order; their scores stay those of the search."""
    first, rest = answer.hits[:most], answer.hits[most:]
    order, notes = reranked(reranker, question.query, [f"{hit['title']}\n{hit['summary']}" for hit in first])
    hits = [first[number] for number in order] + rest
    return replace(answer, hits=hits[: question.limit], notes=[*answer.notes, *notes])


def reranked(reranker: Reranker | None, question: str, texts: list[str]) -> tuple[list[int], list[str]]:
    """The order in which a reranker puts texts, and a note where it could not be asked.

    Returns:
        Places in ``texts``, best first; as they stand without a reranker, or where it has no answer.
    """
    places = list(range(len(texts)))
    if reranker is None or not texts:
        return places, []
    try:
        scores = reranker.scores(question, texts)
    except NeurigraphError:
        return places, [f"{reranker.name} could not rerank: the order is that of the search."]
    return sorted(places, key=lambda place: -scores[place]), []
