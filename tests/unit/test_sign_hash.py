"""The sign hash: similarity estimates, and the ranking of big layers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.retrieval.index.columns import RECORD, Records, columns_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.index.sign_hash import SignHashes, estimates
from neurigraph_pipelines.retrieval.index.texts import RecordTexts
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.rank import Ranked, RankingQuery, rank
from neurigraph_pipelines.retrieval.query.signals import EXACT_PASSAGES
from neurigraph_pipelines.text.search_segments import SearchSegment
from tests.unit.test_metadata_layer import UNKNOWN, passage, record

DIMENSIONS = 96
OF_RECORD = 100
TOPICS = 50


def unit(vectors: NDArray[Any]) -> NDArray[np.float32]:
    unit_vectors: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)).astype(np.float32)
    return unit_vectors


def vectors_of(count: int, seed: int) -> NDArray[np.float32]:
    """``(count, DIMENSIONS)``: each around one of some topics, all of them a little alike, as embeddings are."""
    random = np.random.default_rng(seed)
    topics = np.random.default_rng(0).standard_normal((TOPICS, DIMENSIONS)) + 0.5
    around = topics[random.integers(0, TOPICS, count)] + 0.6 * random.standard_normal((count, DIMENSIONS))
    return unit(around)


def records_at(first: int, vectors: NDArray[np.float32]) -> Records:
    """Records of a hundred passages each, from the record ``first`` on."""
    count = len(vectors) // OF_RECORD
    said = [passage(seq, seq, {}) for seq in range(1, OF_RECORD + 1)]
    sent = np.frombuffer(b"".join(record(UUID(int=first + number + 1)) for number in range(count)), RECORD)
    return Records(
        columns_of(sent, np.zeros((count, 0), np.float32)),
        [RecordTexts("", "", "conversation", None, None, UNKNOWN)] * count,
        {},
        [""] * count,
        [SearchSegment.of(said)] * count,
        np.split(vectors, count) if count else [],
    )


def new_layer(first: int, vectors: NDArray[np.float32]) -> MetadataLayer:
    return MetadataLayer(records_at(first, vectors), "words", 700)


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    return vectors_of(EXACT_PASSAGES + 1_000, 1)


def asked(vector: NDArray[np.float32], **more: Any) -> RankingQuery:
    question = Question("anything", limit=10, message_limit=10, **more)
    return RankingQuery(parse(question, "english"), {}, passage_vector=vector)


def test_nearest_have_high_estimates(vectors: NDArray[np.float32]) -> None:
    signs = SignHashes.of(vectors)
    for question in vectors_of(30, 2):
        estimate, exact = estimates([signs], question), np.vecdot(vectors, question)
        assert np.corrcoef(estimate, exact)[0, 1] > 0.5
        assert abs(np.mean(estimate - exact)) < 0.05
        likely = set(np.argsort(-estimate)[:250].tolist())
        assert len(likely.intersection(np.argsort(-exact)[:10].tolist())) >= 9


def test_batch_estimates_equal_single_ones(vectors: NDArray[np.float32]) -> None:
    """Each from its own middle, with its own spread."""
    parts = np.split(vectors, [1, 700, 701])
    signs = [SignHashes.of(part + shift) for part, shift in zip(parts, range(4), strict=True)]
    question = vectors_of(1, 2)[0]
    together = estimates(signs, question)
    assert together == pytest.approx(np.concatenate([estimates([one], question) for one in signs]), abs=1e-6)
    assert together.shape == (len(vectors),)


def test_signs_grow_with_vectors(vectors: NDArray[np.float32]) -> None:
    whole, stays = SignHashes.of(vectors), np.arange(len(vectors)) % 3 > 0
    added = vectors_of(7, 3)
    grown = whole.joined(stays, added)
    assert grown is not None
    question = added[2]
    assert estimates([grown], question)[:-7].tolist() == estimates([whole], question)[stays].tolist()
    assert estimates([grown], question)[-5] == pytest.approx(1, abs=0.2)
    assert whole.joined(stays, np.zeros((2, 0), np.float32)) is not None, "vectors that are pending are zeros"
    assert whole.joined(stays, np.zeros((2, DIMENSIONS + 1), np.float32)) is None, "a wider model has other signs"


def layer_of(vectors: NDArray[np.float32]) -> MetadataLayer:
    """One that was used twice."""
    layer = new_layer(0, vectors)
    layer.compute_sign_hashes()
    assert layer.sign_hashes is not None
    return layer


def grown(layer: MetadataLayer, added: Records) -> MetadataLayer:
    """Return a layer with more records."""
    return MetadataLayer(added, "words", 700, (layer, np.ones(layer.records, bool)))


def compared(layers: Sequence[MetadataLayer], question: RankingQuery) -> list[Ranked]:
    """The messages that are found if every vector is compared."""
    signs = [layer.sign_hashes for layer in layers]
    for layer in layers:
        layer.sign_hashes = None
    _, messages, _ = rank(Rows(layers), [0.0] * len(layers), question)
    for layer, its in zip(layers, signs, strict=True):
        layer.sign_hashes = its
    return messages


def test_big_layer_ranking_is_exact(vectors: NDArray[np.float32]) -> None:
    whole = layer_of(vectors)
    same = []
    for number, vector in enumerate(vectors_of(40, 2)):
        more: dict[str, Any] = {"at": datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)} if number % 2 else {"explain": True}
        question = asked(vector, **more)
        _, estimated, _ = rank(Rows([whole]), [0.0], question)
        exact = compared([whole], question)
        assert [one.score for one in estimated] == pytest.approx([one.score for one in exact], abs=0.02)
        same.append(len({one.row for one in estimated} & {one.row for one in exact}))
    assert sum(same) >= 0.99 * 10 * len(same)


def test_many_small_layers_rank_exactly(vectors: NDArray[np.float32]) -> None:
    """Some have no signs yet, and some are of another width: each is compared as it can be."""
    narrow = unit(vectors[-500:, : DIMENSIONS // 2])
    layers = [layer_of(vectors[:600]), new_layer(0, vectors[600:1_400]), layer_of(narrow)]
    layers += [layer_of(vectors[1_400:2_000]), new_layer(0, vectors[:0])]
    same = []
    for vector in vectors_of(40, 2):
        _, estimated, _ = rank(Rows(layers), [0.0] * len(layers), asked(vector))
        exact = compared(layers, asked(vector))
        same.append(len({(one.node, one.row) for one in estimated} & {(one.node, one.row) for one in exact}))
    assert sum(same) >= 0.99 * 10 * len(same)
    assert sum(layer.passages for layer in layers) > EXACT_PASSAGES


def test_few_passages_are_all_compared(vectors: NDArray[np.float32]) -> None:
    few = layer_of(vectors[:EXACT_PASSAGES])
    for vector in vectors_of(10, 2):
        _, messages, _ = rank(Rows([few]), [0.0], asked(vector))
        assert messages == compared([few], asked(vector))


def test_signs_of_growing_layer(vectors: NDArray[np.float32]) -> None:
    small = new_layer(0, vectors[:EXACT_PASSAGES])
    assert small.sign_hashes is None, "of one that is used but once they cost more than they save"
    small.compute_sign_hashes()
    records = len(vectors) // OF_RECORD
    big = grown(small, records_at(EXACT_PASSAGES // OF_RECORD, vectors[EXACT_PASSAGES:]))
    assert big.sign_hashes is not None
    assert big.sign_hashes.words.shape[-1] == big.passages == len(vectors)
    kept = big.sign_hashes
    big.compute_sign_hashes()
    assert big.sign_hashes is kept, "they are taken once"
    more = vectors_of(OF_RECORD, 5)
    bigger = grown(big, records_at(records, more))
    _, messages, _ = rank(Rows([bigger]), [0.0], asked(more[17]))
    assert messages[0].row == len(vectors) + 17
    empty = new_layer(0, vectors[:0])
    empty.compute_sign_hashes()
    assert empty.sign_hashes is None
