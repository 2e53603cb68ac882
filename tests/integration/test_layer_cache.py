"""The layer cache: updated layers equal those read from the database, after any writes."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.graph.reshaping import merge_nodes
from neurigraph_pipelines.ingestion.healing import heal_pending
from neurigraph_pipelines.ingestion.reembed import reembed
from neurigraph_pipelines.ingestion.revision import Revision, revise, supersede
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.layers import MetadataLayer
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.index.postings import Floats, Postings
from neurigraph_pipelines.retrieval.index.rows import Rows
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query.load import load_layers
from neurigraph_pipelines.retrieval.query.passage_vectors import VectorsGoneError
from neurigraph_pipelines.retrieval.query.stored_vectors import read
from neurigraph_pipelines.text.search_segments import lexeme_keys
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.delegating import DelegatingDatabase
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.node_writers import STATEMENTS, WORDS, Writer
from tests.support.vectors import NamedEmbedder

THOROUGH = settings(
    # A shorter run of changes is not worth the minutes that looking for it takes.
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
MODELS = ("one", "two")
TEXTS = (
    ("#Boats The rope is long.", "How long?", "Long as a boat. " * 30),
    ("#Music A cello sings.", "It does."),
    ("#Boats Oil for the boat.", "And rope."),
)


class Reader:
    """Two processes, each with a layer cache, that read for one user."""

    def __init__(self, here: Installation, claims: Claims) -> None:
        self.here, self.claims = here, claims
        self.reads = 0
        self.cache = DelegatingDatabase(here.database)
        self.lean = DelegatingDatabase(here.database)

    def read(self, process: Database, *, packs: bool = False) -> dict[str, NodeLayers]:
        with self.here.database.owner() as tx:
            known = tx.execute(
                "SELECT g.node_id::text, v.version, u.embedding_model FROM neurigraph.graph_index AS g "
                "JOIN neurigraph.users AS u USING (user_id) "
                "CROSS JOIN LATERAL neurigraph_private.node_version(g.node_id) AS v WHERE g.user_id = %s",
                [self.claims.user_id],
            ).fetchall()
        versions: dict[str, str | None] = {row["node_id"]: row["version"] for row in known}
        model = known[0]["embedding_model"]
        reading = self.here.acting_for(self.claims).using(database=process, embedder=NamedEmbedder(model, 16))
        layers = load_layers(reading, versions, model, packs=packs)
        assert layers is not None, "nobody moves to another model meanwhile"
        return layers

    def content(self, process: Database, *, packs: bool = False) -> dict[str, dict[str, Any]]:
        """Return the whole content of all nodes; vectors that are in no layer are read."""
        found = {}
        for node_id, layers in self.read(process, packs=packs).items():
            try:
                found[node_id] = content_of(layers, {id(one): self.vectors_of(one) for one in layers.layers})
            except VectorsGoneError:  # packed again since
                caches_of(process).nodes.drop(NodeLayers, node_id)
                return self.content(process, packs=packs)
        return found

    def vectors_of(self, layer: MetadataLayer) -> Floats:
        """Return the vectors of the passages of a layer; those of records that are gone may be zeros."""
        if layer.held.vectors is not None:
            return layer.held.vectors
        vectors = np.zeros((layer.passages, layer.width), np.float32)
        stays = np.delete(np.arange(layer.passages), layer.gone_passages)
        if layer.width and len(stays):
            (vectors[stays],) = read(self.here.acting_for(self.claims), [(layer, stays)])
        return vectors

    def must_be_up_to_date(self) -> None:
        kept = self.content(self.cache)
        assert kept == self.content(DelegatingDatabase(self.here.database))
        assert kept == self.content(self.lean, packs=True), "of a packed layer and what changed since"
        for _ in range(2):  # by what was packed before, and by what is packed now
            assert kept == self.content(DelegatingDatabase(self.here.database), packs=True)
            self.reads += 1
            if self.reads % 3:  # the log of changes spans several packs, and ends
                pack_layers(plain_context(self.here), 100, user_ids=[self.claims.user_id])


def content_of(layers: NodeLayers, vectors: dict[int, Floats]) -> dict[str, Any]:
    """Return the whole content of the layers of a node in a fixed order."""
    whole: dict[str, Any] = {"model": layers.model, "records": {}, "passages": {}, "superseded": set()}
    keys = lexeme_keys(WORDS)
    for layer in layers.layers:
        found = _content_of(layer, vectors[id(layer)])
        assert found["records"].keys().isdisjoint(whole["records"]), "each record is in one of them"
        for part in ("records", "passages", "superseded"):
            whole[part] |= found[part]
    rows = Rows(layers.layers)
    lexeme, row, _ = rows.occurrences(keys)
    current = rows.layer_of_place[row[row < rows.places]] >= 0
    counted = Counter(WORDS[place] for place in lexeme[row < rows.places][current].tolist())
    words = [word for *_, words in whole["passages"].values() for word in words]
    assert counted == {word: words.count(word) for word in words}
    return whole


def _content_of(layer: MetadataLayer, vectors: Floats) -> dict[str, Any]:
    stays = np.ones(layer.records, bool) if layer.gone is None else ~layer.gone
    records = {
        layer.record_ids[row]: (
            layer.occurred[row],
            layer.created[row],
            layer.source_kinds[row],
            layer.stored_record(row),
            trimmed(layer.vectors[row].tolist()),
            bool(layer.has_vector[row]),
            int(layer.lengths[row]),
            occurring(layer.lexemes, layer.places + row),
        )
        for row in np.flatnonzero(stays).tolist()
    }
    passages = {
        (layer.record_ids[layer.record[row]], int(layer.seq[row])): (
            int(layer.first_message[row]),
            layer.external_ids[row],
            float(layer.passage_columns["window_length"][row]),
            int(layer.role[row]),
            (int(layer.voice[row]), int(layer.statement[row]), layer.author(row), layer.sections[row]),
            trimmed(vectors[row].tolist()),
            occurring(layer.lexemes, int(layer.place[row])),
        )
        for row in np.flatnonzero(stays[layer.record]).tolist()
    }
    assert (len(records), len(passages)) == (stays.sum(), stays[layer.record].sum())
    superseded = {layer.record_ids[row] for row in layer.superseded(None) if stays[row]}
    return {"records": records, "passages": passages, "superseded": superseded}


def trimmed(vector: list[float]) -> list[float]:
    while vector and not vector[-1]:
        vector.pop()
    return vector


def occurring(postings: Postings, row: int) -> dict[str, list[int]]:
    return {
        WORDS[asked]: often
        for asked, found in postings.found(lexeme_keys(WORDS))
        if (often := [int(frequency) for at, frequency in found.tolist() if at == row])
    }


def remembered(here: Installation) -> tuple[User, Claims]:
    user, claims = new_user(here)
    for texts in TEXTS:
        converse(here, claims, *texts)
    ingest(embedding(here, MODELS[0]), user)
    return user, claims


def embedding(here: Installation, model: str) -> Context:
    return plain_context(here).using(embedder=NamedEmbedder(model, 16))


def places(here: Installation, claims: Claims) -> list[dict[str, Any]]:
    """Of each record where it is, in the order in which they came."""
    return rows(
        here,
        "SELECT g.node_id, g.schema_name, i.record_id FROM neurigraph.record_index AS i "
        "JOIN neurigraph.graph_index AS g USING (node_id) WHERE i.user_id = %s ORDER BY i.created_at, i.record_id",
        claims.user_id,
    )


def two_of_a_node(here: Installation, claims: Claims) -> list[dict[str, Any]]:
    """Two records of one node, as ``places`` gives them."""
    found = places(here, claims)
    return next(
        both
        for place in found
        if len(both := [one for one in found if one["schema_name"] == place["schema_name"]]) == 2
    )


# Writers of tables, two at once, each with savepoints of its own

ACTS = st.one_of(
    st.tuples(
        st.sampled_from(("plain", "savepoint", "undone")),
        st.integers(0, 1),
        st.integers(0, len(STATEMENTS) - 1),
        st.integers(0, 2),
    ),
    st.tuples(st.sampled_from(("commit", "rollback")), st.integers(0, 1)),
    st.just(("read",)),
    st.just(("read",)),
)


@settings(THOROUGH, max_examples=12)
@given(acts=st.lists(ACTS, min_size=5, max_size=25))
@pytest.mark.slow
def test_commits_in_any_order_are_seen(here: Installation, acts: list[tuple[Any, ...]]) -> None:
    _, claims = remembered(here)
    records = places(here, claims)
    reader = Reader(here, claims)
    reader.must_be_up_to_date()
    with ExitStack() as open_:
        writers = [Writer(here, open_) for _ in range(2)]
        for number, (act, *more) in enumerate(acts):
            if act == "read":
                reader.must_be_up_to_date()
            elif act in ("commit", "rollback"):
                writers[more[0]].end(act)
            else:
                who, statement, chosen = more
                place = records[chosen]
                writers[who].write(act, STATEMENTS[statement], place["schema_name"], place["record_id"], number)
        for writer in writers:
            writer.end("commit")
    reader.must_be_up_to_date()


def test_late_commit_is_seen(here: Installation) -> None:
    _, claims = remembered(here)
    one, other = two_of_a_node(here, claims)
    reader = Reader(here, claims)
    with ExitStack() as open_:
        early, late = Writer(here, open_), Writer(here, open_)
        for how in ("plain", "savepoint"):
            early.write(how, STATEMENTS[0], one["schema_name"], one["record_id"], 1)
            late.write(how, STATEMENTS[0], other["schema_name"], other["record_id"], 2)
            late.end("commit")
            reader.must_be_up_to_date()
            early.end("commit")
            reader.must_be_up_to_date()


def test_packing_waits_for_no_writer(here: Installation) -> None:
    _, claims = remembered(here)
    one, other = two_of_a_node(here, claims)

    def pack() -> int:
        return pack_layers(plain_context(here), 100, user_ids=[claims.user_id])

    assert pack() > 0
    with ExitStack() as open_:
        erasing, editing = Writer(here, open_), Writer(here, open_)
        editing.write("plain", STATEMENTS[0], one["schema_name"], one["record_id"], 1)
        editing.end("commit")
        erasing.write("plain", STATEMENTS[-1], other["schema_name"], other["record_id"], 1)
        assert pack() == 0, "it is left for a later round"
        erasing.end("commit")
        assert pack() == 1


# What changes memories in the product

CHANGES = ("remember", "revise", "supersede", "move", "merge", "reembed", "forget", "compress")


def change(here: Installation, user: User, claims: Claims, how: str, one: int, other: int) -> None:
    """Make one change chosen by the numbers, if the graph allows it."""
    known = places(here, claims)
    first, second = known[one % len(known)], known[other % len(known)]
    record, model = first["record_id"], MODELS[other % 2]
    context = embedding(here, model)
    if how == "remember":
        converse(here, claims, *TEXTS[one % len(TEXTS)], f"A new kite number {other}.")
        ingest(context, user)
    elif how == "revise":
        revise(
            here.acting_for(claims).using(embedder=context.embedder),
            record,
            Revision(title=f"Renamed {other}", summary="A kite."),
        )
    elif how == "supersede":
        supersede(here.database, claims, record, second["record_id"] if other % 3 else None)
    elif how == "move":
        move_records(here.database, claims, [record], second["node_id"])
    elif how == "merge":
        merge_nodes(here.database, claims, first["node_id"], second["node_id"])
    elif how == "reembed":
        reembed(context, None, datetime(2200, 1, 1, tzinfo=UTC), user.user_id)
        heal_pending(context, user_id=user.user_id)
    elif how == "forget" and len(known) > 1:
        forget(here.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record), through="test")
    elif how == "compress":
        asleep = here.settings.changed(dormancy_days=0)
        sweep_dormant(here.context.using(settings=asleep), user_id=user.user_id)


@settings(THOROUGH, max_examples=6)
@given(
    steps=st.lists(st.tuples(st.sampled_from(CHANGES), st.integers(0, 20), st.integers(0, 20)), min_size=4, max_size=10)
)
@pytest.mark.slow
def test_any_change_sequence_is_seen(here: Installation, steps: list[tuple[str, int, int]]) -> None:
    user, claims = remembered(here)
    reader = Reader(here, claims)
    reader.must_be_up_to_date()
    for how, one, other in steps:
        with suppress(ConflictError, InvalidInputError):
            change(here, user, claims, how, one, other)
        reader.must_be_up_to_date()


def test_small_change_reads_little(here: Installation) -> None:
    _, claims = remembered(here)
    reader = Reader(here, claims)
    before = {name: id_ for id_, layers in reader.read(reader.cache).items() for name in layers.base.record_ids}
    place = places(here, claims)[0]
    statement = "UPDATE {s}.metadata_records SET title = 'renamed' WHERE record_id = %(record)s"
    with ExitStack() as open_:
        writer = Writer(here, open_)
        writer.write("plain", statement, place["schema_name"], place["record_id"], 0)
        writer.end("commit")
    node_id = before[str(place["record_id"])]
    past = caches_of(reader.cache).nodes.peek(NodeLayers, node_id)
    assert past is not None
    assert (past.model, past.horizon is None) == (MODELS[0], False)
    read = reader.read(reader.cache)[node_id]
    assert read.recent is not None
    assert (read.recent.record_ids, read.base.vectors is past.base.vectors) == ([str(place["record_id"])], True)
    with here.database.agent(claims) as tx:
        (row,) = tx.execute(
            "SELECT * FROM neurigraph.layers(%s::uuid [], %s::bigint [], NULL, %s, 16)",
            [[node_id], [past.horizon], MODELS[0]],
        ).fetchall()
    assert row["titles"] == ["renamed"]
    assert row["records"][:16] == row["changed"] == place["record_id"].bytes, "nothing of the others"
