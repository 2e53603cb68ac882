"""The current branch of a conversation whose messages name their parents: edited ones begin new branches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TypeVar

_Message = TypeVar("_Message")

ROOT = "00000000-0000-4000-8000-000000000000"
"""The parent of first messages in the exports of Claude and of LibreChat."""


def current_branch(
    messages: Sequence[_Message],
    *,
    key: Callable[[_Message], str | None],
    parent: Callable[[_Message], str | None],
    time: Callable[[_Message], datetime],
) -> list[_Message]:
    """Return the messages from the first to the latest one, without those of other branches.

    A message without a parent, or with one that is not there, follows the message before it in the list, so nothing is
    lost if an export is incomplete. Without any parents all messages are returned, in the order of the list.
    """
    places = {name: place for place, one in enumerate(messages) if (name := key(one)) is not None}
    roots = {ROOT, parent(messages[0])} if messages else set[str | None]()
    if all(parent(one) is None for one in messages):
        return list(messages)

    def before(place: int) -> int | None:
        named = parent(messages[place])
        if named is not None and named in places:
            return places[named]
        if named is not None and named in roots:
            return None
        return place - 1 if place else None

    latest = max(range(len(messages)), key=lambda place: (time(messages[place]), place))
    branch: dict[int, None] = {}  # a cycle ends at the first repeated message
    at: int | None = latest
    while at is not None and at not in branch:
        branch[at] = None
        at = before(at)
    return [messages[place] for place in list(branch)[::-1]]
