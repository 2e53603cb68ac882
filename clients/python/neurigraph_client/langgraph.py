"""A store of LangGraph in a memory: ``pip install neurigraph-client[langgraph]``."""

from __future__ import annotations

import asyncio
import json
import operator
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    TTLConfig,
    get_text_at_path,
    tokenize_path,
)

from neurigraph_client.memory import Memory
from neurigraph_client.sources import Source
from neurigraph_client.values import Values, tag_of, text_of

_ORIGIN = "langgraph"
_Namespace = tuple[str, ...]
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_MOST_HITS = 50


class NeurigraphStore(BaseStore):
    """Items of LangGraph as memories: each namespace is a space, in which the items of all namespaces below lie too.

    Args:
        memory: The client, with a key of the owner, since namespaces make spaces.
        ttl: Defaults for how long items live. What has expired is absent at once; ``sweep_ttl`` forgets it.
    """

    supports_ttl = True
    __slots__ = ("_values", "ttl_config")

    def __init__(self, memory: Memory, *, ttl: TTLConfig | None = None) -> None:
        self._values = Values(memory, _ORIGIN)
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: what reads before what writes, and of two writes of one item the later one."""
        asked = list(ops)
        results: list[Result] = [None if isinstance(op, PutOp) else self._read(op) for op in asked]
        for op in {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}.values():
            self._put(op)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def sweep_ttl(self) -> int:
        """Forget for good the items that have expired, and return how many they were."""
        tag = tag_of(_ORIGIN, ())
        expired = [one for one in self._sources(tag) if _is_over(one)]
        return sum(self._values.remove(one.external_id) for one in expired)

    def _read(self, op: GetOp | SearchOp | ListNamespacesOp) -> Result:
        if isinstance(op, GetOp):
            found = self._values.newest(tag_of(_ORIGIN, (*op.namespace, op.key)))
            return None if found is None or _is_over(found) else self._item(found, Item, op.refresh_ttl)
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, ListNamespacesOp):
            return self._namespaces(op)
        raise ValueError(f"unknown operation {type(op)}")

    def _put(self, op: PutOp) -> None:
        name = tag_of(_ORIGIN, (*op.namespace, op.key))
        if op.value is None:
            self._values.remove(name)
            return
        previous = self._values.newest(name)
        now = datetime.now(UTC).isoformat()
        is_new = previous is None or _is_over(previous)
        metadata = {
            "path": json.dumps([*op.namespace, op.key]),
            "created_at": now if is_new or previous is None else previous.metadata["created_at"],
            "updated_at": now,
            "index": True if op.index is None else op.index,
        }
        if op.ttl is not None:
            metadata |= {"ttl_minutes": op.ttl, "expires_at": _after(op.ttl)}
        self._write(name, op.value, previous, metadata)

    def _write(self, name: str, value: Any, previous: Source | None, metadata: dict[str, Any]) -> None:
        *namespace, key = _path(metadata)
        tags = [tag_of(_ORIGIN, namespace[:depth]) for depth in range(len(namespace) + 1)]
        words = _words(value, metadata["index"]) or key
        self._values.keep(name, value, words, previous, metadata=metadata, container_tags=tags)

    def _sources(self, tag: str) -> list[Source]:
        """Return the sources that hold the values of a space, the last written first."""
        newest: dict[str, Source] = {}
        for one in self._values.memory.sources("conversation", container_tags=tag):
            newest.setdefault(one.external_id, one)
        return list(newest.values())

    def _search(self, op: SearchOp) -> list[SearchItem]:
        tag, most = tag_of(_ORIGIN, op.namespace_prefix), op.offset + op.limit
        sources: Iterable[Source]
        if op.query:
            hits = self._values.memory.search(op.query, container_tags=[tag], limit=_MOST_HITS).hits
            scores = {hit.source_external_id: hit.score for hit in reversed(hits) if hit.source_external_id}
            names = list(dict.fromkeys(hit.source_external_id for hit in hits if hit.source_external_id))
            sources = (one for one in map(self._values.newest, names) if one and one.metadata["index"] is not False)
        else:
            scores, sources = {}, self._sources(tag)
        alive = (one for one in sources if not _is_over(one))
        fitting = (one for one in alive if not op.filter or _fits(self._values.of(one), op.filter))
        shown = islice(fitting, op.offset, most)
        return [self._item(one, SearchItem, op.refresh_ttl, score=scores.get(one.external_id)) for one in shown]

    def _item(self, source: Source, kind: Any, refresh: bool, **more: Any) -> Any:
        value, known = self._values.of(source), dict(source.metadata)
        if refresh and "ttl_minutes" in known:
            kept = {name: one for name, one in known.items() if name not in ("json", "sha256")}
            kept["expires_at"] = _after(known["ttl_minutes"])
            self._write(source.external_id, value, source, kept)
        return kind(
            namespace=_path(known)[:-1],
            key=_path(known)[-1],
            value=value,
            created_at=datetime.fromisoformat(known["created_at"]),
            updated_at=datetime.fromisoformat(known["updated_at"]),
            **more,
        )

    def _namespaces(self, op: ListNamespacesOp) -> list[_Namespace]:
        conditions = op.match_conditions or ()
        prefix = next((one.path for one in conditions if one.match_type == "prefix" and "*" not in one.path), ())
        held = {_path(one.metadata)[:-1] for one in self._sources(tag_of(_ORIGIN, prefix)) if not _is_over(one)}
        fitting = [one for one in held if all(_matches(condition, one) for condition in conditions)]
        return sorted({one[: op.max_depth] for one in fitting})[op.offset : op.offset + op.limit]


def _path(metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the namespace and the key of an item."""
    return tuple(json.loads(metadata["path"]))


def _after(minutes: float) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def _is_over(source: Source) -> bool:
    expires_at = source.metadata.get("expires_at")
    return expires_at is not None and datetime.fromisoformat(expires_at) <= datetime.now(UTC)


def _words(value: Any, index: Any) -> str:
    """Return what a value is found by: with paths, the texts there; with False, nothing."""
    paths = index if isinstance(index, list) else []
    found = [text for path in paths for text in get_text_at_path(value, tokenize_path(path))]
    return "\n".join(found) or text_of({} if index is False else value)


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    for name, one in wanted.items():
        is_comparison = isinstance(one, Mapping) and any(key.startswith("$") for key in one)
        for sign, other in one.items() if is_comparison else [("$eq", one)]:
            if sign not in _COMPARED:
                raise ValueError(f"unknown operator {sign} of a filter: use one of {', '.join(_COMPARED)}")
            found = value.get(name)
            if found is None and sign not in ("$eq", "$ne"):
                return False
            if not _COMPARED[sign](found, other):
                return False
    return True


def _matches(condition: MatchCondition, namespace: _Namespace) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
