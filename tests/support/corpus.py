"""Statistics of nodes as stored, the words of nodes as the gate gives them, and the same computed from the segments."""

from __future__ import annotations

from collections import Counter
from typing import Any

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.index.node_words import NodeWords
from neurigraph_pipelines.retrieval.index.packs import FORMAT
from neurigraph_pipelines.text.search_segments import SearchSegment, lexeme_keys
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows


def counted(installation: Installation, user: User) -> dict[str, Any]:
    """Return the stored statistics of the nodes that hold anything, and in how many of their passages words occur."""
    statistics = "SELECT node_id, passages, speakers, languages FROM neurigraph.node_statistics WHERE user_id = %s"
    nodes = rows(installation, "SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s", user.user_id)
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        said = tx.execute(
            "SELECT * FROM neurigraph.node_words(%s, %s)", [[row["node_id"] for row in nodes], FORMAT]
        ).fetchall()
    words = {row["node_id"]: NodeWords.of(row) for row in said}
    return {
        "nodes": {
            row["node_id"]: (row["passages"], sorted(row["speakers"]), sorted(row["languages"]))
            for row in rows(installation, statistics, user.user_id)
            if any((row["passages"], row["speakers"], row["languages"]))
        },
        "words": {
            node_id: dict(zip(one.keys.tolist(), one.passages.tolist(), strict=True))
            for node_id, one in words.items()
            if len(one.keys)
        },
    }


def held(installation: Installation, user: User) -> dict[str, Any]:
    """Compute the same from the segments that are not in quarantine."""
    query = "SELECT * FROM neurigraph.segments WHERE user_id = %s AND is_counted"
    nodes: dict[Any, tuple[int, set[str], set[str]]] = {}
    words: dict[Any, Counter[int]] = {}
    for row in rows(installation, query, user.user_id):
        segment = SearchSegment.read(row["content"])
        passages, speakers, languages = nodes.get(row["node_id"], (0, set[str](), set[str]()))
        nodes[row["node_id"]] = (
            passages + len(segment.rows), speakers | set(segment.speakers), languages | set(row["languages"])
        )  # fmt: skip
        words.setdefault(row["node_id"], Counter()).update(segment.keys.tolist())
    return {
        "nodes": {node_id: (one[0], sorted(one[1]), sorted(one[2])) for node_id, one in nodes.items()},
        "words": {node_id: dict(counts) for node_id, counts in words.items() if counts},
    }


def passages_with(statistics: dict[str, Any], word: str) -> int:
    """Return the number of passages of all nodes in which a word occurs."""
    (key,) = lexeme_keys([word]).tolist()
    return sum(words.get(key, 0) for words in statistics["words"].values())
