"""What adapters of frameworks stand on: JSON values by name, and items of a session in their order.

Both come back exactly as they were given: as JSON in ASCII, which no cleaning of texts changes. What a program keeps is
a memory all the same, with a text that is found by its words and its meaning.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neurigraph_client.failures import Conflict, NotFound
from neurigraph_client.memory import Memory
from neurigraph_client.sources import Source

_ATTEMPTS = 8
"""How often a value is written again where others write the same one."""

_MOST_IN_METADATA = 6_000
"""Characters of a value that lies beside its source, where one request reads it; a longer one is in the message."""

_PAGE = 500
_JSON, _EDIT = "json", "edit"


class Values:
    """JSON values by name. Each is a source of its own, whose newest version holds the value."""

    def __init__(self, memory: Memory, origin: str) -> None:
        """Keep values in a memory, under the name of the program that they are of."""
        self.memory = memory
        self._origin = origin

    def newest(self, name: str) -> Source | None:
        """Return the source that holds the value of a name; None if there is none."""
        return _newest(self.memory, name)

    def of(self, source: Source) -> Any:
        """Return the value that a source holds."""
        if _JSON in source.metadata:
            return json.loads(source.metadata[_JSON])
        (value,) = (json.loads(one["tool_calls"][0][_JSON]) for one in messages_of(self.memory, source.source_id))
        return value

    def keep(self, name: str, value: Any, text: str, previous: Source | None, **fields: Any) -> None:
        """Keep a value under a name, in place of the one before.

        Args:
            text: What it is found by.
            previous: The source that holds the value so far, as ``newest`` returns it.
            fields: As ``open_conversation`` takes them.

        Raises:
            Conflict: Others wrote the same name each time.
        """
        written = json.dumps(value)
        metadata = {**fields.pop("metadata", {}), "sha256": hashlib.sha256(written.encode()).hexdigest()}
        is_short = len(written) <= _MOST_IN_METADATA
        message = {"role": "user", "content": _storable(text), "tool_calls": [] if is_short else [{_JSON: written}]}
        if is_short:
            metadata[_JSON] = written
        for _ in range(_ATTEMPTS):
            replaced = None if previous is None else previous.source_id
            try:
                opened = self.memory.open_conversation(
                    external_id=name, origin=self._origin, replaces=replaced, metadata=metadata, **fields
                )
            except (Conflict, NotFound):  # another version came before, or the one before was forgotten
                previous = self.newest(name)
                continue
            previous = self.memory.source("conversation", opened)
            if previous.metadata.get("sha256") == metadata["sha256"]:
                self.memory.add_messages(opened, [message])
                self.memory.end_conversation(opened)
                return
        raise Conflict(409, {"detail": f"others write {name} all the time: try again"})

    def remove(self, name: str, seconds: float = 60.0) -> bool:
        """Forget all versions of a value for good, and return whether there were some.

        Args:
            seconds: How long to wait for a version that is not stored yet.

        Raises:
            TimeoutError: A version was not stored in time; the value is still there.
        """
        versions = list(self.memory.sources("conversation", external_id=name))
        stored = [self.memory.stored("conversation", one.source_id, seconds) for one in versions]
        for record_id in (one for source in stored for one in source.record_ids):
            self.memory.forget(record_id, dry_run=False)
        return bool(versions)


class Items:
    """The items of a session in their order, as messages of one conversation that goes on.

    The last item can be taken back, and all of them; the memory keeps what was said until it is forgotten.
    """

    def __init__(self, memory: Memory, session_id: str, origin: str, **fields: Any) -> None:
        """Name the session; ``fields`` are as ``open_conversation`` takes them."""
        self._memory = memory
        self._opening = {"external_id": session_id, "origin": origin, **fields}

    def all(self) -> list[Any]:
        """Return the items that were not taken back."""
        items: list[Any] = []
        source = _newest(self._memory, self._opening["external_id"])
        for message in messages_of(self._memory, source.source_id) if source and source.message_count else ():
            (kept,) = message["tool_calls"] or [{_JSON: json.dumps(message["content"])}]
            if _EDIT in kept:
                del items[-int(kept[_EDIT]) if kept[_EDIT] else 0 :]
            else:
                items.append(json.loads(kept[_JSON]))
        return items

    def add(self, items: Iterable[tuple[str, str, Any]]) -> None:
        """Add items, each with its role, its text and the item itself."""
        messages = [
            {"role": role, "content": text, "tool_calls": [{_JSON: json.dumps(one)}]} for role, text, one in items
        ]
        if messages:
            self._memory.add_messages(self._memory.open_conversation(**self._opening), messages)

    def take_back(self, count: int | None = None) -> None:
        """Take back the last items; all of them by default."""
        taken = {"role": "system", "content": "", "tool_calls": [{_EDIT: count or 0}]}
        self._memory.add_messages(self._memory.open_conversation(**self._opening), [taken])


def messages_of(memory: Memory, source_id: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of a conversation, stored or not, in their order."""
    waiting = memory.retrieval.unstored(source_id, limit=_PAGE)
    for record_id in waiting.record_ids:
        file_id = memory.memories.get(record_id).file_id
        if file_id is not None:
            with memory.file(file_id) as content:
                yield from map(json.loads, b"".join(content).splitlines())
    while waiting.messages:
        yield from ({"content": one.content, "tool_calls": one.tool_calls} for one in waiting.messages)
        waiting = memory.retrieval.unstored(source_id, from_message=waiting.messages[-1].seq + 1, limit=_PAGE)


def _newest(memory: Memory, name: str) -> Source | None:
    return next(iter(memory.sources("conversation", external_id=name, limit=1)), None)


def tag_of(prefix: str, parts: Sequence[str]) -> str:
    """Return a container tag that stands for a path of names of any characters."""
    return f"{prefix}_{hashlib.sha256(json.dumps(list(parts)).encode()).hexdigest()[:40]}"


def _storable(text: str) -> str:
    """Return a text that can be sent: halves of characters become question marks."""
    return text.encode("utf-8", "replace").decode()


def text_of(value: Any) -> str:
    """Return what a value says in words: its texts and numbers, with the names of its fields."""
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {text_of(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    return "" if value is None else str(value)
