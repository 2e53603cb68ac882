"""Gemini in Google Takeout: ``MyActivity.json`` of "My Activity", a list of prompts with their answers.

Google does not document the fields. Each prompt becomes a conversation, because the file does not say which belong
together. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, Opening, assemble, moment_of
from neurigraph_pipelines.inbox.imports.mail_bodies import visible
from neurigraph_pipelines.model import ImportNote, IncomingMessage, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import JsonObject, as_list, as_text, list_of, objects_of, text_of

PROMPTED = re.compile(r"(?:Prompted|Asked|Said)\s+", re.IGNORECASE)


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read one item of the list: a prompt and its answer. Activity in other products is left out."""
    products = item.get("products")
    named = [item.get("header"), *as_list(products)]
    if not any(isinstance(name, str) and is_gemini(name) for name in named):
        yield ImportNote("left out: activity in other products than Gemini", 1)
        return
    asked = PROMPTED.sub("", text_of(item, "title") or "", count=1)
    files = [f"[attached: {name}]" for one in list_of(item, "attachedFiles") if (name := as_text(one))]
    pages = (page for one in objects_of(item, "safeHtmlItem") if (page := text_of(one, "html")))
    answer = "\n".join(filter(None, map(visible, pages))).strip()
    time = moment_of(item, "time")
    messages = [
        IncomingMessage(role, words, external_id=key, occurred_at=time)
        for role, words, key in (
            (Role.USER, "\n".join(filter(None, [asked, *files])), "prompt"),
            (Role.ASSISTANT, answer, "answer"),
        )
        if words.strip()
    ]
    yield from assemble(
        where,
        id_at(time) if time is not None else Opening("gemini"),
        messages,
        title=asked[:80],
        started_at=time,
        fallback_time=fallback_time,
        details=SourceDetails(origin="gemini"),
    )


def is_gemini(name: str) -> bool:
    """Return whether the name of a product is one that Gemini has had."""
    return "gemini" in name.lower() or "bard" in name.lower()


def id_at(time: datetime) -> str:
    """Return the id of a prompt: its time in seconds, because the page of the same activity has no other id."""
    return f"gemini:{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
