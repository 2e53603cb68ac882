"""Likeness of many vectors, estimated from their signs, and the ranking of a layer that is big enough for it."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.model import RECORD_DIMENSIONS
from neurigraph_pipelines.retrieval.layers import EXACT_PASSAGES, MetadataLayer
from neurigraph_pipelines.retrieval.ranking import Asked, rank
from neurigraph_pipelines.retrieval.signs import Signs
from tests.unit.test_metadata_layer import NOTHING, passage

DIMENSIONS = 96
OF_RECORD = 100
TOPICS = 50


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    unit_vectors: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit_vectors


def vectors_of(count: int, seed: int) -> NDArray[np.float32]:
    """``(count, 2, DIMENSIONS)``: each around one of some topics, all of them a little alike, as embeddings are."""
    random = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((TOPICS, DIMENSIONS)) + 0.5
    around = topics[random.integers(0, TOPICS, count), None] + 0.6 * random.standard_normal((count, 2, DIMENSIONS))
    return unit(around)


def row_of(first: int, vectors: NDArray[np.float32], present: int) -> dict[str, Any]:
    """Records of a hundred passages each, from the record ``first`` on, of a node that has ``present`` of them."""
    ids = [UUID(int=number + 1) for number in range(first, first + len(vectors) // OF_RECORD)]
    seqs = range(1, OF_RECORD + 1)
    return NOTHING | {
        "model": "words",
        "horizon": 700,
        "present": b"".join(UUID(int=n + 1).bytes + struct.pack(">ii", OF_RECORD, 1) for n in range(present)),
        "records": b"".join(one.bytes + struct.pack(">ddi", 5.0, 7.0, 1) for one in ids),
        "shown": ['{"source": {}}' for _ in ids],
        "source_names": [None for _ in ids],
        "source_kinds": ["conversation" for _ in ids],
        "superseded": [None for _ in ids],
        "record_lexemes": ["" for _ in ids],
        "summaries": b"".join(bytes(4 + 4 * RECORD_DIMENSIONS) for _ in ids),
        "passages": b"".join(passage(one, seq, seq, 0) for one in ids for seq in seqs),
        "authors": [None for _ in range(len(vectors))],
        "external_ids": [None for _ in range(len(vectors))],
        "vectors": b"".join(bytes(4) + vector.astype(">f2").tobytes() for pair in vectors for vector in pair),
    }


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    return vectors_of(EXACT_PASSAGES + 1_000, 1)


def asked(vector: NDArray[np.float32], **more: Any) -> Asked:
    return Asked({}, 50.0, limit=10, message_limit=10, passage_vector=vector, **more)


def test_the_nearest_are_among_those_whose_estimate_is_highest(vectors: NDArray[np.float32]) -> None:
    signs = Signs.of(vectors)
    for question in vectors_of(30, 2)[:, 0]:
        estimate, exact = signs.estimate(question), np.vecdot(vectors, question)
        assert np.corrcoef(estimate[:, 0], exact[:, 0])[0, 1] > 0.5
        assert abs(np.mean(estimate - exact)) < 0.05
        for kind in (0, 1):
            likely = set(np.argsort(-estimate[:, kind])[:600].tolist())
            assert len(likely.intersection(np.argsort(-exact[:, kind])[:10].tolist())) >= 9


def test_signs_grow_with_their_vectors(vectors: NDArray[np.float32]) -> None:
    whole, stays = Signs.of(vectors), np.arange(len(vectors)) % 3 > 0
    added = vectors_of(7, 3)
    grown = whole.joined(stays, added)
    assert grown is not None
    question = added[2, 1]
    assert grown.estimate(question)[:-7].tolist() == whole.estimate(question)[stays].tolist()
    assert grown.estimate(question)[-5, 1] == pytest.approx(1, abs=0.2)
    order = np.argsort(added[:, 0, 0])
    alone, reordered = (whole.joined(np.zeros_like(stays), some) for some in (added, added[order]))
    assert alone is not None
    assert reordered is not None
    assert alone.reordered(order).words.tolist() == reordered.words.tolist()
    assert whole.joined(stays, np.zeros((2, 2, 0), np.float32)) is not None, "vectors that are pending are zeros"
    assert whole.joined(stays, np.zeros((2, 2, DIMENSIONS + 1), np.float32)) is None, "a wider model has other signs"


def test_a_big_layer_is_ranked_as_if_all_were_compared(vectors: NDArray[np.float32]) -> None:
    whole = MetadataLayer(row_of(0, vectors, len(vectors) // OF_RECORD))
    assert whole.signs is not None
    same = []
    for number, question in enumerate(vectors_of(40, 2)[:, 0]):
        more: dict[str, Any] = {"at": 9.0} if number % 2 else {"explain": True}
        estimated = rank([whole], [0.0], asked(question, **more))
        signs, whole.signs = whole.signs, None
        exact = rank([whole], [0.0], asked(question, **more))
        whole.signs = signs
        assert [one.score for one in estimated[1]] == pytest.approx([one.score for one in exact[1]], abs=0.02)
        same.append(len({one.row for one in estimated[1]} & {one.row for one in exact[1]}))
    assert sum(same) >= 0.99 * 10 * len(same)


def test_a_layer_that_grows_big_and_bigger(vectors: NDArray[np.float32]) -> None:
    small = MetadataLayer(row_of(0, vectors[:EXACT_PASSAGES], EXACT_PASSAGES // OF_RECORD))
    assert small.signs is None
    records = len(vectors) // OF_RECORD
    big = small.updated(row_of(EXACT_PASSAGES // OF_RECORD, vectors[EXACT_PASSAGES:], records))
    assert big is not None
    assert big.signs is not None
    more = vectors_of(OF_RECORD, 5)
    bigger = big.updated(row_of(records, more, records + 1))
    assert bigger is not None
    assert bigger.signs is not None
    assert bigger.signs.words.shape[-1] == bigger.passages == len(vectors) + OF_RECORD
    for kind in (0, 1):
        _, messages = rank([bigger], [0.0], asked(more[17, kind]))
        assert messages[0].row == len(vectors) + 17
