"""The properties at the beginning of a Markdown note, which are YAML between two lines of three hyphens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.text.hygiene import utc

MAX_FRONT_MATTER_CHARACTERS = 16_384
"""Longer properties are text of the note."""

MAX_VALUES = 20
"""Most tags, and most other names, of a note."""

_MAX_DEPTH = 16
_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HAPPENED = ("date", "created", "updated", "modified")
_UPDATED = ("updated", "modified")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What the properties of a note say of it.

    Attributes:
        happened_at: Its date, else when it was created, else when it was updated.
        problem: Why they cannot be read, if so.
    """

    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    happened_at: datetime | None = None
    updated_at: datetime | None = None
    problem: str | None = None


def front_matter(text: str) -> FrontMatter:
    """Read the properties of a note. Anchors and references are refused: a few lines of them are billions of values."""
    block = _BLOCK.match(text[: MAX_FRONT_MATTER_CHARACTERS + 1]) if text.startswith("---") else None
    if block is None:
        return FrontMatter()
    try:
        found = _values(block[1])
    except InvalidInputError as error:
        return FrontMatter(problem=str(error))
    return FrontMatter(
        title=next(iter(_words(found.get("title"))), None),
        tags=tuple(dict.fromkeys(tag for tag in map(_tag, _words(found.get("tags", found.get("tag")), ", ")) if tag)),
        aliases=tuple(_words(found.get("aliases", found.get("alias")))),
        happened_at=_first_time(found, _HAPPENED),
        updated_at=_first_time(found, _UPDATED),
    )


def _values(block: str) -> Mapping[str, Any]:
    """Return the properties by their names in lower case.

    Raises:
        InvalidInputError: They are no YAML, or more than plain values.
    """
    import yaml

    depth = 0
    try:
        for token in yaml.scan(block, Loader=yaml.SafeLoader):
            name = type(token).__name__
            depth += name.endswith(("SequenceStartToken", "MappingStartToken")) - name.endswith("EndToken")
            if isinstance(token, yaml.AnchorToken | yaml.AliasToken) or depth > _MAX_DEPTH:
                raise InvalidInputError("its properties have a reference, an anchor or deep lists, which are not read")
        found = yaml.safe_load(block)
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError, TypeError) as error:
        reason = " ".join(str(getattr(error, "problem", None) or type(error).__name__).split())[:200]
        raise InvalidInputError(f"its properties are not readable YAML ({reason})") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInputError("its properties are no names with values")
    return {key.lower(): value for key, value in found.items() if isinstance(key, str)}


def _words(value: Any, separators: str = "") -> list[str]:
    """Return the texts of a value or a list of values; a text is split at some characters."""
    given = value if isinstance(value, list) else [value]
    if isinstance(value, str) and separators:
        given = re.split(f"[{separators}]", value)
    texts = [" ".join(str(one).split()) for one in given if isinstance(one, str | int | float | date)]
    return [text for text in texts if text][:MAX_VALUES]


def _tag(tag: str) -> str:
    return tag.lstrip("#").strip()


def _first_time(found: Mapping[str, Any], names: tuple[str, ...]) -> datetime | None:
    return next((time for time in (_time(found.get(name)) for name in names) if time is not None), None)


def _time(value: Any) -> datetime | None:
    try:
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day, tzinfo=UTC)
        return utc(value) if isinstance(value, datetime) else None
    except (ValueError, OverflowError, InvalidInputError):
        return None
