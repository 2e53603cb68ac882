"""Statements that say the same as a text, looked up before it is written, behind the same gates as a search."""

from __future__ import annotations

import re

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.retrieval.query.facts import RankedFact, show_facts
from neurigraph_pipelines.retrieval.query.find import find
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.restating import NAME, WORD
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.lexemes import lexer_of
from neurigraph_pipelines.text.negations import NEGATION
from neurigraph_pipelines.text.statement_key import statement_key
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.search import Duplicates

SIMILAR = 0.5
"""Share of the words of two statements, of those that either has, from which they may say the same. Fitted to the
development half of ``samples/duplicates.toml`` (``python -m benchmarks encoder``)."""

MAX_DUPLICATES = 50

_FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
_QUERIES = statements("fact_search")


def find_duplicates(context: Context, text: str, limit: int = 10) -> Duplicates:
    """Return the facts and messages that the caller sees and that say the same as a text, or nearly.

    A statement with other figures, another name in place of one, or a negation that the text has not, is never nearly
    the same.

    Raises:
        InvalidInputError: The text is empty or too long, or the limit is not valid.
    """
    if not 1 <= limit <= MAX_DUPLICATES:
        raise InvalidInputError(f"a limit lies between 1 and {MAX_DUPLICATES}")
    text = clean_text(text, "repair")[0]
    question = Question(text, limit=limit, message_limit=limit, include_facts=True)
    found = find(context, parse(question, context.settings.language))
    key = statement_key(text)
    values = {"user_id": context.claims.user_id, "statement_key": key, "limit": limit}
    same = context.database.ask(context.claims, _QUERIES["same_statements"], values)
    said = show_facts(context, [RankedFact(str(row["fact_id"]), 1.0, 0.0) for row in same], limit, None)
    exact = [FoundFact.of(one, 1.0) for one in said]  # whatever has faded
    known = {fact.fact_id for fact in exact}
    near = [
        FoundFact.of(fact, share)
        for fact in found.facts or ()
        if fact.fact_id not in known
        and not _has_another_name(text, fact.statement)
        and (share := likeness(text, fact.statement, context.settings.language)) >= SIMILAR
    ]
    return Duplicates(
        facts=[*exact, *sorted(near, key=lambda one: -one.score)][:limit],
        messages=[one for one in found.messages if key and one.statement == key],
        threshold=SIMILAR,
    )


def likeness(one: str, other: str, language: str) -> float:
    """Return the share of common words; 0 for other figures, or if one of both denies."""
    if set(_FIGURE.findall(one)) != set(_FIGURE.findall(other)):
        return 0.0
    if bool(NEGATION.search(one)) != bool(NEGATION.search(other)):
        return 0.0
    first, second = (set(lexer_of(language).lexemes(text)) for text in (one, other))
    return round(len(first & second) / max(len(first | second), 1), 6)


def _has_another_name(one: str, other: str) -> bool:
    """Return whether each of two texts has a name that the other one lacks, as if one took the place of the other."""
    return bool(_names_beyond(one, other)) and bool(_names_beyond(other, one))


def _names_beyond(text: str, other: str) -> set[str]:
    return {name.casefold() for name in NAME.findall(text)} - set(WORD.findall(other.casefold()))
