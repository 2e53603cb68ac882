"""Recognition of exports in JSON by the keys of their first object."""

from __future__ import annotations

from operator import itemgetter

from neurigraph_pipelines.inbox.export_formats import EXPORT_FORMATS
from neurigraph_pipelines.inbox.imports.message_lists import MESSAGE_LISTS, is_of_lists
from neurigraph_pipelines.text.json_fields import JsonObject, as_objects

UNKNOWN_MESSAGES = "unknown messages"
"""Stands for an object with messages of a form that is not read."""

_OF_OPENAI = {"tool_call_id", "function_call", "refusal"}


def format_of_object(item: JsonObject) -> str | None:
    """Return the format of the first object of a file, by the most keys that fit; None if it is of none.

    An object with messages of roles is ``openai`` if one of them has what only that form has, and else ``jsonl``.
    """
    if is_of_lists(item):
        return MESSAGE_LISTS
    fits = [(len(keys), name) for name, one in EXPORT_FORMATS.items() for keys in one.keys if keys <= item.keys()]
    found = max(fits, key=itemgetter(0))[1] if fits else None
    if found is not None or not isinstance(item.get("messages"), list):
        return found
    messages = as_objects(item["messages"])
    if not messages:
        return "jsonl"
    if any("creator" in one and ("created_date" in one or "topic_id" in one) for one in messages):
        return "google-chat"
    if not any("role" in one or "type" in one for one in messages):
        return UNKNOWN_MESSAGES
    of_openai = any(isinstance(one.get("content"), list) or one.keys() & _OF_OPENAI for one in messages)
    return "openai" if of_openai else "jsonl"
