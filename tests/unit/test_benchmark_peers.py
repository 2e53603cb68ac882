"""What the process of a peer is given: the vectors of questions and memories, and the memories that are copied."""

from pathlib import Path
from re import fullmatch

import numpy as np
import pytest

from benchmarks.retrieval.peer_process import BY_API, Corpus
from benchmarks.retrieval.peers import PEERS, PeerKind, hand_over

MEMORIES = BY_API + 25
QUESTION = "what was said?"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """More memories than are added one by one; the first number of a vector is the number of its memory."""
    vectors = np.arange(MEMORIES, dtype=np.float32)[:, None].repeat(3, axis=1)
    hand_over(tmp_path, [f"memory {number}" for number in range(MEMORIES)], vectors, {QUESTION: np.full(3, -1.0)})
    return Corpus(tmp_path)


def test_only_what_a_peer_adds_is_looked_up(corpus: Corpus) -> None:
    assert corpus.embed(QUESTION) == [-1.0] * 3
    assert corpus.embed(f"memory {BY_API - 1}") == [BY_API - 1.0] * 3
    with pytest.raises(KeyError):
        corpus.embed(f"memory {BY_API}")


def test_batches_are_the_rest_with_vectors(corpus: Corpus) -> None:
    numbers: list[int] = []
    for batch in corpus.rest_in_batches(10):
        assert [corpus.embed(corpus.texts[number])[0] for number in batch] == list(batch)
        numbers += batch
    assert numbers == [number for number, _, _ in corpus.rest()] == list(range(BY_API, MEMORIES))


@pytest.mark.parametrize("kind", PEERS, ids=lambda kind: kind.module)
def test_every_package_of_a_peer_is_pinned(kind: PeerKind) -> None:
    assert all(fullmatch(r"[\w.-]+==[\w.+!]+", line) for line in kind.pins.splitlines())
    assert kind.title.startswith(f"{kind.name} ")
    # What peer_process imports must be there, too.
    assert {"numpy", "psycopg"} <= {line.partition("==")[0] for line in kind.pins.splitlines()}
