"""The names of operations in the OpenAPI document; clients name their methods by them."""

from __future__ import annotations

from fastapi.routing import APIRoute

_GROUPS = {"add": "inbox", "search": "retrieval", "ask": "retrieval", "context": "retrieval", "forget": "forgetting"}
"""Groups by the tags that are verbs: a client has methods of these names."""


def operation_name(route: APIRoute) -> str:
    """Return the group of an operation and its verb there, such as ``links.end`` for ``end_link``."""
    if not route.tags:
        return route.name
    group = _GROUPS.get(str(route.tags[0]), str(route.tags[0]))
    words = [word for word in route.name.split("_") if _singular(word) != _singular(group)]
    return f"{group}.{'_'.join(words) or ('get' if 'GET' in (route.methods or ()) else route.name)}"


def _singular(word: str) -> str:
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
