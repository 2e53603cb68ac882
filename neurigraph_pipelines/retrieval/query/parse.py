"""Step 1, parse: a question is checked and cleaned, its filters put in UTC, and its words split into lexemes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from neurigraph_pipelines.model import Role
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.measuring import measured
from neurigraph_pipelines.retrieval.query.framing import unframed, without_requests
from neurigraph_pipelines.retrieval.query.question import (
    MAX_LIMIT,
    MAX_MESSAGE_LIMIT,
    MAX_QUERY_CHARACTERS,
    Question,
)
from neurigraph_pipelines.retrieval.query.several import asks_for_several
from neurigraph_pipelines.retrieval.query.speakers import role_asked
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS, clean_text, utc
from neurigraph_pipelines.text.languages import STEMMERS, language_of
from neurigraph_pipelines.text.lexemes import count_plainly, lexer_of, plain, stop_words
from neurigraph_pipelines.text.time_phrases import EventPhrase, asks_when, event_phrases, time_phrases
from neurigraph_pipelines.views.search import Period

MAX_QUERY_LEXEMES = 64

MOST_LANGUAGES = 5
"""Most languages in whose stems a question is asked."""


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """A question whose text can be stored, whose filters are in UTC and whose limits are in range.

    Attributes:
        asked: The query without its framing, such as "can you list": what is looked for.
        language: The stemmer's language in which it was parsed.
        stems: The distinct stems of ``asked``, at most ``MAX_QUERY_LEXEMES`` of a language.
        lexemes: The distinct stems without accents, the form in which passages hold them.
        role: The role that the question is about: the user for "my", the assistant for "your".
        asks_when: Whether it asks for a time.
        asks_for_several: Whether it counts, lists, orders or compares things.
    """

    question: Question
    asked: str
    language: str
    stems: tuple[str, ...]
    lexemes: tuple[str, ...]
    role: Role | None
    asks_when: bool
    asks_for_several: bool


@dataclass(frozen=True, slots=True)
class NamedTimes:
    """The times that a question names.

    Attributes:
        periods: Stretches of time that follow from the words alone.
        event: A phrase such as ``before the move``, whose time only the memories know.
    """

    periods: tuple[Period, ...]
    event: EventPhrase | None


@measured("search.parse")
def parse(question: Question, language: str) -> ParsedQuestion:
    """Check and clean a question.

    Raises:
        InvalidInputError: The query is empty or too long, a limit is out of range, or a filter is contradictory, empty
            or outside the years that can be stored.
    """
    checked = _with_checked_filters(question)
    _require_valid_query(checked)
    query = checked.query
    asked = enriched("framing", lambda: unframed(query), lambda: query)
    role = enriched("role asked about", lambda: role_asked(without_requests(query)), lambda: None)
    when = enriched("whether it asks when", lambda: asks_when(asked), lambda: False)
    several = enriched("whether it asks for several", lambda: asks_for_several(query), lambda: False)
    return _asked_in((language,), ParsedQuestion(checked, asked, language, (), (), role, when, several))


def in_languages(parsed: ParsedQuestion, others: Iterable[str]) -> ParsedQuestion:
    """Return a question with its stems in other languages, too: those of the memories that it may find.

    The stop words of its own language are left out in all of them: "die" is no word of a question in German.
    """
    languages = tuple(dict.fromkeys((parsed.language, *others)))[:MOST_LANGUAGES]
    if len(languages) == 1:
        return parsed
    found = enriched("language", lambda: language_of(parsed.question.query), lambda: None)
    own = STEMMERS.get(found or "", parsed.language)
    return _asked_in(languages, parsed, stop_words(own))


def _asked_in(
    languages: Iterable[str], parsed: ParsedQuestion, without: frozenset[str] = frozenset()
) -> ParsedQuestion:
    stems: dict[str, None] = {}
    for language in languages:
        found = dict.fromkeys(_stems(language, parsed.asked, without))
        stems.update(dict.fromkeys(list(found)[:MAX_QUERY_LEXEMES]))
    return replace(parsed, stems=tuple(stems), lexemes=tuple(dict.fromkeys(map(plain, stems))))


def _stems(language: str, asked: str, without: frozenset[str]) -> list[str]:
    return enriched("stems", lambda: lexer_of(language).stems(asked, without), lambda: count_plainly(asked)[0])


def moment_asked(parsed: ParsedQuestion, asked_at: datetime | None) -> datetime:
    """Return when a question is asked, in the zone of ``asked_at`` or in UTC.

    Without ``asked_at`` it is the past moment that is asked about, or now.

    Raises:
        InvalidInputError: It lies outside the years that can be stored.
    """
    moment = asked_at or parsed.question.at or datetime.now(UTC)
    return utc(moment) if moment.tzinfo is None else utc(moment).astimezone(moment.tzinfo)


def named_times(parsed: ParsedQuestion, moment: datetime) -> NamedTimes:
    """Return the times that a question names, unless it gives periods itself.

    Args:
        moment: When it is asked; relative times count from here, and days begin in its zone.
    """
    if parsed.question.periods:
        return NamedTimes((), None)
    events = event_phrases(parsed.question.query)
    return NamedTimes(tuple(time_phrases(parsed.question.query, moment)), events[0] if events else None)


def _with_checked_filters(question: Question) -> Question:
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


def _require_valid_query(question: Question) -> None:
    if not question.query:
        raise InvalidInputError("the query is empty")
    if len(question.query) > MAX_QUERY_CHARACTERS:
        raise InvalidInputError(
            f"the query has {len(question.query):,} characters and the limit is {MAX_QUERY_CHARACTERS:,}"
        )
    if not 1 <= question.limit <= MAX_LIMIT:
        raise InvalidInputError(f"limit lies between 1 and {MAX_LIMIT}")
    if not 0 <= question.message_limit <= MAX_MESSAGE_LIMIT:
        raise InvalidInputError(f"message_limit lies between 0 and {MAX_MESSAGE_LIMIT}")


def _clean(text: str) -> str:
    return clean_text(text, "repair")[0].strip()
