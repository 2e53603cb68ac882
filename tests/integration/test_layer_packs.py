"""Packed layers answer as the nodes' tables do, are never stale, and keep nothing that was forgotten."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.history import authored
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval import packing
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.index.node_words import NodeWords
from neurigraph_pipelines.retrieval.index.packs import FORMAT, Packed
from neurigraph_pipelines.retrieval.index.packs import pack as pack_layer
from neurigraph_pipelines.retrieval.index.postings import Floats, Numbers
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query import find, load, stored_vectors
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.search_segments import lexeme_keys, read_vectors
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

PACKS = "SELECT node_id, layer, words FROM neurigraph.layer_packs WHERE user_id = %s"

WORDS = ("zanzibar", "campaign", "lawyer", "contract")


def ask(here: Installation, claims: Claims) -> Found:
    """Ask a process that has nothing in memory and keeps nothing."""
    context = plain_context(here)
    settings = context.settings.changed(layer_cache_mb=0, answer_cache_entries=0)
    question = Question("Zanzibar contract lawyers", explain=True, message_limit=100)
    return search(context.acting_for(claims).using(settings=settings), question).model_copy(update={"warmed": 0})


def assert_equal(answers: Sequence[Found], others: Sequence[Found]) -> None:
    """Compare answers; numbers are equal but for the order in which they were added up."""
    (said, numbers), (other, wanted) = (
        apart([one.model_dump(mode="json") for one in found]) for found in (answers, others)
    )
    assert said == other
    assert numbers == pytest.approx(wanted, abs=1e-6)


def apart(value: Any) -> tuple[Any, list[float]]:
    """Return a value with its numbers taken out, and these."""
    if isinstance(value, float):
        return float, [value]
    if not isinstance(value, dict | list):
        return value, []
    parts = [apart(one) for one in (value.values() if isinstance(value, dict) else value)]
    names = list(value) if isinstance(value, dict) else []
    return (names, [rest for rest, _ in parts]), [number for _, numbers in parts for number in numbers]


def packs(graph: SharedGraph) -> dict[UUID, Any]:
    return {row["node_id"]: row for row in rows(graph.installation, PACKS, graph.owner.user_id)}


def pack(graph: SharedGraph) -> int:
    return pack_layers(plain_context(graph.installation), 100, user_ids=[graph.owner.user_id])


def vectors(graph: SharedGraph, claims: Claims, record: UUID, passages: str | None = None) -> list[Any]:
    """Call the gate of vectors as somebody who knows a record."""
    with graph.installation.database.agent(claims) as tx:
        found = tx.execute(
            "SELECT record_id, vectors FROM neurigraph.vectors(%s, %s, %s)", [[record], [passages], WordEmbedder.model]
        ).fetchall()
    assert {row["record_id"] for row in found} <= {record}
    return [row["vectors"] for row in found]


def words(graph: SharedGraph, claims: Claims, *paths: str) -> dict[UUID, dict[str, int]]:
    """Call the gate of words as somebody who knows nodes: in how many passages of each node the words occur."""
    nodes = [graph.node(path) for path in paths]
    with graph.installation.database.agent(claims) as tx:
        found = tx.execute("SELECT * FROM neurigraph.node_words(%s, %s)", [nodes, FORMAT]).fetchall()
    return {row["node_id"]: counts_of(row) for row in found}


def counts_of(row: dict[str, Any]) -> dict[str, int]:
    said = NodeWords.of(row)
    known = dict(zip(said.keys.tolist(), said.passages.tolist(), strict=True))
    return {word: known[key] for word, key in zip(WORDS, lexeme_keys(WORDS).tolist(), strict=True) if key in known}


def set_quarantined(graph: SharedGraph, record: UUID, hidden: bool) -> None:
    with graph.installation.database.owner() as tx:
        tx.execute("SELECT neurigraph_private.set_quarantined(%s, %s)", [[record], hidden])


def records_of(graph: SharedGraph, path: str) -> list[UUID]:
    query = "SELECT record_id FROM neurigraph.record_index WHERE node_id = %s"
    return [row["record_id"] for row in rows(graph.installation, query, graph.node(path))]


def stranger(here: Installation) -> Claims:
    """The claims of the owner of another graph."""
    return new_user(here)[1]


def test_vectors_are_read_by_those_who_see_the_record(shared_installation: Installation) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    legal, marketing, contract = (
        graph.record_of(path)[0] for path in ("Work/Legal", "Work/Marketing", "Work/Legal/Contracts")
    )
    (whole,) = vectors(graph, graph.owners, legal)
    assert read_vectors(whole, 1).any()
    assert vectors(graph, graph.owners, legal, "1") == [whole]
    assert vectors(graph, graph.owners, legal, "1 1") == [whole + whole]
    assert len(vectors(graph, graph.owners, marketing)) == 1
    assert vectors(graph, graph.personas, legal) == [whole]
    nobody = (stranger(here), graph.third_party("stranger"), graph.owners.within(["garden"]))
    for claims in nobody:
        assert [vectors(graph, claims, record) for record in (legal, marketing, contract)] == [[], [], []]
    assert vectors(graph, graph.personas, marketing) == [], "a node that she does not see"
    assert vectors(graph, graph.owners, uuid4()) == []
    with here.database.agent(graph.owners) as tx:
        by_model = "SELECT * FROM neurigraph.vectors(%s, %s, %s)"
        assert tx.execute(by_model, [[legal], [None], "another model"]).fetchall() == []

    converse(here, graph.owners, "#Work/Marketing A second campaign.")
    ingest(plain_context(here), graph.owner)
    graph.grant("Work/Marketing", "guest")
    guest, both = graph.third_party("guest"), set(records_of(graph, "Work/Marketing"))
    assert all(len(vectors(graph, guest, record)) == 1 for record in both)
    set_private(graph, marketing)
    assert vectors(graph, guest, marketing) == [], "a private source"
    assert len(vectors(graph, graph.owners, marketing)) == 1
    (other,) = both - {marketing}
    assert len(vectors(graph, guest, other)) == 1, "of what is not hidden, they are read"

    graph = new_shared_graph(here)
    legal, _ = graph.record_of("Work/Legal")
    (whole,) = vectors(graph, graph.personas, legal)
    set_quarantined(graph, legal, hidden=True)
    for claims in (graph.owners, graph.personas, *nobody):
        assert vectors(graph, claims, legal) == [], "what is in quarantine"
    set_quarantined(graph, legal, hidden=False)
    assert vectors(graph, graph.personas, legal) == vectors(graph, graph.owners, legal) == [whole]


def test_words_are_read_by_those_who_see_the_whole_node(shared_installation: Installation) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    paths = ("Work/Legal", "Work/Legal/Contracts", "Work/Marketing", "Work")
    legal, contracts, marketing, work = map(graph.node, paths)
    everything = {
        legal: {"lawyer": 1},
        contracts: {"contract": 1},
        marketing: {"zanzibar": 1, "campaign": 1},
        work: {"zanzibar": 1},
    }
    hers = {legal: {"lawyer": 1}, contracts: {"contract": 1}}
    nobody = (stranger(here), graph.third_party("stranger"), graph.owners.within(["garden"]))
    for _ in range(2):  # by segments, and then by packs
        assert words(graph, graph.owners, *paths) == everything
        assert words(graph, graph.personas, *paths) == hers
        for claims in nobody:
            assert not any(words(graph, claims, *paths).values())
        assert pack(graph) in (0, 5)

    record = graph.record_of("Work/Legal")[0]
    for packed in (True, False):
        set_quarantined(graph, record, hidden=True)
        pack(graph) if packed else None
        assert words(graph, graph.owners, *paths) == everything | {legal: {}}, "what is in quarantine"
        assert words(graph, graph.personas, *paths) == hers | {legal: {}}
        set_quarantined(graph, record, hidden=False)
        assert words(graph, graph.owners, *paths) == everything

    set_private(graph, graph.record_of("Work/Legal/Contracts")[0])
    pack(graph)
    assert words(graph, graph.owners, *paths) == everything
    assert words(graph, graph.personas, *paths) == {}, "of whom a source is hidden, no node is read"


def test_words_of_later_segments_are_added_to_packed_ones(shared_installation: Installation) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    assert pack(graph) == 5
    converse(here, graph.owners, "#Work/Marketing The campaign needs a contract.")
    ingest(plain_context(here), graph.owner)
    marketing = graph.node("Work/Marketing")
    with here.database.agent(graph.owners) as tx:
        (row,) = tx.execute("SELECT * FROM neurigraph.node_words(%s, %s)", [[marketing], FORMAT]).fetchall()
    assert (row["packed"] is not None, len(row["added"])) == (True, 1)
    for _ in range(2):  # before and after they are packed
        found = words(graph, graph.owners, "Work/Marketing")
        assert found == {marketing: {"zanzibar": 1, "campaign": 2, "contract": 1}}
        pack(graph)


def test_vectors_that_fit_are_kept(shared_installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors of five layers where two have room: some stay, and those are not read again."""
    graph, here = new_shared_graph(shared_installation), shared_installation
    pack(graph)
    cache = caches_of(here.database).nodes
    nodes = [str(node) for node in packs(graph)]
    settings = here.settings.changed(layer_cache_mb=1, answer_cache_entries=0)
    read: list[MetadataLayer] = []

    def counted(context: Context, wanted: Sequence[tuple[MetadataLayer, Numbers]]) -> list[Floats]:
        read.extend(layer for layer, _ in wanted)
        return read_stored(context, wanted)

    read_stored = stored_vectors.read
    monkeypatch.setattr(stored_vectors, "read", counted)

    def kept() -> dict[str, int]:
        context = plain_context(here).acting_for(graph.owners).using(settings=settings)
        for _ in range(4):
            search(context, Question("Zanzibar contract lawyers"))
            here.database.wait_for_background()
        layers = {node: layers.base for node in nodes if (layers := cache.peek(NodeLayers, node)) is not None}
        return {node: one.held.vectors.nbytes for node, one in layers.items() if one.held.vectors is not None}

    sizes = kept()
    assert len(sizes) == 5
    assert read, "the first question reads what it compares"
    read.clear()
    assert kept() == sizes
    assert read == []

    of_nodes = {node: layers for node in nodes if (layers := cache.peek(NodeLayers, node)) is not None}
    cache.put("", of_nodes[nodes[0]], 0)  # nothing is kept
    assert cache.size == 0
    without = sum(layers.size for layers in of_nodes.values()) - sum(sizes.values())
    room = without + 2 * max(sizes.values())
    assert room < without + sum(sizes.values())
    monkeypatch.setattr(stored_vectors, "cache_bytes", lambda _context: room)
    some = kept()
    assert 0 < sum(some.values()) <= 2 * max(sizes.values())
    read.clear()
    assert kept() == some
    assert read
    kept_layers = {id(layers.base) for node in some if (layers := cache.peek(NodeLayers, node)) is not None}
    assert not kept_layers.intersection(map(id, read))


def test_pending_vectors_are_no_reason_to_read_a_node_again(
    shared_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record whose vectors are pending is found by its words, of a packed layer as by the tables."""
    graph, here = new_shared_graph(shared_installation), shared_installation
    converse(here, graph.owners, "#Work/Marketing Zanzibar lawyers sign a contract.")
    ingest(plain_context(here), graph.owner)
    first, second = records_of(graph, "Work/Marketing")
    with here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.segments SET vectors = NULL, model = NULL WHERE record_id = %s", [second])
    by_tables = ask(here, graph.owners)
    assert pack(graph) == 5
    assert vectors(graph, graph.owners, second) == [None]
    assert len(vectors(graph, graph.owners, first)) == 1
    loads = []
    load_layers = load.load_layers

    def counted(*arguments: Any, packs: bool = True) -> Any:
        loads.append(packs)
        return load_layers(*arguments, packs=packs)

    monkeypatch.setattr(find, "load_layers", counted)
    assert_equal([ask(here, graph.owners)], [by_tables])
    assert loads == [True]
    assert {first, second} <= {hit.record_id for hit in by_tables.hits}


@pytest.mark.parametrize("damage", ["substr(vectors, 2)", "vectors || vectors", "'\\x'"])
def test_damaged_vectors_keep_nothing_else_from_being_found(shared_installation: Installation, damage: str) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    assert pack(graph) == 5
    (damaged, _), (other, _) = graph.record_of("Work/Marketing"), graph.record_of("Work/Legal")
    query = f"UPDATE neurigraph.segments SET vectors = {damage} WHERE record_id = %s"
    with psycopg.connect(here.administrator_url) as connection:
        connection.execute("SET session_replication_role = replica")  # as a defect of the disk, which no trigger sees
        connection.execute(query.encode(), [damaged])
    assert {damaged, other} <= {hit.record_id for hit in ask(here, graph.owners).hits}


@pytest.mark.parametrize(
    ("table", "column"), [("segments", "content"), ("layer_packs", "layer"), ("layer_packs", "words")]
)
@pytest.mark.parametrize(
    "damage",
    ["substr({}, 2)", "{} || {}", "'\\x'", "overlay({} PLACING '\\xffffffffffffffff' FROM 5)", "substr({}, 1, 60)"],
)
def test_damaged_bytes_keep_nothing_else_from_being_found(
    shared_installation: Installation, table: str, column: str, damage: str
) -> None:
    """A damaged pack is left out and its node read from the segments; of a damaged segment the record stays."""
    graph, here = new_shared_graph(shared_installation), shared_installation
    if table == "layer_packs":
        assert pack(graph) == 5
    marketing, (other, _) = graph.node("Work/Marketing"), graph.record_of("Work/Legal")
    query = f"UPDATE neurigraph.{table} SET {column} = {damage.replace('{}', column)} WHERE node_id = %s"
    with psycopg.connect(here.administrator_url) as connection:
        connection.execute("SET session_replication_role = replica")  # as a defect of the disk, which no trigger sees
        connection.execute(query.encode(), [marketing])
    found = {hit.record_id for hit in ask(here, graph.owners).hits}
    assert {*records_of(graph, "Work/Marketing"), other} <= found
    remember(graph, "#Work/Marketing Zanzibar lawyers sign another contract.")
    assert pack(graph) >= 1, "a change mends it"
    assert len(ask(here, graph.owners).hits) == len(found) + 1


def remember(graph: SharedGraph, content: str) -> None:
    converse(graph.installation, graph.owners, content)
    ingest(plain_context(graph.installation), graph.owner)


def test_record_that_is_forgotten_while_its_node_is_packed_is_in_no_pack(
    shared_installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, here = new_shared_graph(shared_installation), shared_installation
    record, _ = graph.record_of("Work/Marketing")
    context, subject = plain_context(here).acting_for(graph.owners), ErasureSubject(SubjectKind.RECORD, record)
    forgetting = threading.Thread(target=lambda: forget(context, subject, through="tests"))

    def meanwhile(layer: MetadataLayer) -> Packed:
        if str(record) in layer.record_ids:
            forgetting.start()
            time.sleep(0.5)
            assert forgetting.is_alive(), "it waits for the pack, or the pack would keep the record"
        return pack_layer(layer)

    monkeypatch.setattr(packing, "pack", meanwhile)
    assert pack(graph) > 0
    forgetting.join(60)
    assert not forgetting.is_alive()
    assert all(record.bytes not in bytes(row["layer"]) for row in packs(graph).values())
    assert record not in {hit.record_id for hit in ask(here, graph.owners).hits}


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
    assert_equal([ask(here, claims) for claims in everyone], by_tables)

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
        set_quarantined(graph, record, hidden)
        assert (marketing in packs(graph)) is False
        assert len(ask(here, guest).hits) == (not hidden)
    assert_keeps_to_its_gate(graph, marketing, record)


def read(graph: SharedGraph, claims: Claims, node: UUID) -> dict[str, Any]:
    """Call the gate of layers as a process that has nothing in memory."""
    with graph.installation.database.agent(claims) as tx:
        (row,) = tx.execute(
            "SELECT pack IS NOT NULL AS packed, changed, titles "
            "FROM neurigraph.layers(%s, ARRAY[NULL]::bigint [], %s, 'words', 96)",
            [[node], FORMAT],
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
    forget(plain_context(here).acting_for(graph.owners), ErasureSubject(SubjectKind.RECORD, record), through="tests")
    assert marketing not in packs(graph)
    assert rows(here, "SELECT change FROM neurigraph.record_changes WHERE record_id = %s", record) == []
    assert "Renamed" not in str([hit.title for hit in ask(here, graph.owners).hits])
