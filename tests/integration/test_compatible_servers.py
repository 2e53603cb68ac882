"""Servers of the OpenAI protocol that accept less than OpenAI's own: Ollama, llama.cpp, vLLM and older ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims, Outline, Quotable
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError, ProviderError, TransientError
from neurigraph_pipelines.settings.outgoing import destinations
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.retries import ProviderClient
from tests.support.memories import converse, ingest, stored
from tests.support.model_clients import NOON, TALK, TOKENS, make_client, make_model, make_segment
from tests.support.model_provider import Fault, ModelProvider
from tests.support.model_responses import Dialect

THINKS = "<think>\nThe user wants {an object}. I should answer in JSON: {}\n</think>\n\n{json}"
PROSE = "Here is the entry:\n```json\n{json}\n```\nLet me know if {anything} else is needed!"

DIALECTS = {
    "no strict": Dialect(refused=("strict",)),
    "no schema": Dialect(refused=("strict", "json_schema")),
    "no format": Dialect(refused=("type",), enforces=False),
    "ignores the format": Dialect(enforces=False),
    "thinks": Dialect(enforces=False, answer=THINKS),
    "prose": Dialect(refused=("json_schema",), enforces=False, answer=PROSE, drops=("dates", "relationships")),
}


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_every_dialect_is_understood(provider: ModelProvider, client: ProviderClient, dialect: Dialect) -> None:
    provider.speak(dialect)
    model = make_model(client, is_compatible=True)
    assert "Mercy Hospital" in model.summarize(TALK, 150).text
    assert "Caroline" in model.extract_keywords(TALK).entities
    assert [step.name for step in model.place(TALK, Outline())[0].steps] == ["Health", "Care"]
    known = len(provider.requests)
    model.summarize(TALK, 150)
    assert len(provider.requests) == known + 1, "what a server accepts is found out once"


def test_openai_is_asked_strictly_alone(provider: ModelProvider, client: ProviderClient) -> None:
    provider.speak(DIALECTS["no strict"])
    with pytest.raises(ProviderError, match="strict is not supported"):
        make_model(client).summarize(TALK, 150)
    provider.speak(DIALECTS["thinks"])
    with pytest.raises(ProviderError):
        make_model(client).summarize(TALK, 150)


def test_other_rejections_stay_final(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(Fault("status", status=400))
    with pytest.raises(ProviderError, match="scripted fault"):
        make_model(client, is_compatible=True).summarize(TALK, 150)
    assert len(provider.requests) == 1


def test_answers_fit_a_small_context(provider: ModelProvider, client: ProviderClient) -> None:
    long = make_segment(*(f"In week {week} Dave paid {week} euros for the boat." for week in range(400)))
    model = make_model(client, 1_000, is_compatible=True)
    model.summarize(long, 150)
    model.place(long, Outline())
    passages = [Quotable(f"Passage {number}: " + "the boat was repaired. " * 20, "Dave", NOON) for number in range(60)]
    model.answer("Who repaired the boat?", NOON, passages)
    for request in provider.requests:
        assert TOKENS.count(request.body["messages"][-1]["content"]) < 1_250


def test_slow_answers_need_a_longer_timeout(provider: ModelProvider) -> None:
    provider.speak(DIALECTS["thinks"])
    provider.slow_down(1.5)
    slow = r"did not answer within 0\.5 s"
    hasty, patient = make_client(provider, timeout=0.5, max_retries=0), make_client(provider, timeout=60.0)
    with closing(hasty), pytest.raises(TransientError, match=slow):
        make_model(hasty, is_compatible=True).summarize(TALK, 150)
    with closing(patient):
        assert "Mercy Hospital" in make_model(patient, is_compatible=True).summarize(TALK, 150).text


def test_settings_name_a_local_server(
    here: Installation, context: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    provider.speak(DIALECTS["thinks"])
    chosen = {"language_model_url": provider.base_url, "language_model_name": "qwen3:8b"}
    models = here.settings.models.model_copy(update={"language_model": "auto", **chosen})
    settings = here.settings.model_copy(update={"models": models})
    assert next((one.purpose, one.is_local) for one in destinations(settings)) == ("language model", True)
    with Installation(settings) as local:
        assert local.language_model.name == "openai:qwen3:8b"
        converse(here, claims, "Dave bought a boat in Mercy Bay.")
        assert len(stored(ingest(context.using(language_model=local.language_model), user))) == 1
    assert {request.body["model"] for request in provider.requests} == {"qwen3:8b"}
    assert {request.key for request in provider.requests} == {"none"}


def test_key_of_a_local_server_and_missing_name(here: Installation, provider: ModelProvider) -> None:
    chosen = {"language_model_url": provider.base_url, "language_model_key": SecretStr("local-key")}
    models = here.settings.models.model_copy(update={"language_model": "openai", **chosen})
    nameless = here.settings.model_copy(update={"models": models})
    with Installation(nameless) as local, pytest.raises(ConfigurationError, match="NEURIGRAPH_LANGUAGE_MODEL_NAME"):
        _ = local.language_model
    named = here.settings.model_copy(update={"models": models.model_copy(update={"language_model_name": "m"})})
    with Installation(named) as local:
        local.language_model.summarize(TALK, 100)
    assert provider.requests[0].key == "local-key"
