"""Windows of passages: which are embedded, and the means that stand for the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np

from neurigraph_pipelines.ingestion.embed import WINDOW_NEIGHBOUR_CHARACTERS, RecordTexts, embed_texts, window_means
from neurigraph_pipelines.model import Message, Role
from neurigraph_pipelines.text.transcript import Passage
from tests.support.memories import WordEmbedder

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def passages(*said: tuple[int, str]) -> list[Passage]:
    """Passages of messages, each with the number of its message and its text."""
    return [
        Passage(number, Message(seq, Role.USER, text, 1, MONDAY), text, 0, 0)
        for number, (seq, text) in enumerate(said, 1)
    ]


def test_windows_of_whole_messages_are_embedded() -> None:
    found = passages((1, "The boat is walnut."), (2, "Oil it."), (2, "Three coats."), (3, "Fine."))
    texts = RecordTexts(uuid4(), "A boat", found)
    assert texts.windows == [0, 3]
    assert len(texts) == len(list(texts)) == 1 + 4 + 2
    ((_, vectors),) = next(embed_texts(WordEmbedder(), [texts]))
    assert not isinstance(vectors, Exception)
    means = window_means(found, vectors.passages)
    assert np.array_equal(vectors.windows[1:3], means[1:3])
    assert not np.allclose(vectors.windows[[0, 3]], means[[0, 3]], atol=0.01)
    ((_, vectors),) = next(embed_texts(WordEmbedder(), [replace(texts, embeds_windows=False)]))
    assert not isinstance(vectors, Exception)
    assert np.array_equal(vectors.windows, means)


def test_only_passage_is_its_own_window() -> None:
    texts = RecordTexts(uuid4(), "A boat", passages((1, "The boat is walnut.")))
    assert len(list(texts)) == 2
    ((_, vectors),) = next(embed_texts(WordEmbedder(), [texts]))
    assert not isinstance(vectors, Exception)
    assert np.allclose(vectors.windows, vectors.passages, atol=0.001)


def test_means_weigh_what_a_window_would_hold() -> None:
    long = WINDOW_NEIGHBOUR_CHARACTERS * 2
    found = passages((1, "a" * 100), (2, "b" * long), (2, "c" * long), (2, "d" * 200), (3, "e" * 50))
    weights = np.array(
        [
            [100, WINDOW_NEIGHBOUR_CHARACTERS, 0, 0, 0],
            [100, long, WINDOW_NEIGHBOUR_CHARACTERS, 0, 0],
            [100, WINDOW_NEIGHBOUR_CHARACTERS, long, 200, 0],
            [0, WINDOW_NEIGHBOUR_CHARACTERS, WINDOW_NEIGHBOUR_CHARACTERS, 200, 50],
            [0, 0, WINDOW_NEIGHBOUR_CHARACTERS, 200, 50],
        ]
    )
    expected = weights / np.linalg.norm(weights, axis=1, keepdims=True)
    assert np.allclose(window_means(found, np.eye(5, dtype=np.float16)), expected, atol=0.001)
    nothing = window_means(found, np.zeros((5, 3), np.float16))
    assert not nothing.any()
