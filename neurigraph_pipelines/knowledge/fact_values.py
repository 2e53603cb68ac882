"""Values that people state of a fact: its words and their decisions; checked, cleaned and redacted.

``stating`` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from functools import partial

from neurigraph_pipelines.knowledge.writing import MAX_WHO
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.facts import MAX_STATEMENT
from neurigraph_pipelines.model.limits import MAX_TAG_LENGTH, MAX_TAGS
from neurigraph_pipelines.text.flat_metadata import flat_metadata
from neurigraph_pipelines.text.hygiene import clean_text, utc
from neurigraph_pipelines.text.json_fields import JsonObject, text_of
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs
from neurigraph_pipelines.views.scalars import Scalar, ValuesByName

MAX_PART = 200
"""Most characters of a name, a place, a reason, a manner or a part of a slot."""

_COLUMNS = {"where": "where_context"}  # "where" is a word of SQL


@dataclass(frozen=True, slots=True)
class FactState:
    """Decisions of people about a fact, besides its words. None leaves a field unchanged.

    Attributes:
        pinned: Whether it is to be kept, whatever else happens to it.
        metadata: Flat: texts, numbers, truth values and nulls; at most 16 KiB. Replaces the earlier metadata.
        tags: Replace those that were there.
        valid_until: When it stopped being true.
        forget_after: From then on it is hidden, and 30 days later erased. A later time takes it back until then.
        cleared: Which of the two times to clear.
    """

    pinned: bool | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Scalar | None] | None = None
    valid_until: datetime | None = None
    forget_after: datetime | None = None
    cleared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FactWords:
    """The fields of a fact. A next version takes fields that are None here from the version before, unless noted.

    Attributes:
        where: With ``why``, ``how``, the slot and the times: of this version alone.
        subject: With ``predicate`` and ``object``: what it says of whom.
    """

    statement: str | None = None
    kind: FactKind | None = None
    stated_as: StatedAs | None = None
    who: Sequence[str] | None = None
    where: str | None = None
    why: str | None = None
    how: str | None = None
    subject: str | None = None
    predicate: str | None = None
    object: str | None = None
    occurred_from: datetime | None = None
    occurred_until: datetime | None = None
    expires_at: datetime | None = None
    importance: float | None = None
    impact: Impact | None = None

    def given(self) -> ValuesByName:
        """Return the fields that are set."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}


def word_values(context: Context, words: FactWords) -> JsonObject:
    """Return the words that are given, checked, as the query ``state_fact`` takes them."""
    values: JsonObject = {}
    for name, value in words.given().items():
        match value:
            case datetime():
                values[name] = utc(value).isoformat()
            case StrEnum() | float() | int():
                values[name] = value
            case str() if name == "statement":
                values[name] = _text(context, "the statement", value, MAX_STATEMENT)
            case str():
                values[_COLUMNS.get(name, name)] = _text(context, name, value, MAX_PART)
            case Sequence():
                values[name] = [*_texts(context, name, value, MAX_WHO)]
    if len({"subject", "predicate", "object"} & values.keys()) not in (0, 3):
        raise InvalidInputError("give a subject, a predicate and an object, or none of them")
    if not 0 <= (words.importance or 0) <= 1:
        raise InvalidInputError("an importance lies between 0 and 1")
    return values


def require_period(values: JsonObject) -> None:
    """Require that the time of a fact ends after it begins.

    Args:
        values: Those of the fact, with those that it takes from the version before.

    Raises:
        InvalidInputError: It does not.
    """
    begin, end = text_of(values, "occurred_from"), text_of(values, "occurred_until")
    if begin is not None and end is not None and datetime.fromisoformat(end) <= datetime.fromisoformat(begin):
        raise InvalidInputError(f"occurred_until must be later than occurred_from, which is {begin}")


def state_values(context: Context, state: FactState) -> JsonObject:
    """Return the fields of a state that are given, checked, as JSON has them."""
    values: JsonObject = dict.fromkeys(state.cleared)
    if state.pinned is not None:
        values["pinned"] = state.pinned
    if state.tags is not None:
        values["tags"] = [*_texts(context, "tags", state.tags, MAX_TAGS, MAX_TAG_LENGTH)]
    if state.metadata is not None:
        values["metadata"] = {**flat_metadata(state.metadata, partial(_clean, context), with_nulls=True)}
    for name, moment in (("valid_until", state.valid_until), ("forget_after", state.forget_after)):
        if moment is not None:
            values[name] = utc(moment).isoformat()
    return values


def _texts(context: Context, what: str, texts: Sequence[str], most: int, longest: int = MAX_PART) -> list[str]:
    found = list(dict.fromkeys(_text(context, f"an entry of `{what}`", text, longest) for text in texts))
    if len(found) > most:
        raise InvalidInputError(f"`{what}` has {len(found):,} entries and the limit is {most}: leave some out")
    return found


def _text(context: Context, what: str, text: str, limit: int) -> str:
    cleaned = " ".join(clean_text(text, context.settings.ingestion.unstorable_text)[0].split())
    if not cleaned:
        raise InvalidInputError(f"{what} is empty: write something, or leave it out")
    if len(cleaned) > limit:
        raise InvalidInputError(f"{what} has {len(cleaned):,} characters and the limit is {limit:,}: shorten it")
    return _redacted(context, cleaned)[:limit]


def _clean(context: Context, text: str) -> str:
    return _redacted(context, clean_text(text, context.settings.ingestion.unstorable_text)[0])


def _redacted(context: Context, text: str) -> str:
    return text if context.redactor is None else context.redactor.redact(text)[0]
