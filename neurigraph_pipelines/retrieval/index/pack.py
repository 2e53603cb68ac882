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
    """

    node_id: str
    version: str
    model: str | None
    horizon: int | None
    width: int
    spans: dict[int, Spans]
    author_numbers: dict[str | None, int]
    packed_ids: bytes

    def external_ids(self, passages: int) -> Sequence[str | None]:
        """Return the external ids of the messages of ``passages`` passages."""
        external_ids: list[str | None] = json.loads(self.packed_ids) if self.packed_ids else [None] * passages
        return external_ids
