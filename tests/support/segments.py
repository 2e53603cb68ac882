"""The search segments of records as the tables have them, read passage by passage."""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.ingestion.passage_words import columns_of
from neurigraph_pipelines.model import PASSAGE_DIMENSIONS
from neurigraph_pipelines.text.search_segments import (
    SearchSegment,
    Spoken,
    Words,
    lexeme_keys,
    pack_vectors,
    read_vectors,
)
from neurigraph_pipelines.views.kinds import Role, Voice
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows


class StoredSegment(NamedTuple):
    """A row of ``neurigraph.segments``.

    Attributes:
        row: Its columns.
        segment: What its content says.
        vectors: ``(passages, PASSAGE_DIMENSIONS)``; None while they are pending.
        next_vectors: Those of the model that the user is moving to.
    """

    row: dict[str, Any]
    segment: SearchSegment
    vectors: NDArray[np.float32] | None
    next_vectors: NDArray[np.float32] | None

    @property
    def words(self) -> list[dict[int, int]]:
        """For each passage how often each word occurs, by the key of the word."""
        ends = np.cumsum(self.segment.rows["lexemes"])[:-1]
        pairs = zip(np.split(self.segment.keys, ends), np.split(self.segment.frequencies, ends), strict=True)
        return [dict(zip(keys.tolist(), frequencies.tolist(), strict=True)) for keys, frequencies in pairs]

    def says(self, *lexemes: str) -> list[bool]:
        """Return for each passage whether it has all of some lexemes."""
        keys = set(lexeme_keys(lexemes).tolist())
        return [keys <= words.keys() for words in self.words]


def segments_of(installation: Installation, user: User) -> dict[UUID, StoredSegment]:
    """Return the segments of a user by record, in the order of the records' ids."""
    found = rows(installation, "SELECT * FROM neurigraph.segments WHERE user_id = %s ORDER BY record_id", user.user_id)
    return {row["record_id"]: read(row) for row in found}


def read(row: dict[str, Any]) -> StoredSegment:
    """Return a row of ``neurigraph.segments`` with what its bytes say."""
    segment = SearchSegment.read(row["content"])
    return StoredSegment(row, segment, *(_padded(row[name], len(segment.rows)) for name in ("vectors", "next_vectors")))


def _padded(packed: bytes | None, passages: int) -> NDArray[np.float32] | None:
    if packed is None:
        return None
    vectors = read_vectors(packed, passages)
    return np.pad(vectors, ((0, 0), (0, PASSAGE_DIMENSIONS - vectors.shape[1])))


def columns(passages: int, lexeme: str = "boat", speaker: str | None = None) -> dict[str, Any]:
    """Return the columns of a segment whose passages all say one word, with vectors of the model ``words``."""
    segment = SearchSegment.of(
        [
            Spoken(number, number, speaker, None, None, Role.USER, Voice.OWNER, Words([lexeme], [1], 1), 0, 1.0)
            for number in range(1, passages + 1)
        ]
    )
    vectors = np.ones((passages, 8), np.float32) / np.sqrt(8)
    return columns_of(segment, (), "english") | {"vectors": pack_vectors(vectors), "model": "words"}
