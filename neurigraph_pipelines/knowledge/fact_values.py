"""What people may say of a fact: its words, and what they decide about it; checked, cleaned and redacted.

``stating`` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from decimal import Decimal
from typing import Any

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.knowledge.writing import MAX_WHO
from neurigraph_pipelines.model.facts import MAX_STATEMENT, FactKind, Impact, StatedAs
from neurigraph_pipelines.text.hygiene import clean_json, clean_text, utc

MAX_PART = 200
"""Most characters of a name, a place, a reason, a manner, a tag or a part of a slot."""

MAX_FACT_TAGS = 20
MAX_METADATA_BYTES = 16_384
_GREATEST_NUMBER = 10**15


@dataclass(frozen=True, slots=True)
class FactState:
    """What people decide about a fact, whatever its words. None leaves a field as it is.

    Attributes:
        pinned: Whether it is to be kept, whatever else happens to it.
        metadata: Flat: texts, numbers, truth values and nulls; at most 16 KiB. Replaces what was there.
        tags: Replace those that were there.
        valid_until: When it stopped being true.
        forget_after: From then on it is hidden, and 30 days later erased. A later time takes it back until then.
        cleared: Which of the two times to clear.
    """

    pinned: bool | None = None
    tags: Sequence[str] | None = None
    metadata: Mapping[str, Any] | None = None
    valid_until: datetime | None = None
    forget_after: datetime | None = None
    cleared: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class FactWords:
    """What a fact states. A next version takes from the one before what is None here, except where it says otherwise.

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

    def given(self) -> dict[str, Any]:
        """Return the fields that are set."""
        return {one.name: getattr(self, one.name) for one in fields(self) if getattr(self, one.name) is not None}


def word_values(context: Context, words: FactWords) -> dict[str, Any]:
    """Return the words that are given, checked, as the query ``state_fact`` takes them."""
    values = words.given()
    if "statement" in values:
        values["statement"] = _text(context, "the statement", values["statement"], MAX_STATEMENT)
    for name in ("where", "why", "how", "subject", "predicate", "object"):
        if name in values:
            values[name] = _text(context, name, values[name], MAX_PART)
    if "where" in values:
        values["where_context"] = values.pop("where")
    if "who" in values:
        values["who"] = _texts(context, "who", values["who"], MAX_WHO)
    if len({"subject", "predicate", "object"} & values.keys()) not in (0, 3):
        raise InvalidInputError("give a subject, a predicate and an object, or none of them")
    for name in ("occurred_from", "occurred_until", "expires_at"):
        if name in values:
            values[name] = utc(values[name]).isoformat()
    if "occurred_from" in values and values.get("occurred_until", "~") <= values["occurred_from"]:
        raise InvalidInputError("occurred_until must be later than occurred_from")
    if not 0 <= values.get("importance", 0) <= 1:
        raise InvalidInputError("an importance lies between 0 and 1")
    return values


def state_values(context: Context, state: FactState) -> dict[str, Any]:
    """Return the fields of a state that are given, checked, as JSON has them."""
    values: dict[str, Any] = dict.fromkeys(state.cleared)
    if state.pinned is not None:
        values["pinned"] = state.pinned
    if state.tags is not None:
        values["tags"] = _texts(context, "a tag", state.tags, MAX_FACT_TAGS)
    if state.metadata is not None:
        values["metadata"] = _metadata(context, state.metadata)
    for name, moment in (("valid_until", state.valid_until), ("forget_after", state.forget_after)):
        if moment is not None:
            values[name] = utc(moment).isoformat()
    return values


def _metadata(context: Context, metadata: Mapping[str, Any]) -> dict[str, Any]:
    values, _ = clean_json(dict(metadata), context.settings.ingestion.unstorable_text)
    cleaned: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict | list):
            raise InvalidInputError(f"metadata is flat: {name[:50]!r} holds other values")
        if isinstance(value, int | float) and abs(value) > _GREATEST_NUMBER:
            raise InvalidInputError(f"metadata: the number of {name[:50]!r} is too great: send it as a text")
        redactor = context.redactor
        if redactor is not None and isinstance(value, str):
            value = redactor.redact(value)[0]
        cleaned[_text(context, "a name in metadata", name, MAX_PART)] = value
    # The database writes numbers with all their digits.
    shown = {name: format(Decimal(repr(one)), "f") if isinstance(one, float) else one for name, one in cleaned.items()}
    if len(json.dumps(shown, ensure_ascii=False).encode()) > MAX_METADATA_BYTES:
        raise InvalidInputError(f"metadata has more than {MAX_METADATA_BYTES:,} bytes: shorten it")
    return cleaned


def _texts(context: Context, what: str, texts: Sequence[str], most: int) -> list[str]:
    found = list(dict.fromkeys(_text(context, what, text, MAX_PART) for text in texts))
    if len(found) > most:
        raise InvalidInputError(f"there are {len(found):,} entries of {what} and the limit is {most}")
    return found


def _text(context: Context, what: str, text: str, limit: int) -> str:
    cleaned = " ".join(clean_text(text, context.settings.ingestion.unstorable_text)[0].split())
    if not cleaned:
        raise InvalidInputError(f"{what} is empty")
    if len(cleaned) > limit:
        raise InvalidInputError(f"{what} has {len(cleaned):,} characters and the limit is {limit:,}: shorten it")
    return cleaned if context.redactor is None else context.redactor.redact(cleaned)[0][:limit]
