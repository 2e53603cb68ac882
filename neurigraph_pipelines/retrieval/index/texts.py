"""The texts of a layer's records: few records of a layer are shown, so packed texts are decoded one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, overload

from numpy.typing import NDArray

from neurigraph_pipelines.views.scalars import Row


class RecordTexts(NamedTuple):
    """The texts and the origin of a record, as the database sends them; ``origin`` is JSON."""

    title: str
    summary: str
    source_kind: str
    source_name: str | None
    file_state: str | None
    origin: str


def texts_of(row: Row) -> list[RecordTexts]:
    """Return the texts of the records in a row of ``neurigraph.layers``."""
    names = ("titles", "summaries", "source_kinds", "source_names", "file_states", "origins")
    return list(map(RecordTexts, *(row[name] or () for name in names)))


class PackedTexts(Sequence[RecordTexts]):
    """Texts that are decoded when they are asked for.

    Args:
        packed: The texts as JSON, one record after the other.
        ends: Where each record's ends.
    """

    def __init__(self, packed: memoryview, ends: NDArray[Any]) -> None:
        self._packed = packed
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, row: int) -> RecordTexts: ...

    @overload
    def __getitem__(self, row: slice) -> list[RecordTexts]: ...

    def __getitem__(self, row: int | slice) -> RecordTexts | list[RecordTexts]:
        if isinstance(row, slice):
            return [self[number] for number in range(len(self))[row]]
        number = range(len(self))[row]
        begin = self._ends[number - 1] if number else 0
        return RecordTexts(*json.loads(bytes(self._packed[begin : self._ends[number]])))

    @property
    def characters(self) -> int:
        """About the number of their characters."""
        return len(self._packed)


def characters_of(texts: Sequence[RecordTexts]) -> int:
    """Return about the number of characters of texts."""
    if isinstance(texts, PackedTexts):
        return texts.characters
    return sum(len(one.title) + len(one.summary) + len(one.origin) for one in texts)
