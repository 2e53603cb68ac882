"""The fields of JSON that another program wrote: each accessor returns a value of its type, and nothing for any other.

So a field that is missing and one of a wrong shape are read alike, in one place.
"""

from __future__ import annotations

from typing import TypeAlias

from neurigraph_pipelines.views import scalars

Json: TypeAlias = scalars.Json
JsonObject: TypeAlias = scalars.JsonObject


def as_text(value: Json) -> str | None:
    """Return a value if it is a text and not blank, else None."""
    return value if isinstance(value, str) and value.strip() else None


def as_list(value: Json) -> list[Json]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_objects(value: Json) -> list[JsonObject]:
    """Return the objects of a list without its other items; return an empty list for anything but a list."""
    return [item for item in as_list(value) if isinstance(item, dict)]


def as_object(value: Json) -> JsonObject:
    """Return a value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def text_of(row: JsonObject, *names: str) -> str | None:
    """Return the first of some fields that is a text and not blank."""
    return next((text for name in names if (text := as_text(row.get(name)))), None)


def texts_of(row: JsonObject, *names: str) -> list[str]:
    """Return the texts in some fields, without blank ones."""
    return [text for name in names if (text := as_text(row.get(name)))]


def list_of(row: JsonObject, name: str) -> list[Json]:
    """Return the list in a field, else an empty one."""
    return as_list(row.get(name))


def objects_of(row: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects of the list in a field."""
    return as_objects(row.get(name))


def object_of(row: JsonObject, name: str) -> JsonObject:
    """Return the object in a field, else an empty one."""
    return as_object(row.get(name))


def number_of(row: JsonObject, name: str) -> int | float | None:
    """Return the number in a field; None for anything else, also for true and false."""
    value = row.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
