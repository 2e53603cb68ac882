"""The memories of other memory systems, as their calls and files give them. Each memory becomes a conversation.

Its one message is the memory of the other system. Shapes are those of the systems' own sources:

- mem0: the memories of ``get_all``. Supermemory: the documents of its list.
- Zep: ``EntityEdge``, ``Episode`` and ``EntityNode`` of its Python client, as its lists and searches have them.
- LangGraph: ``Item.dict()`` of ``langgraph.store.base``.
- Hindsight: ``ListMemoryUnitsResponse`` of its HTTP API.
- The reference server "memory" of the Model Context Protocol: its ``memory.jsonl``.

``json_stream`` reads the file as a stream; ``letta`` and ``zep`` have conversations, which ``agent_files`` reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, message_id, moment_of
from neurigraph_pipelines.inbox.imports.json_stream import parse_object, required_object
from neurigraph_pipelines.inbox.imports.jsonl import MAX_LINE_BYTES, lines_of
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.model.spaces import MAX_TAGS, is_container_tag
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_text, list_of, object_of, text_of
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import MetadataValue


@dataclass(frozen=True, slots=True)
class _Kept:
    """How a system writes one kind of memory.

    Attributes:
        page: The fields of a page that list it.
        words: The field with its text. Values that are no text are written in lines.
        ids: Fields that name it together; none, if the words do.
        times: Fields with the time at which it was said, the best first.
        told: Fields that become metadata.
        title: The field with its title.
        changes: Whether another text under the same id is the next message; otherwise the first one stays.
        known: Further fields that are read or say nothing.
    """

    page: tuple[str, ...]
    words: str
    ids: tuple[str, ...]
    times: tuple[str, ...]
    told: tuple[str, ...] = ()
    title: str = "title"
    changes: bool = True
    known: frozenset[str] = frozenset()

    @property
    def fields(self) -> frozenset[str]:
        """The fields that are read."""
        one = {self.words, self.title, "metadata", *self.ids, *self.times, *self.told}
        return self.known | one | {"updated_at", "updatedAt", "type", "url", "actor_id", "containerTags"}


_USERS = ("user_id", "agent_id", "app_id", "run_id")
_OF_SUPERMEMORY = frozenset({"customId"})
_OF_EPISODES = ("source", "source_description", "session_id", "thread_id", "role")
_SCORES = frozenset({"score", "relevance", "processed"})
_KINDS = {
    "mem0": (_Kept(("results",), "memory", ("id",), ("created_at",), (*_USERS, "categories"), changes=False),),
    "supermemory": (
        _Kept(
            ("memories", "documents"), "content", ("id",), ("createdAt",), changes=False, known=frozenset({"customId"})
        ),
    ),
    "zep": (
        _Kept(
            ("edges",),
            "fact",
            ("uuid",),
            ("valid_at", "created_at"),
            ("name", "invalid_at", "expired_at"),
            "",
            known=_SCORES,
        ),
        _Kept(
            ("episodes",),
            "content",
            ("uuid",),
            ("created_at",),
            ("source", "source_description", "session_id", "thread_id"),
        ),
        _Kept(("nodes",), "summary", ("uuid",), ("created_at",), ("labels",), "name", known=_SCORES),
    ),
    "langgraph": (
        _Kept(("items",), "value", ("namespace", "key"), ("updated_at", "created_at"), ("namespace", "key")),
    ),
    "hindsight": (
        _Kept(
            ("items",),
            "text",
            ("id",),
            ("occurred_start", "date", "mentioned_at"),
            ("context", "type", "fact_type", "entities", "tags", "document_id", "occurred_end"),
        ),
    ),
    "mcp-memory": (
        _Kept((), "observations", ("name",), (), ("entityType",), title="name"),
        _Kept((), "relationType", ("from", "relationType", "to"), (), title=""),
    ),
}
"""What each system keeps, by the name of its format."""


def _of(origin: str, item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    kinds = _KINDS[origin]
    pages = [(kind, name) for kind in kinds for name in kind.page if isinstance(item.get(name), list)]
    if not pages:
        kind = next((one for one in kinds if one.words in item), kinds[0])
        yield from _kept(origin, kind, item, f"{where}, memory 1", fallback_time)
    for kind, name in pages:
        for number, raw in enumerate(list_of(item, name), 1):
            place = f"{where}, memory {number}"
            try:
                yield from _kept(origin, kind, required_object(raw), place, fallback_time)
            except InvalidInputError as error:
                yield RejectedItem(place, str(error))


of_mem0 = partial(_of, "mem0")
of_supermemory = partial(_of, "supermemory")
of_zep = partial(_of, "zep")
of_langgraph = partial(_of, "langgraph")
of_hindsight = partial(_of, "hindsight")


def of_mcp_memory(reading: Reading) -> Iterator[Item]:
    """Read the lines of a graph of the reference server."""
    parser = KeepingParser()
    with reading.open() as stream:
        for number, line in lines_of(stream, MAX_LINE_BYTES):
            where = f"{reading.part.name}, line {number}"
            try:
                if isinstance(line, RejectedItem):
                    raise InvalidInputError(line.reason)
                yield from _of("mcp-memory", parse_object(line, parser), where, reading.fallback_time)
            except InvalidInputError as error:
                yield RejectedItem(where, str(error))


def _kept(origin: str, kind: _Kept, raw: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    words = _words(kind, raw)
    if words is None:
        yield RejectedItem(where, f"it has no {kind.words}")
        return
    time = moment_of(raw, *kind.times) or fallback_time
    message = IncomingMessage(Role.USER, words, text_of(raw, "actor_id"), "1", time)
    stated = text_of(raw, "type")
    metadata = {name: raw[name] for name in kind.told if name in raw} | object_of(raw, "metadata")
    yield from assemble(
        where,
        _id(origin, kind, raw) or derived_id(origin, words),
        [IncomingMessage(Role.USER, words, message.author, message_id(1, message), time) if kind.changes else message],
        title=text_of(raw, kind.title),
        fallback_time=fallback_time,
        details=SourceDetails(
            origin=origin,
            document_type=DocumentType(stated) if stated in tuple(DocumentType) else DocumentType.NOTE,
            url=text_of(raw, "url"),
            metadata=_flat(metadata),
            updated_at=moment_of(raw, "updated_at", "updatedAt"),
            container_tags=_tags(list_of(raw, "containerTags")),
        ),
    )
    yield from _placeless(origin, kind, raw, metadata)


def _id(origin: str, kind: _Kept, raw: JsonObject) -> str | None:
    """Return the id of a memory in its system; None if it has none."""
    if name := as_text(raw.get("customId")):
        return f"{origin}:{name}"
    if len(kind.ids) == 1:
        return f"{origin}:{name}" if (name := as_text(raw.get(kind.ids[0]))) else None
    return derived_id(origin, *(str(raw.get(name)) for name in kind.ids))


def _words(kind: _Kept, raw: JsonObject) -> str | None:
    if "relationType" in raw and kind.words == "relationType":
        ends = [text_of(raw, name) for name in ("from", "relationType", "to")]
        return " ".join(one.replace("_", " ") for one in ends if one) if all(ends) else None
    value = raw.get(kind.words)
    words = "\n".join(_lines(value)).strip() if isinstance(value, list | dict) else text_of(raw, kind.words)
    until = moment_of(raw, "invalid_at", "expired_at")
    return f"{words} (until {until.date()})" if words and until else words or None


def _lines(value: Json, name: str = "") -> Iterator[str]:
    """Yield a value in lines: texts and numbers, after the names of their fields."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _lines(one, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for one in value:
            yield from _lines(one, name)
    elif value is not None and value != "":
        yield f"{name}: {value}" if name else str(value)


def _placeless(origin: str, kind: _Kept, raw: JsonObject, metadata: JsonObject) -> Iterator[ImportNote]:
    """Yield a note for each field with a value that is not read, and for nested metadata."""
    for name in sorted(raw.keys() - kind.fields):
        if raw[name] not in (None, "", [], {}):
            yield ImportNote(f"{origin}: the field {name[:40]!r} has no place here, in memories", 1)
    if any(value is not None and name not in _flat({name: value}) for name, value in metadata.items()):
        yield ImportNote(f"{origin}: nested metadata have no place here, in memories", 1)


def _tags(value: list[Json]) -> tuple[str, ...]:
    """Return the tags that a space can have."""
    return tuple(sorted({tag for tag in value if isinstance(tag, str) and is_container_tag(tag)}))[:MAX_TAGS]


def _flat(metadata: JsonObject) -> dict[str, MetadataValue]:
    """Return the metadata without nested values."""
    flat: dict[str, MetadataValue] = {}
    for name, value in metadata.items():
        if isinstance(value, str | int | float | bool):
            flat[name] = value
        elif isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            flat[name] = [one for one in value if isinstance(one, str)]
    return flat
