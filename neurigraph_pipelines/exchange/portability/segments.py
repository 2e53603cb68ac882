"""Rows of search segments in a stream, which are read before they are stored.

What follows from the content of a segment is computed from it, and never read from the stream.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from neurigraph_pipelines.exchange.portability.identifiers import row_of
from neurigraph_pipelines.exchange.portability.stream import rows_name
from neurigraph_pipelines.exchange.received_segments import checked_vectors, known_languages, read_segment
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.text.json_fields import Json
from neurigraph_pipelines.text.search_segments import DamagedSegmentError, SearchSegment

SEGMENTS = rows_name("segments")
"""The part of a stream with the segments."""

_VECTORS = ("vectors", "next_vectors")
_LAST_WITH_WINDOWS = 3
"""The last version of the stream in which each passage has two vectors, its own and that of its window."""

_HEX = "\\x"  # the beginning of bytes as Postgres writes them


def checked_line(line: str, usual: str, version: int) -> str:
    """Return the row of a segment, after reading its content and its vectors.

    Args:
        usual: The stemmer of this installation.
        version: That of the stream.

    Raises:
        InvalidInputError: The line is no row.
        DamagedSegmentError: Its segment is damaged.
    """
    row = row_of(line)
    languages = row.get("languages")
    vectors: dict[str, bytes] = {}
    segment = read_segment(bytes_of(row.get("content")))
    for name in _VECTORS:
        if row.get(name) is not None:
            packed = bytes_of(row[name])
            vectors[name] = _own(packed, len(segment.rows)) if version <= _LAST_WITH_WINDOWS else packed
            checked_vectors(vectors[name], len(segment.rows))
    stemmers = known_languages(map(str, languages if isinstance(languages, list) else ()))
    return line_of(segment, stemmers, usual, {**row, **vectors})


def line_of(segment: SearchSegment, languages: Iterable[str], usual: str, others: Mapping[str, object]) -> str:
    """Return the row of a segment as a line.

    Args:
        languages: The stemmers of its messages.
        usual: The stemmer of this installation.
        others: The columns that do not follow from the segment; bytes may be texts as Postgres writes them.
    """
    columns: dict[str, object] = dict.fromkeys((*_VECTORS, "model", "next_model", "is_counted"))
    columns |= {**others, **columns_of(segment, languages, usual)}
    return json.dumps(
        {name: _HEX + value.hex() if isinstance(value, bytes) else value for name, value in columns.items()}
    )


def _own(packed: bytes, passages: int) -> bytes:
    """Return the first of two vectors of each passage; before them are the scales of both."""
    size, rest = divmod(len(packed), 2 * passages)
    if rest:
        raise DamagedSegmentError("the bytes are no vectors of a search segment")
    places = range(0, len(packed), 2 * size)
    return b"".join(packed[at : at + 4] + packed[at + 8 : at + 4 + size] for at in places)


def bytes_of(value: Json) -> bytes:
    """Return the bytes in a text as Postgres writes them.

    Raises:
        DamagedSegmentError: It is none.
    """
    try:
        if isinstance(value, str) and value.startswith(_HEX):
            return bytes.fromhex(value.removeprefix(_HEX))
    except ValueError:
        pass
    raise DamagedSegmentError("what should be bytes is none")
