"""Packed layers answer as the nodes' tables do, are never stale, and keep nothing that was forgotten."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.packs import FORMAT
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query import read_packs
from neurigraph_pipelines.retrieval.query.caching import cache_bytes
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.lexemes import WINDOW
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

PACKS = "SELECT node_id, layer, vectors FROM neurigraph.layer_packs WHERE user_id = %s"


def ask(here: Installation, claims: Claims) -> Found:
    """Ask a process that has nothing in memory and keeps nothing."""
    context = plain_context(here)
    settings = context.settings.changed(layer_cache_mb=0, answer_cache_entries=0)
    question = Question("Zanzibar contract lawyers", explain=True, message_limit=100)
    return search(context.acting_for(claims).using(settings=settings), question).model_copy(update={"warmed": 0})


def packs(graph: SharedGraph) -> dict[UUID, Any]:
    return {row["node_id"]: row for row in rows(graph.installation, PACKS, graph.owner.user_id)}


def pack(graph: SharedGraph) -> int:
    return pack_layers(plain_context(graph.installation), 100, user_ids=[graph.owner.user_id])


def vectors(graph: SharedGraph, claims: Claims, path: str) -> list[bytes]:
    """Call the gate of packed vectors as somebody who knows a node and its version."""
    node = graph.node(path)
    (pack,) = rows(graph.installation, "SELECT version FROM neurigraph.layer_packs WHERE node_id = %s", node)
    with graph.installation.database.agent(claims) as tx:
        found = tx.execute(
            "SELECT vectors FROM neurigraph.packed_vectors(%s, %s, %s, %s, %s)",
            [[node], [pack["version"]], [1], [None], FORMAT],
        ).fetchall()
    return [row["vectors"] for row in found]


def test_packed_vectors_are_read_by_those_who_see_the_node(shared_installation: Installation) -> None:
    graph = new_shared_graph(shared_installation)
    pack(graph)
    for path in ("Work/Legal", "Work/Marketing"):
        assert len(vectors(graph, graph.owners, path)) == 1
    assert vectors(graph, graph.personas, "Work/Legal") == vectors(graph, graph.owners, "Work/Legal")
    assert vectors(graph, graph.personas, "Work/Marketing") == []
    set_private(graph, graph.record_of("Work/Legal/Contracts")[0])
    assert vectors(graph, graph.personas, "Work/Legal") == [], "of whom a source is hidden, none are read"
    assert len(vectors(graph, graph.owners, "Work/Legal")) == 1


def test_vectors_that_fit_are_kept(shared_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of five layers where two have room: some stay, and no question reads any of them again."""
    graph, here = new_shared_graph(shared_installation), shared_installation
    pack(graph)
    cache = caches_of(here.database).vectors
    nodes = [str(node) for node in packs(graph)]
    settings = here.settings.changed(layer_cache_mb=1, answer_cache_entries=0)

    def kept() -> dict[str, int]:
        context = plain_context(here).acting_for(graph.owners).using(settings=settings)
        for _ in range(4):
            search(context, Question("Zanzibar contract lawyers"))
            here.database.wait_for_background()
        return {node: held.nbytes for node in nodes if (held := cache.peek(node)) is not None}

    sizes = kept()
    assert len(sizes) == 5
    for node in nodes:
        cache.drop(node)
    room = 2 * max(sizes.values())
    assert room < sum(sizes.values())
    monkeypatch.setattr(read_packs, "VECTORS_SHARE", room / cache_bytes(here.context.using(settings=settings)))
    some = kept()
    assert 0 < sum(some.values()) <= room
    reads = cache.misses
    assert kept() == some
    assert cache.misses == reads


def set_private(graph: SharedGraph, record: UUID) -> None:
    with graph.installation.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.sources SET privacy = 'private' WHERE source_id = "
            "(SELECT source_id FROM neurigraph.record_index WHERE record_id = %s)",
            [record],
        )


def test_packed_layers(shared_installation: Installation) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    guest = graph.third_party("guest")
    graph.grant("Work/Marketing", "guest")
    everyone = (graph.owners, graph.personas, guest)
    by_tables = [ask(here, claims) for claims in everyone]
    assert [len(answer.hits) for answer in by_tables] == [5, 2, 1]
    assert pack(graph) == 5
    assert pack(graph) == 0, "nothing has changed"
    assert [ask(here, claims) for claims in everyone] == by_tables

    # They are read, and by all who may see the node: with other texts in them, answers show those.
    with here.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.layer_packs SET layer = decode(replace(encode(layer, 'hex'), %s, %s), 'hex') "
            "WHERE user_id = %s",
            [b"Zanzibar".hex(), b"Lapland!".hex(), graph.owner.user_id],
        )
    for claims in everyone:
        assert "Zanzibar" not in str([hit.summary for hit in ask(here, claims).hits])
    assert "Lapland!" in str([hit.summary for hit in ask(here, guest).hits])
    assert ask(here, graph.third_party("stranger")).hits == []

    assert_follows_its_node(graph, guest)


def assert_follows_its_node(graph: SharedGraph, guest: Claims) -> None:
    here = graph.installation
    # Another version of the node: what changed is read, and of the others what was packed.
    marketing, (record, _) = graph.node("Work/Marketing"), graph.record_of("Work/Marketing")
    (place,) = rows(here, "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s", marketing)
    with here.database.owner() as tx:
        authored(tx, "tests")
        records = sql.Identifier(place["schema_name"], "metadata_records")
        tx.execute(sql.SQL("UPDATE {} SET title = 'Renamed'").format(records))
    assert [(hit.title, "Zanzibar" in hit.summary) for hit in ask(here, guest).hits] == [("Renamed", True)]
    assert read(graph, guest, marketing) == {"packed": True, "changed": record.bytes, "titles": ["Renamed"]}
    assert pack(graph) == 1
    assert [hit.title for hit in ask(here, guest).hits] == ["Renamed"]
    assert read(graph, guest, marketing) == {"packed": True, "changed": None, "titles": None}

    # What is hidden is in no packed layer.
    for hidden in (True, False):
        with here.database.owner() as tx:
            tx.execute("SELECT neurigraph_private.set_quarantined(%s, %s)", [[record], hidden])
        assert (marketing in packs(graph)) is False
        assert len(ask(here, guest).hits) == (not hidden)
    assert_keeps_to_its_gate(graph, marketing, record)


def read(graph: SharedGraph, claims: Claims, node: UUID) -> dict[str, Any]:
    """Call the gate of layers as a process that has nothing in memory."""
    with graph.installation.database.agent(claims) as tx:
        (row,) = tx.execute(
            "SELECT pack IS NOT NULL AS packed, changed, titles "
            "FROM neurigraph.layers(%s, %s, ARRAY[NULL]::bigint [], NULL)",
            [Jsonb({**WINDOW, "packs": FORMAT}), [node]],
        ).fetchall()
    return dict(row)


def assert_keeps_to_its_gate(graph: SharedGraph, marketing: UUID, record: UUID) -> None:
    here = graph.installation
    # Where a source is private, others are answered from the tables alone.
    hidden, _ = graph.record_of("Work/Legal")
    set_private(graph, hidden)
    pack(graph)
    assert hidden in {hit.record_id for hit in ask(here, graph.owners).hits}
    assert hidden not in {hit.record_id for hit in ask(here, graph.personas).hits}

    # No interface reads them but through the gate, and what is forgotten is gone from them.
    with here.database.agent(graph.owners) as tx, pytest.raises(psycopg.errors.InsufficientPrivilege):
        tx.execute(PACKS, [graph.owner.user_id])
    assert marketing in packs(graph)
    forget(plain_context(here).acting_for(graph.owners), Subject(SubjectKind.RECORD, record), through="tests")
    assert marketing not in packs(graph)
    assert rows(here, "SELECT change FROM neurigraph.record_changes WHERE record_id = %s", record) == []
    assert "Renamed" not in str([hit.title for hit in ask(here, graph.owners).hits])
