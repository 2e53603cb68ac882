"""Edits and deletions among the events of a Slack channel, which some exports list beside the messages.

``slack`` reads the files of an export, ``slack_messages`` the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_REPEATED = "message_replied"
"""The event of an answer, which the export also has as a message."""


def as_edited(messages: Sequence[Any]) -> list[Any]:
    """Return the messages of a day as they were last: edited words in place of the first ones, deleted ones marked.

    The last version of a message of another day stands where it was edited.
    """
    places = {one.get("ts"): place for place, one in enumerate(messages) if _is_message(one)}
    found: list[Any] = list(messages)
    for place, one in enumerate(messages):
        if not isinstance(one, dict):
            continue
        inner, deleted = one.get("message"), one.get("deleted_ts")
        if one.get("subtype") == "message_changed" and isinstance(inner, dict):
            at = places.setdefault(inner.get("ts"), place)
            found[at] = inner
            if at != place:
                found[place] = None
        elif one.get("subtype") == "message_deleted" and deleted in places:
            found[places[deleted]] = None
        elif one.get("subtype") == _REPEATED:
            found[place] = None
    return [one for one, before in zip(found, messages, strict=True) if one is not None or before is None]


def _is_message(one: Any) -> bool:
    return isinstance(one, dict) and not str(one.get("subtype")).startswith("message_") and one.get("ts") is not None
