"""Container tags as callers name them."""

from __future__ import annotations

from collections.abc import Iterable

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.spaces import MAX_TAGS, is_container_tag


def checked_tags(container_tags: Iterable[str]) -> tuple[str, ...]:
    """Return container tags, each once and in alphabetical order.

    Raises:
        InvalidInputError: One is not well-formed, or there are too many.
    """
    tags = tuple(sorted(set(container_tags)))
    for tag in tags:
        if not is_container_tag(tag):
            raise InvalidInputError(
                f"{tag[:120]!r} is no container tag: use 1 to 100 of the characters A-Z, a-z, 0-9, _, : and -"
            )
    if len(tags) > MAX_TAGS:
        raise InvalidInputError(f"these are {len(tags)} container tags and the limit is {MAX_TAGS}")
    return tags
