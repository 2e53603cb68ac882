"""The parts of notes of Basic Memory besides their words: tags of observations, relations to other notes, properties.

``- [category] words #tag (context)`` is an observation, and ``- relation_type [[Note]] (context)`` a relation.
"""

from __future__ import annotations

import datetime as dates
import re
from collections.abc import Iterable, Iterator, Mapping

from neurigraph_pipelines.text.flat_metadata import MAX_KEY_LENGTH
from neurigraph_pipelines.text.front_matter import MAX_VALUES
from neurigraph_pipelines.views.scalars import MetadataValue

_MOST_OF_PROPERTIES = 2_000
"""Characters of the properties that become metadata, whose limit is in bytes."""

RELATES = "relates to"
"""The relation of a line that names a note alone."""

_OBSERVATION = re.compile(r"[ \t]*+[-*+][ \t]++\[(?![ xX/-]?\]|\[)[^\[\]\n]{1,200}\](?![(\[])[ \t]++(\S.*)")
_TAG = re.compile(r"(?<!\S)#([^\W\d][\w/-]{0,99})")
_RELATION = re.compile(r"[ \t]*+[-*+][ \t]++([^\[\]\n`]{0,120}?)[ \t]*+\[\[([^\[\]\n]{1,1000})\]\]")

_PLAIN = str | int | float | dates.date


def tags_of(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the tags of the observations, each once."""
    words = (found[1] for line in lines if (found := _OBSERVATION.match(line)))
    return tuple(dict.fromkeys(tag for one in words for tag in _TAG.findall(one)))[:MAX_VALUES]


def relations_of(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each relation, in words, with the link that follows it."""
    for line in lines:
        if (found := _RELATION.match(line)) is not None:
            yield " ".join(found[1].replace("_", " ").strip("\"' ").split()) or RELATES, found[2]


def metadata_of(properties: Mapping[str, object]) -> dict[str, MetadataValue]:
    """Return the properties that metadata can hold: booleans, texts, numbers and dates as texts, and lists of them."""
    kept: dict[str, MetadataValue] = {}
    room = _MOST_OF_PROPERTIES
    for name, value in properties.items():
        values = value if isinstance(value, list) else [value]
        told = [one if isinstance(one, bool) else str(one) for one in values if isinstance(one, _PLAIN)]
        room -= len(name) + len(str(told))
        if told and len(told) == len(values) and 0 < len(name) <= MAX_KEY_LENGTH and room > 0:
            kept[name] = [*told] if isinstance(value, list) else told[0]
    return kept
