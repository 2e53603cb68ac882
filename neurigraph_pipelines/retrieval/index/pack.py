"""What a layer remembers of the packed layer that it was read from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

Spans = list[tuple[float | None, float | None]]
"""Stretches of time in seconds since 1970; None is no bound."""


class Pack(NamedTuple):
    """The packed layer that a layer was read from.

    Attributes:
        width: The dimensions of the vectors of passages.
        spans: The stretches of time in which each superseded record was superseded, by its row.
        author_numbers: The authors of passages by their numbers.
        packed_ids: The external ids of the messages of passages as JSON; empty if there are none.
        packed_sections: The parts of documents that passages are of, in the same form.
    """

    node_id: str
    version: str
    model: str | None
    horizon: int | None
    width: int
    spans: dict[int, Spans]
    author_numbers: dict[str | None, int]
    packed_ids: bytes
    packed_sections: bytes

    def external_ids(self, passages: int) -> Sequence[str | None]:
        """Return the external ids of the messages of ``passages`` passages."""
        return _unpacked(self.packed_ids, passages)

    def sections(self, passages: int) -> Sequence[str | None]:
        """Return the parts of documents that ``passages`` passages are of."""
        return _unpacked(self.packed_sections, passages)


def _unpacked(packed: bytes, passages: int) -> Sequence[str | None]:
    texts: list[str | None] = json.loads(packed) if packed else [None] * passages
    return texts
