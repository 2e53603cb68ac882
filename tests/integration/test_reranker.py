"""Reranking by a server on loopback: both dialects, faults, and search without a reranker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.model.errors import ConfigurationError, ProviderError, TransientError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.reranker import EMPTY_TEXT, HttpReranker
from resources.providers.retries import UNUSABLE_RETRIES
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context
from tests.support.model_clients import make_client
from tests.support.model_provider import Fault, ModelProvider

TEXTS = ["The weather was mild.", "The knee hurts on stairs.", "The boat has a new keel."]
DIALECTS: tuple[Literal["cohere", "voyage"], ...] = ("cohere", "voyage")


@pytest.fixture(scope="module")
def running_provider() -> Iterator[ModelProvider]:
    with ModelProvider() as running:
        yield running


@pytest.fixture
def provider(running_provider: ModelProvider) -> ModelProvider:
    running_provider.reset()
    return running_provider


@pytest.fixture(params=DIALECTS)
def reranker(request: pytest.FixtureRequest, provider: ModelProvider) -> Iterator[HttpReranker]:
    client = make_client(provider)
    yield HttpReranker("rerank-test", client, request.param)
    client.close()


def test_scores_keep_text_order(provider: ModelProvider, reranker: HttpReranker) -> None:
    scores = reranker.scores("Which knee hurts?", TEXTS)
    assert scores.index(max(scores)) == 1
    assert len(scores) == 3
    (sent,) = provider.requests
    assert (sent.path, sent.key) == ("/v1/rerank", "sk-secret")
    assert (sent.body["model"], sent.body["query"], sent.body["documents"]) == (
        "rerank-test",
        "Which knee hurts?",
        TEXTS,
    )
    assert (sent.body.get("top_n") or sent.body.get("top_k")) == 3
    assert reranker.name == "TestService:rerank-test"


def test_unsupported_texts_are_scored(provider: ModelProvider, reranker: HttpReranker) -> None:
    assert len(reranker.scores("\ud800 knee \x00", ["", " \n", "\udfff", "🦊" * 1000])) == 4
    assert provider.requests[0].body["documents"][:2] == [EMPTY_TEXT, EMPTY_TEXT]
    assert reranker.scores("knee", []) == []


def scored(*pairs: tuple[Any, Any]) -> dict[str, Any]:
    items = [{"index": index, "relevance_score": score} for index, score in pairs]
    return {"results": items, "data": items}


@pytest.mark.parametrize(
    "fault",
    [
        Fault("no_choices"),
        Fault("invalid_json"),
        Fault("wrong_shape", answer=[]),
        Fault("wrong_shape", answer={"results": "none", "data": "none"}),
        Fault("wrong_shape", answer=scored((0, 0.5), (1, 0.5))),
        Fault("wrong_shape", answer=scored((0, 0.5), (0, 0.5), (1, 0.5))),
        Fault("wrong_shape", answer=scored((0, 0.5), (1, "high"), (2, 0.1))),
        Fault("wrong_shape", answer=scored((0, 0.5), (1, float("nan")), (2, 0.1))),
    ],
    ids=lambda fault: f"{fault.kind} {fault.answer}",
)
def test_unusable_answer_is_retried_once(provider: ModelProvider, reranker: HttpReranker, fault: Fault) -> None:
    provider.fail_next(fault)
    assert len(reranker.scores("knee", TEXTS)) == 3
    provider.reset()
    provider.fail_next(*[fault] * 10)
    with pytest.raises(ProviderError):
        reranker.scores("knee", TEXTS)
    assert len(provider.requests) == 1 + UNUSABLE_RETRIES


# In a search


class Backwards:
    """A reranker that likes best what the search liked least; ``fault`` is raised instead of an answer."""

    name = "backwards"

    def __init__(self, fault: Exception | None = None) -> None:
        self.fault = fault
        self.read: list[str] = []

    def scores(self, question: str, texts: Any) -> list[float]:
        self.read = list(texts)
        if self.fault is not None:
            raise self.fault
        return [float(place) for place in range(len(texts))]


class Memory:
    def __init__(self, here: Installation) -> None:
        self.here = here
        self.user, self.claims = new_user(here)
        for text in ("#One The boat leaks.", "#Two The boat sails.", "#Three The boat sank.", "#Four The boat is new."):
            converse(here, self.claims, text)
            ingest(plain_context(here), self.user)

    def find(self, reranker: Any = None, most: int = 50, **more: Any) -> Found:
        settings = self.here.settings.changed(reranker_top_n=most)
        question = Question("the boat", **more)
        return search(
            self.here.acting_for(self.claims).using(embedder=WordEmbedder(), settings=settings, reranker=reranker),
            question,
        )


@pytest.fixture(scope="module")
def memory(shared_installation: Installation) -> Memory:
    return Memory(shared_installation)


def ids(answer: Found) -> list[UUID]:
    return [hit.key for hit in answer.hits]


def test_answer_follows_reranker_order(memory: Memory) -> None:
    plain, backwards = memory.find(), Backwards()
    answer = memory.find(backwards)
    assert ids(answer) == ids(plain)[::-1]
    assert backwards.read == [f"{hit.title}\n{hit.summary}" for hit in plain.hits]
    assert {hit.record_id: hit.score for hit in answer.hits} == {h.record_id: h.score for h in plain.hits}
    assert answer.notes == []


def test_unread_candidates_follow(memory: Memory) -> None:
    first, second, *rest = ids(memory.find())
    assert ids(memory.find(Backwards(), most=2)) == [second, first, *rest]


def test_small_answer_from_many_candidates(memory: Memory) -> None:
    assert ids(memory.find(Backwards(), limit=1)) == ids(memory.find())[-1:]


@pytest.mark.parametrize("fault", [TransientError("busy"), ProviderError("refused")])
def test_missing_reranker_is_noted(memory: Memory, fault: Exception) -> None:
    answer = memory.find(Backwards(fault), limit=2)
    assert ids(answer) == ids(memory.find())[:2]
    assert answer.notes == ["backwards could not rerank: the order is that of the search."]


def test_reranker_outage_keeps_answer(memory: Memory, provider: ModelProvider) -> None:
    client = make_client(provider, max_retries=1)
    reranker = HttpReranker("rerank-test", client)
    assert memory.find(reranker).notes == []
    provider.fail_next(*[Fault("reset")] * 4)
    answer = memory.find(reranker)
    client.close()
    assert ids(answer) == ids(memory.find())
    assert len(answer.notes) == 1


# Which one is chosen


def chosen_by(settings: Settings, chosen: dict[str, str]) -> Installation:
    without_keys = {"OPENAI_API_KEY": None, "VOYAGE_API_KEY": None, "COHERE_API_KEY": None}
    given = {"home": settings.home, "database_url": settings.database.url, "secret": settings.secret}
    return Installation(Settings.model_validate({**given, **without_keys, **chosen}))


@pytest.mark.parametrize(
    ("chosen", "name"),
    [
        ({}, None),
        ({"reranker": "auto"}, None),
        ({"reranker": "none", "COHERE_API_KEY": "key"}, None),
        ({"reranker": "auto", "COHERE_API_KEY": "key", "VOYAGE_API_KEY": "key"}, "Cohere:rerank-v3.5"),
        ({"reranker": "auto", "VOYAGE_API_KEY": "key"}, "Voyage AI:rerank-2.5"),
        ({"reranker": "voyage", "VOYAGE_API_KEY": "key", "reranker_model": "other"}, "Voyage AI:other"),
        (
            {"reranker": "compatible", "reranker_base_url": "http://127.0.0.1:1/v1", "reranker_model": "own"},
            "The reranker:own",
        ),
    ],
)
def test_settings_choose_reranker(settings: Settings, chosen: dict[str, str], name: str | None) -> None:
    with chosen_by(settings, chosen) as here:
        assert (here.reranker.name if here.reranker else None) == name


@pytest.mark.parametrize("chosen", [{"reranker": "cohere"}, {"reranker": "voyage"}, {"reranker": "compatible"}])
def test_choice_without_key_is_refused(settings: Settings, chosen: dict[str, str]) -> None:
    with (
        chosen_by(settings, chosen) as here,
        pytest.raises(ConfigurationError, match=r"set [A-Z_]+"),
    ):
        _ = here.reranker


@pytest.mark.parametrize("chosen", DIALECTS)
def test_chosen_reranker_is_called(settings: Settings, provider: ModelProvider, chosen: str) -> None:
    update = {
        "reranker": chosen,
        "cohere_api_key": SecretStr("cohere-key"),
        "voyage_api_key": SecretStr("voyage-key"),
        "reranker_base_url": provider.base_url,
    }
    with Installation(settings.changed(**update)) as here:
        assert here.reranker is not None
        assert len(here.reranker.scores("knee", TEXTS)) == 3
    assert provider.requests[0].key == f"{chosen}-key"


def test_second_timeout_is_not_awaited(settings: Settings, provider: ModelProvider) -> None:
    update = {
        "reranker": "compatible",
        "reranker_base_url": provider.base_url,
        "reranker_model": "slow",
        "reranker_timeout_seconds": 0.3,
    }
    with Installation(settings.changed(**update)) as here:
        assert here.reranker is not None
        here.reranker.scores("knee", TEXTS)  # what is slow about the first call is not the server
        provider.fail_next(*[Fault("stall", seconds=3.0)] * 4)
        with pytest.raises(TransientError, match="did not answer"):
            here.reranker.scores("knee", TEXTS)
        assert len(provider.requests) == 2
