"""A failing embedder: records are stored as pending and are found by their words."""

from __future__ import annotations

from contextlib import closing

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ProviderError, TransientError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.embedder import OpenAiEmbedder
from resources.providers.retries import ProviderClient
from tests.support.memories import (
    WordEmbedder,
    converse,
    explained,
    ingest,
    node_rows,
    rows,
    schemas_of,
    stored,
)
from tests.support.model_provider import Fault, ModelProvider


@pytest.mark.parametrize("fault", [TransientError("down"), ProviderError("no credit"), ValueError("a bug")])
def test_records_without_vectors_are_found_by_word(
    here: Installation, context: Context, bob: tuple[User, Claims], fault: Exception
) -> None:
    user, claims = bob
    for text in ("#Work the walnut desk", "#Family the quiet lake"):
        converse(here, claims, text)
    down = WordEmbedder(fault=fault)
    records = stored(ingest(context.using(embedder=down), user))
    assert [record.pending_embedding for record in records] == [True, True]
    for path, schema in schemas_of(here, user).items():
        for row in node_rows(here, schema, "SELECT * FROM {schema}.metadata_records"):
            assert (row["embedding_pending"], row["embedding_model"]) == (True, None), path
            assert not row["embedding"].to_numpy().any()
    (node,) = rows(here, "SELECT * FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Work'", user.user_id)
    assert (node["record_count"], node["embedded_count"], node["centroid"]) == (1, 0, None)
    for embedder in (WordEmbedder(), WordEmbedder(fault=TransientError("still down"))):
        answer = search(here.acting_for(claims).using(embedder=embedder), Question("walnut", explain=True))
        assert answer.hits[0].title == "#Work the walnut desk"
        assert explained(answer.hits[0])["summary_dense"] is None


def test_adapter_with_provider_down(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, "the walnut desk")
    with (
        ModelProvider() as provider,
        closing(ProviderClient("OpenAI", "key", provider.base_url, 5.0, 0, 2)) as client,
    ):
        embedder = OpenAiEmbedder("text-embedding-3-small", client, here.tokens)
        provider.fail_next(*[Fault("status", status=503)] * 20)
        (record,) = stored(ingest(context.using(embedder=embedder), user))
        assert record.pending_embedding
        provider.reset()
        converse(here, claims, "the oak desk")
        (record,) = stored(ingest(context.using(embedder=embedder), user))
        assert not record.pending_embedding


def test_refused_text_stays_without_vectors(here: Installation, context: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    for text in ("good", "ugly", "fine"):
        converse(here, claims, text)
    records = stored(ingest(context.using(embedder=WordEmbedder(poison="ugly")), user))
    assert {record.title: record.pending_embedding for record in records} == {
        "good": False,
        "ugly": True,
        "fine": False,
    }
