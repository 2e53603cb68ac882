"""Arrays of a statement as one text each: psycopg would build them element by element, at 5 µs each.

Statements name the type: ``%(name)s::text []``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# No text that Postgres stores has a NUL character.
_BETWEEN, _NULL = "\0,", "\0-"


def array_literal(values: Sequence[Any]) -> str:
    """Return values as the text of a Postgres array.

    Args:
        values: Texts, bytes, or what ``str`` writes as Postgres reads it: numbers, booleans, UUIDs, times, vectors; and
            None.

    Raises:
        ValueError: A text has a NUL character.
    """
    if not values:
        return "{}"
    texts = [_text(value) for value in values]
    joined = _BETWEEN.join(texts)
    if joined.count("\0") != len(texts) - 1 + values.count(None):
        raise ValueError("a text has a NUL character")
    escaped = joined.replace("\\", "\\\\").replace('"', '\\"').replace(_BETWEEN, '","')
    return f'{{"{escaped}"}}'.replace(f'"{_NULL}"', "NULL")


def columns(rows: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """Return rows with the same names as one array a name, as a statement with ``unnest`` takes them."""
    return {name: array_literal([row[name] for row in rows]) for name in rows[0]}


def _text(value: Any) -> str:
    if type(value) is str:
        return value
    if value is None:
        return _NULL
    return f"\\x{value.hex()}" if isinstance(value, bytes) else str(value)
