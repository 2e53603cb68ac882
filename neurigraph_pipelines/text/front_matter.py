"""The properties at the beginning of a Markdown note, which are YAML between two lines of three hyphens."""

from __future__ import annotations

import datetime as dates
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.note_dates import stated_time

MAX_FRONT_MATTER_CHARACTERS = 16_384
"""Longer properties are text of the note."""

MAX_VALUES = 20
"""Most tags, and most other names, of a note."""

_MAX_DEPTH = 16
_BLOCK = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_NAME = re.compile(r"^[^\s:][^:\n]*:(?:\s|$)", re.MULTILINE)
_HAPPENED = ("date", "created", "updated", "modified")
_UPDATED = ("updated", "modified")
_READ = ("title", "tags", "tag", "aliases", "alias", *_HAPPENED)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties of a note, as its front matter states them.

    Attributes:
        date: The date that they state for it.
        happened_at: Its date, else when it was created, else when it was updated.
        problem: What of them cannot be read, and why.
        others: All others, by their names in lower case.
    """

    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    date: datetime | None = None
    happened_at: datetime | None = None
    updated_at: datetime | None = None
    problem: str | None = None
    others: Mapping[str, object] = field(default_factory=dict)


def front_matter(text: str) -> FrontMatter:
    """Read the properties of a note. Anchors and references are refused: a few lines of them are billions of values."""
    block = _BLOCK.match(text[: MAX_FRONT_MATTER_CHARACTERS + 1]) if text.startswith("---") else None
    if block is None:
        return FrontMatter()
    try:
        found = _values(block[1])
    except InvalidInputError as error:
        return FrontMatter(problem=str(error))
    times, problems = _times(found)
    return FrontMatter(
        title=next(iter(_words(found.get("title"))), None),
        tags=tuple(dict.fromkeys(tag for tag in map(_tag, _words(found.get("tags", found.get("tag")), ", ")) if tag)),
        aliases=tuple(_words(found.get("aliases", found.get("alias")))),
        date=times.get("date"),
        happened_at=next((times[name] for name in _HAPPENED if name in times), None),
        updated_at=next((times[name] for name in _UPDATED if name in times), None),
        problem="; ".join(problems) or None,
        others={name: value for name, value in found.items() if name not in _READ},
    )


def in_words(text: str) -> str:
    """Return a text with its properties in words, in place of YAML; a name, labels and dates are kept elsewhere.

    Text between two rules that names no property stays.
    """
    block = _BLOCK.match(text[: MAX_FRONT_MATTER_CHARACTERS + 1]) if text.startswith("---") else None
    if block is None or (block[1].strip() and not _NAME.search(block[1])):
        return text
    stated = ((name, ", ".join(_words(value))) for name, value in front_matter(text).others.items())
    said = [f"{name.replace('_', ' ')}: {value}." for name, value in stated if value]
    return "\n".join([*said, text[block.end() :].strip()]).strip() or text


def _values(block: str) -> Mapping[str, object]:
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
    texts = [" ".join(str(one).split()) for one in given if isinstance(one, str | int | float | dates.date)]
    return [text for text in texts if text][:MAX_VALUES]


def _tag(tag: str) -> str:
    return tag.lstrip("#").strip()


def _times(found: Mapping[str, object]) -> tuple[dict[str, datetime], list[str]]:
    """Return the times among the properties by their names, and why others are not usable."""
    times: dict[str, datetime] = {}
    problems: list[str] = []
    for name in _HAPPENED:
        try:
            time = stated_time(found.get(name))
        except InvalidInputError as error:
            problems.append(str(error))
            continue
        if time is not None:
            times[name] = time
    return times, problems
