"""Embeddings from a server on loopback: order, widths, both dialects, batches, long texts, invalid vectors."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from neurigraph_pipelines.model.errors import ConfigurationError, ProviderError
from resources.providers.embedder import WINDOW_TOKENS, OpenAiEmbedder
from resources.providers.retries import UNUSABLE_RETRIES, ProviderClient
from tests.support.model_clients import TOKENS, make_client, make_embedder
from tests.support.model_provider import Fault, ModelProvider


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


def test_vectors_are_ordered_and_unit_length(client: ProviderClient) -> None:
    texts = ["the dog chased the ball", "a dog and a ball", "quarterly tax report"]
    vectors = make_embedder(client).embed(texts)
    assert vectors.shape == (3, 1536)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.3


def test_base64_equals_numbers(client: ProviderClient) -> None:
    compact = OpenAiEmbedder("text-embedding-3-small", client, TOKENS, compact=True)
    plain = OpenAiEmbedder("text-embedding-3-small", client, TOKENS, compact=False)
    assert np.allclose(compact.embed(["one", "two"]), plain.embed(["one", "two"]), atol=1e-6)


@pytest.mark.parametrize(
    ("model", "asked", "dimensions", "prefix_trained"),
    [
        ("text-embedding-3-small", 1536, 1536, True),
        ("text-embedding-3-large", 1536, 1536, True),
        ("text-embedding-ada-002", None, 1536, False),
    ],
)
def test_dimensions_parameter_by_model(
    provider: ModelProvider,
    client: ProviderClient,
    model: str,
    asked: int | None,
    dimensions: int,
    prefix_trained: bool,
) -> None:
    embedder = make_embedder(client, model)
    assert embedder.embed(["text"]).shape == (1, dimensions)
    assert (embedder.dimensions, embedder.prefix_trained) == (dimensions, prefix_trained)
    assert provider.requests[0].body.get("dimensions") == asked
    assert provider.requests[0].key == "sk-secret"


def test_unknown_model_width_is_probed_once(provider: ModelProvider, client: ProviderClient) -> None:
    embedder = make_embedder(client, "nomic-embed-text")
    assert embedder.dimensions == 1536
    assert embedder.prefix_trained is False
    assert embedder.embed(["text"]).shape == (1, 1536)
    assert len(provider.requests) == 2


def test_too_wide_model_is_refused(provider: ModelProvider, client: ProviderClient) -> None:
    answer = {"object": "list", "data": [{"index": 0, "embedding": [0.1] * 4096}], "model": "m", "usage": {}}
    provider.fail_next(Fault("wrong_shape", answer=answer))
    with pytest.raises(ConfigurationError, match="4096"):
        make_embedder(client, "too-wide").embed(["text"])


def test_voyage_parameters(provider: ModelProvider, client: ProviderClient) -> None:
    embedder = OpenAiEmbedder("voyage-3.5", client, TOKENS, service="voyage")
    assert embedder.embed(["a question"], kind="query").shape == (1, 1024)
    assert embedder.prefix_trained is True
    body = provider.requests[0].body
    assert body["input_type"] == "query"
    assert body["output_dimension"] == 1024
    assert body["truncation"] is False
    assert body["encoding_format"] == "base64"
    assert "dimensions" not in body


def test_voyage_fixed_width_models(provider: ModelProvider, client: ProviderClient) -> None:
    embedder = OpenAiEmbedder("voyage-3", client, TOKENS, service="voyage")
    assert embedder.embed(["text"]).shape == (1, 1024)
    assert embedder.prefix_trained is False
    assert "output_dimension" not in provider.requests[0].body
    assert provider.requests[0].body["input_type"] == "document"


def test_no_texts_need_no_request(provider: ModelProvider, client: ProviderClient) -> None:
    assert make_embedder(client).embed([]).shape == (0, 1536)
    assert provider.requests == []


def test_empty_and_unencodable_texts_give_unit_vectors(client: ProviderClient) -> None:
    vectors = make_embedder(client).embed(["", "   \n", "\0", "\ud800 lone", "中文 🎉", "'; DROP TABLE users; --"])
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_many_texts_in_several_requests(provider: ModelProvider, client: ProviderClient) -> None:
    texts = [f"subject{i}" for i in range(2500)]
    embedder = make_embedder(client)
    vectors = embedder.embed(texts)
    assert sorted(len(r.body["input"]) for r in provider.requests) == [68, *[128] * 19]
    alone = embedder.embed([texts[2049]])[0]
    assert np.allclose(vectors[2049], alone, atol=1e-6)


def test_long_text_is_averaged_over_windows(provider: ModelProvider, client: ProviderClient) -> None:
    text = "apple " * (WINDOW_TOKENS * 2) + "banana " * WINDOW_TOKENS
    embedder = make_embedder(client)
    long, apple, banana, other = embedder.embed([text, "apple", "banana", "cherry"])
    sent = provider.requests[0].body["input"]
    assert len(sent) > 5
    assert "".join(sent[:-3]) == text
    assert all(TOKENS.count(part) <= WINDOW_TOKENS for part in sent)
    assert long @ apple > long @ banana > abs(long @ other) + 0.2


@pytest.mark.parametrize("unit", ["नमस्ते दुनिया ", "வணக்கம் உலகம் ", "ไทย", "中文", "😀", "!@#$%^&*", "xqzjvkw", "aB3-"])
def test_windows_fit_service_limits(provider: ModelProvider, client: ProviderClient, unit: str) -> None:
    make_embedder(client).embed([unit * (40_000 // len(unit))])
    for request in provider.requests:
        for window in request.body["input"]:
            # No encoding takes more tokens than bytes, and none of these scripts more than two for three of them.
            bytes_ = len(window.encode())
            assert bytes_ / 1.5 < 8_191 if not window.isascii() else TOKENS.count(window) <= WINDOW_TOKENS


def test_requests_within_token_budget(provider: ModelProvider, client: ProviderClient) -> None:
    make_embedder(client).embed(["word " * 1_900] * 100)
    assert len(provider.requests) == 3
    assert sum(len(r.body["input"]) for r in provider.requests) == 100


def test_concurrency_is_bounded(provider: ModelProvider) -> None:
    provider.slow_down(0.1)
    client = make_client(provider, concurrency=3)
    embedder = OpenAiEmbedder("voyage-3.5", client, TOKENS, service="voyage")
    texts = ["word " * 4_500] * 36  # three requests
    threads = [threading.Thread(target=embedder.embed, args=(texts,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert len(provider.requests) == 9
    assert provider.peak == 3


@pytest.mark.parametrize(
    "answer",
    [
        {"object": "list", "data": [], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": [1.0, 0.0]}], "model": "m"},
        {"object": "list", "data": [{"index": 7, "embedding": [1.0] * 1536}], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": [0.0] * 1536}], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": [float("nan")] * 1536}], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": "***"}], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": None}], "model": "m"},
        {"object": "list", "data": [{"index": 0, "embedding": [1.0] * 1536}] * 2, "model": "m"},
        {"object": "list", "data": None, "model": "m"},
        [],
        "text",
        None,
    ],
)
def test_unusable_vectors_are_retried(provider: ModelProvider, client: ProviderClient, answer: Any) -> None:
    provider.fail_next(Fault("wrong_shape", answer=answer))
    assert make_embedder(client).embed(["text"]).shape == (1, 1536)
    provider.reset()
    provider.fail_next(*[Fault("wrong_shape", answer=answer)] * 10)
    with pytest.raises(ProviderError):
        make_embedder(client).embed(["text"])
    assert len(provider.requests) == 1 + UNUSABLE_RETRIES
