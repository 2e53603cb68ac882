"""The shells of a graph, decoded from the database's rows."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from neurigraph_pipelines.retrieval.index.names import EXACT
from neurigraph_pipelines.retrieval.index.shells import Shells

ROOT_ONLY = (("bob", None),)
FEW = (*ROOT_ONLY, ("Family", ""), ("Dave", "Davy\nthe tall one"), ("Work", ""), ("Rome", ""))


def id_of(number: int) -> UUID:
    return UUID(int=number + 1)


def row_of(
    nodes: Sequence[tuple[str, str | None]] = FEW,
    edges: Sequence[tuple[int, int]] = (),
    parents: Sequence[int] | None = None,
    version: str = "1",
) -> dict[str, Any]:
    """Nodes by name and aliases; the root is above all of them where nothing else is said."""
    above = parents if parents is not None else [0] * len(nodes)
    return {
        "data_version": version,
        "model": "words",
        "speakers": ["dave"],
        "languages": None,
        "node_ids": b"".join(id_of(number).bytes for number in range(len(nodes))),
        "parents": b"".join(id_of(number).bytes for number in above),
        "node_names": [name for name, _ in nodes],
        "aliases": [aliases for _, aliases in nodes],
        "counts": struct.pack(">ii", 2, 10) * len(nodes),
        "versions": ["7" for _ in nodes],
        "centroids": b"".join(b"\0\2\0\0" + struct.pack(">ee", 1.0, number) for number in range(len(nodes))),
        "edges": b"".join(id_of(end).bytes for edge in edges for end in edge) or None,
        "shell_stems": None,
        **dict.fromkeys(("is_watched", "expires", "disagrees"), False),
    }


@given(edges=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=12))
def test_any_edges(edges: list[tuple[int, int]]) -> None:
    shells = Shells(row_of(edges=edges))
    known = [(one, other) for one, other in edges if one < len(FEW) and other < len(FEW)]
    for number in range(len(FEW)):
        beside = [other for one, other in known if one == number] + [one for one, other in known if other == number]
        assert sorted(shells.neighbours(number)) == sorted(beside)


def test_unchanged_names_are_reused() -> None:
    before = Shells(row_of())
    assert before.names.named("bob and Davy, the tall one", []) == {2: EXACT}, "nobody calls a root by its name"
    same = Shells(row_of(edges=[(1, 2)], version="2"), before)
    assert same.names is before.names
    assert same.data_version == "2"
    renamed = Shells(row_of([*FEW[:2], ("Peter", "Davy"), *FEW[3:]], version="3"), same)
    assert renamed.names.named("Peter, or Dave", []) == {2: EXACT}
    assert renamed.names.named("Dave", []) == {}
    assert renamed.location(2)[2] == "bob/Peter"
    fewer = Shells(row_of(FEW[:2], version="4"), renamed)
    assert fewer.names.named("Peter, Davy, Rome and Family", []) == {1: EXACT}


def test_moved_alias() -> None:
    before = Shells(row_of())
    nodes = [*FEW[:2], ("Dave", "the tall one"), ("Work", "Davy"), FEW[4]]
    assert Shells(row_of(nodes), before).names.named("Davy", []) == {3: EXACT}


def test_node_paths() -> None:
    shells = Shells(row_of(parents=[0, 0, 1, 3, 2]))
    assert len(shells) == len(FEW)
    assert [shells.location(number)[2] for number in range(5)] == [
        "bob",
        "bob/Family",
        "bob/Family/Dave",
        "Work",
        "bob/Family/Dave/Rome",
    ]
    assert [shells.location(number)[0] for number in (0, 4)] == [str(id_of(0)), str(id_of(4))]
    assert shells.below(1).tolist() == [False, True, True, False, True]
    assert [shells.number(id_of(number)) for number in (0, 4, 5)] == [0, 4, None]
    assert shells.number(UUID(int=0)) is None
    assert shells.speakers == ["dave"]
    assert shells.model == "words"


def test_nodes_that_hold_anything() -> None:
    counts = struct.pack(">10i", 0, 0, 2, 10, 0, 4, 0, 0, 1, 0)
    shells = Shells(row_of() | {"counts": counts, "versions": ["1", "2", "3", "4", "5"]})
    assert (shells.records.tolist(), shells.passages.tolist()) == ([0, 2, 0, 0, 1], [0, 10, 4, 0, 0])
    assert shells.versions == {str(id_of(1)): "2", str(id_of(2)): "3", str(id_of(4)): "5"}
    assert shells.filled.tolist() == [1, 2, 4]
    assert shells.median_passages == 7, "of those that have any"


def test_who_may_not_count_gets_no_centroids() -> None:
    assert Shells(row_of()).may_count
    assert not Shells(row_of() | {"centroids": None}).may_count
