"""Ids by their beginnings, as git takes the beginning of a commit's."""

from __future__ import annotations

import re
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database

SHORTEST_ID = 4
"""Fewest characters of the beginning of an id."""

_QUERIES = statements("short_ids")
_BEGINNING = re.compile(rf"[0-9a-f]{{{SHORTEST_ID},32}}")
_PLACE = re.compile(r"(?P<id>.+):(?P<message>[1-9]\d{0,8})")


def may_begin(text: str) -> bool:
    """Return whether an id may begin with a text."""
    return _BEGINNING.fullmatch(text.lower().replace("-", "")) is not None


def id_of(database: Database, caller: Claims | None, kind: str, text: str) -> UUID:
    """Return the id of a kind that a text is, or the only one that begins with the text.

    Args:
        caller: Who must see the thing; None for the operator, who sees those of all users.

    Raises:
        InvalidInputError: The text is no id, or the beginning of several.
        NotFoundError: There is no such thing, or the caller may not see it.
    """
    try:
        return UUID(text)
    except ValueError:
        pass
    name, digits = kind.replace("_", " "), text.lower().replace("-", "")
    if not may_begin(text):
        shown = f"an id, or at least its first {SHORTEST_ID} characters"
        raise InvalidInputError(f"{text[:80]!r} is not the id of a {name}: give {shown}")
    bounds = {"first": UUID(digits.ljust(32, "0")), "last": UUID(digits.ljust(32, "f"))}
    with database.owner() if caller is None else database.agent(caller) as tx:
        found = tx.execute(_QUERIES["between"], {"kind": kind, **bounds}).fetchall()
    if not found:
        raise NotFoundError(f"there is no {name} {text}")
    if len(found) > 1:
        raise InvalidInputError(f"several ids of a {name} begin with {text}: give more characters")
    wanted: UUID = found[0]["id"]
    return wanted


def place_of(text: str) -> tuple[str, int | None]:
    """Return the id and the message of a place such as ``1f3a9c2d:5``; None for a memory as a whole."""
    place = _PLACE.fullmatch(text)
    return (place["id"], int(place["message"])) if place else (text, None)
