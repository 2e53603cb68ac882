"""Exports of other memory systems: mem0's memories and Supermemory's documents. Each becomes a conversation.

Its one message is what the system kept. ``json_stream`` reads the file as a stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, moment, objects_of, text_of
from neurigraph_pipelines.model import NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.model.spaces import MAX_TAGS, is_container_tag
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import Scalar


def of_mem0(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a memory of mem0, or the page of them that ``get_all`` returns."""
    for number, raw in enumerate(_listed(item, "results"), 1):
        yield from _kept("mem0", raw, "memory", "created_at", f"{where}, memory {number}", fallback_time)


def of_supermemory(item: dict[str, Any], where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a document of Supermemory, or the page of them that its list returns."""
    for number, raw in enumerate(_listed(item, "memories", "documents"), 1):
        yield from _kept("supermemory", raw, "content", "createdAt", f"{where}, document {number}", fallback_time)


def _listed(item: dict[str, Any], *names: str) -> list[dict[str, Any]]:
    found = next((item[name] for name in names if isinstance(item.get(name), list)), None)
    return [item] if found is None else objects_of(found)


def _kept(
    origin: str, raw: dict[str, Any], words: str, created: str, where: str, fallback_time: datetime | None
) -> Iterator[Item]:
    text = text_of(raw.get(words))
    if text is None:
        yield RejectedItem(where, f"it has no {words}")
        return
    time = moment(raw.get(created)) or fallback_time
    key = next((name for value in (raw.get("customId"), raw.get("id")) if (name := text_of(value))), None)
    metadata = raw.get("metadata")
    kind = text_of(raw.get("type"))
    yield from assemble(
        where,
        f"{origin}:{key}" if key else derived_id(origin, text),
        [NewMessage(Role.USER, text, text_of(raw.get("actor_id")), "1", time)],
        title=text_of(raw.get("title")),
        fallback_time=fallback_time,
        details=SourceDetails(
            origin=origin,
            document_type=DocumentType(kind) if kind in tuple(DocumentType) else DocumentType.NOTE,
            url=text_of(raw.get("url")),
            metadata=_scalars(metadata) if isinstance(metadata, dict) else {},
            updated_at=moment(raw.get("updated_at") or raw.get("updatedAt")),
            container_tags=_tags(raw.get("containerTags")),
        ),
    )


def _tags(value: Any) -> tuple[str, ...]:
    """Return the tags that a space can have."""
    listed = value if isinstance(value, list) else []
    return tuple(sorted({tag for tag in listed if isinstance(tag, str) and is_container_tag(tag)}))[:MAX_TAGS]


def _scalars(metadata: Mapping[str, Any]) -> dict[str, Scalar]:
    """Return what flat metadata can hold."""
    return {name: value for name, value in metadata.items() if isinstance(value, str | int | float | bool)}
