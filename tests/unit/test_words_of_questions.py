"""Where the words of a question occur: as the layers in memory say it, and as the words of nodes do."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.retrieval.index.node_words import GraphWords, NodeWords
from neurigraph_pipelines.retrieval.index.packs import pack
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.query.words import (
    ASSUMED_PASSAGES,
    EVERYWHERE,
    WordCounts,
    counted_in_graph,
    counted_in_rows,
    rarities_of,
    uncounted,
)
from neurigraph_pipelines.text.search_segments import SearchSegment, lexeme_keys
from tests.unit.test_metadata_layer import layer_of, one_record, passage, segments_of

WORDS = ("boat", "oil", "rope", "cello", "kite")
ASKED = (*WORDS, "zebra")

texts = st.lists(st.sets(st.sampled_from(WORDS)), max_size=4)
nodes = st.lists(texts, min_size=1, max_size=4)


def spoken(said: list[set[str]]) -> list[Any]:
    return [passage(seq, seq, dict.fromkeys(sorted(words), seq)) for seq, words in enumerate(said, 1)]


def as_numbers(counts: WordCounts) -> tuple[list[float], set[tuple[int, ...]]]:
    found = zip(counts.lexeme.tolist(), counts.node.tolist(), counts.passages.tolist(), strict=True)
    return counts.rarities.tolist(), set(found)


@given(said=nodes, title=st.sampled_from(WORDS), packed=st.integers(0, 4))
def test_layers_and_words_of_nodes_say_the_same(said: list[list[set[str]]], title: str, packed: int) -> None:
    """The title of a record is no passage; words of a node are in a pack, or come from segments after it."""
    layers = [layer_of(one_record(record_lexemes=[title]) | segments_of(spoken(one))) for one in said]
    numbers = [3 + 2 * number for number in range(len(said))]
    passages = np.zeros(20, np.intp)
    passages[numbers] = [len(one) for one in said]
    shells: Any = SimpleNamespace(passages=passages)
    words = []
    for number, (one, layer) in enumerate(zip(said, layers, strict=True)):
        keys = SearchSegment.of(spoken(one)).keys.tobytes()
        is_packed = number < packed
        words.append(
            NodeWords.of({"packed": pack(layer).words if is_packed else None, "added": [] if is_packed else [keys]})
        )
    by_rows = counted_in_rows(Rows(layers), numbers, ASKED)
    graph = GraphWords(numbers, words)
    for _ in range(3):  # in each node, and then in all together
        assert as_numbers(counted_in_graph(graph, shells, ASKED)) == as_numbers(by_rows)
    counted = Counter(
        (word, number) for number, one in zip(numbers, said, strict=True) for text in one for word in text
    )
    assert as_numbers(by_rows)[1] == {(WORDS.index(word), node, often) for (word, node), often in counted.items()}


def test_later_segments_are_added_to_packed_words() -> None:
    packed = pack(layer_of(one_record() | segments_of(spoken([{"boat", "oil"}, {"oil"}])))).words
    added = [lexeme_keys(["oil", "kite"]).tobytes(), b"", lexeme_keys(["kite"]).tobytes()]
    words = NodeWords.of({"packed": packed, "added": added})
    known = dict(zip(words.keys.tolist(), words.passages.tolist(), strict=True))
    assert [known.get(key, 0) for key in lexeme_keys(ASKED).tolist()] == [1, 3, 0, 0, 2, 0]
    assert words.keys.tolist() == sorted(words.keys.tolist())
    assert NodeWords.of({"packed": None, "added": []}).keys.tolist() == []


def test_records_that_changed_count_once() -> None:
    """Another layer has them as they are now."""
    row = one_record() | segments_of(spoken([{"boat"}, {"boat", "oil"}]))
    before, now = layer_of(row), layer_of(row | segments_of(spoken([{"boat"}])))
    rows = Rows([before.without(before.ids), now])
    assert rows.current_passages == 1
    rarities, found = as_numbers(counted_in_rows(rows, [0, 0], ["boat", "oil"]))
    assert found == {(0, 0, 1)}
    assert rarities == rarities_of(np.array([1, 0]), 1).tolist()


def test_a_word_that_is_almost_everywhere_speaks_for_no_node() -> None:
    lexemes, each = ["oil", "boat", "kite"], 1_500
    shells: Any = SimpleNamespace(passages=np.array([each] * 4))
    keys = lexeme_keys(["boat", "oil", "kite"])
    order = np.argsort(keys)
    often = np.array([900, each, 1], np.int32)  # boat in 3,600 passages, oil in 6,000, kite in 4
    words = [NodeWords(keys[order], often[order]) for _ in range(4)]
    counts = counted_in_graph(GraphWords(range(4), words), shells, lexemes)
    assert 4 * 901 < EVERYWHERE < 4 * (901 + each)
    assert set(counts.lexeme.tolist()) == {1, 2}
    assert (np.diff(counts.rarities) > 0).all()
    assert counts.content_scores(5)[:4] == pytest.approx(
        [sum(counts.rarities[1:] * [900 / 901, 1 / 2]) / counts.rarities[1:].sum()] * 4
    )
    assert counts.content_scores(5)[4] == 0


def test_without_counts_all_words_are_equally_rare() -> None:
    counts = uncounted(["oil", "boat"])
    assert counts.rarities.tolist() == rarities_of(np.ones(2), ASSUMED_PASSAGES).tolist()
    assert counts.content_scores(3).tolist() == [0, 0, 0]
    assert uncounted([]).rarities.tolist() == []


def test_a_graph_without_words() -> None:
    shells: Any = SimpleNamespace(passages=np.zeros(0, np.intp))
    graph = GraphWords([], [])
    for _ in range(3):
        assert as_numbers(counted_in_graph(graph, shells, ["boat"]))[1] == set()
