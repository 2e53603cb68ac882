"""Exports of other memory systems: mem0's memories and Supermemory's documents. Each becomes a conversation.

Its one message is the memory of the other system. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, moment_of
from neurigraph_pipelines.model import NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.model.spaces import MAX_TAGS, is_container_tag
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects, as_text, list_of, object_of, text_of
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import Scalar


def of_mem0(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a memory of mem0, or the page of them that ``get_all`` returns."""
    for number, raw in enumerate(_listed(item, "results"), 1):
        yield from _kept("mem0", raw, "memory", "created_at", f"{where}, memory {number}", fallback_time)


def of_supermemory(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a document of Supermemory, or the page of them that its list returns."""
    for number, raw in enumerate(_listed(item, "memories", "documents"), 1):
        yield from _kept("supermemory", raw, "content", "createdAt", f"{where}, document {number}", fallback_time)


def _listed(item: JsonObject, *names: str) -> list[JsonObject]:
    found = next((item[name] for name in names if isinstance(item.get(name), list)), None)
    return [item] if found is None else as_objects(found)


def _kept(
    origin: str, raw: JsonObject, words: str, created: str, where: str, fallback_time: datetime | None
) -> Iterator[Item]:
    text = text_of(raw, words)
    if text is None:
        yield RejectedItem(where, f"it has no {words}")
        return
    time = moment_of(raw, created) or fallback_time
    key = next((name for value in (raw.get("customId"), raw.get("id")) if (name := as_text(value))), None)
    kind = text_of(raw, "type")
    yield from assemble(
        where,
        f"{origin}:{key}" if key else derived_id(origin, text),
        [NewMessage(Role.USER, text, text_of(raw, "actor_id"), "1", time)],
        title=text_of(raw, "title"),
        fallback_time=fallback_time,
        details=SourceDetails(
            origin=origin,
            document_type=DocumentType(kind) if kind in tuple(DocumentType) else DocumentType.NOTE,
            url=text_of(raw, "url"),
            metadata=_scalars(object_of(raw, "metadata")),
            updated_at=moment_of(raw, "updated_at", "updatedAt"),
            container_tags=_tags(list_of(raw, "containerTags")),
        ),
    )


def _tags(value: list[Json]) -> tuple[str, ...]:
    """Return the tags that a space can have."""
    return tuple(sorted({tag for tag in value if isinstance(tag, str) and is_container_tag(tag)}))[:MAX_TAGS]


def _scalars(metadata: JsonObject) -> dict[str, Scalar]:
    """Return what flat metadata can hold."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
