"""A graph that is imported at once with a model is as coherent as one that grew conversation by conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.triggers import lease_due, release
from neurigraph_pipelines.ingestion.batch import assign_nodes
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.model import Claims, Outline
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ProviderError
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.retries import ProviderClient
from tests.support.memories import converse, ingest, new_user, rows, stored
from tests.support.model_clients import make_client, make_model, make_segment
from tests.support.model_provider import Fault, ModelProvider
from tests.support.model_rules import SYNONYMS

pytestmark = pytest.mark.slow

TEXTS = [f"Today I thought about {subject}, idea number {number}." for number in range(20) for subject in SYNONYMS]


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider, concurrency=8)
    yield opened
    opened.close()


@pytest.fixture
def asked(context: Context, client: ProviderClient) -> Context:
    return context.using(language_model=make_model(client))


def tree(here: Installation, user: User) -> Counter[str]:
    """Return how many records lie at which subject, whatever its name."""
    subjects = {name: subject for subject, names in SYNONYMS.items() for name in names}
    found = rows(
        here,
        "SELECT node_name, record_count FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth = 2",
        user.user_id,
    )
    assert len(found) == len({subjects[row["node_name"]] for row in found}), "one subject has two nodes"
    return Counter({subjects[row["node_name"]]: row["record_count"] for row in found})


def test_imported_at_once_is_like_one_by_one(here: Installation, asked: Context, provider: ModelProvider) -> None:
    (one, ones), (many, manys) = new_user(here), new_user(here)
    for text in TEXTS[:20]:
        converse(here, ones, text)
        assert len(stored(ingest(asked, one))) == 1
    provider.reset()
    for text in TEXTS:
        converse(here, manys, text)
    assert len(stored(ingest(asked, many))) == len(TEXTS)
    assert tree(here, one) == dict.fromkeys(SYNONYMS, 4)
    assert tree(here, many) == dict.fromkeys(SYNONYMS, 20)
    plans = [request for request in provider.requests if request.asks("", "PlanAnswer")]
    placements = [request for request in provider.requests if request.asks("", "PlacementsAnswer")]
    assert (len(plans), len(placements)) == (1, len(TEXTS))


def test_lost_plan_is_no_failure(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    provider.fail_when("", Fault("status", status=400), "PlanAnswer")
    for text in TEXTS[:6]:
        converse(here, claims, text)
    assert len(stored(ingest(asked, user))) == 6


def test_repeated_assignment_agrees(here: Installation, asked: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    for text in TEXTS[:10]:
        converse(here, claims, text)
    paths = []
    for _ in range(2):
        detect(asked)
        batch = lease_due(asked, "test", user.user_id)
        assert batch is not None
        paths.append({plan.ref.source_id: plan.filing.path for plan in assign_nodes(asked, batch.batch_id).plans})
        release(here.database, batch.batch_id)
    assert paths[0] == paths[1]


def test_model_is_told_owner_and_title(provider: ModelProvider, client: ProviderClient) -> None:
    segment = make_segment("Dave bought a boat.")
    model = make_model(client)
    model.place(segment, Outline())
    model.summarize(segment, 100)
    model.extract_keywords(segment)
    assert all("Memory of: bob" in request.body["messages"][-1]["content"] for request in provider.requests)


def test_plan_without_answer_is_refused(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(*[Fault("wrong_shape", answer={"other": []})] * 5)
    with pytest.raises(ProviderError):
        make_model(client).plan([make_segment("a"), make_segment("b")], Outline())
