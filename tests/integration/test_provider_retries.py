"""Faults of a model service: transient and final ones, with bounded waits and retries."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from neurigraph_pipelines.model.errors import ProviderError, TransientError
from resources.providers.retries import ProviderClient
from tests.support.model_clients import TALK, make_client, make_embedder, make_model
from tests.support.model_provider import Fault, ModelProvider


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


PASSING = [
    Fault("status", status=429, retry_after="0"),
    Fault("status", status=500),
    Fault("status", status=503),
    Fault("half_body"),
    Fault("invalid_json"),
    Fault("reset"),
]


@pytest.mark.parametrize("fault", PASSING, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_transient_fault_is_retried(provider: ModelProvider, client: ProviderClient, fault: Fault) -> None:
    provider.fail_next(fault)
    assert make_embedder(client).embed(["text"]).shape == (1, 1536)
    provider.fail_next(fault)
    assert make_model(client).summarize(TALK, 200).text
    assert len(provider.requests) == 4


@pytest.mark.parametrize("fault", [*PASSING[:4], PASSING[5]], ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_retries_are_bounded(provider: ModelProvider, fault: Fault) -> None:
    client = make_client(provider, max_retries=2)
    provider.fail_next(*[fault] * 10)
    with pytest.raises(TransientError):
        make_model(client).summarize(TALK, 200)
    assert len(provider.requests) == 3
    client.close()


def test_no_retries_means_one_attempt(provider: ModelProvider) -> None:
    client = make_client(provider, max_retries=0)
    provider.fail_next(Fault("status", status=500), Fault("wrong_shape", answer=1))
    with pytest.raises(TransientError):
        make_embedder(client).embed(["text"])
    with pytest.raises(ProviderError):
        make_embedder(client).embed(["text"])
    assert len(provider.requests) == 2
    client.close()


def test_retry_after_is_honoured(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(Fault("status", status=429, retry_after="0.5"))
    make_embedder(client).embed(["text"])
    first, second = provider.requests
    assert 0.5 <= second.arrived - first.arrived < 2.0


def test_long_wait_is_passed_on(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(Fault("status", status=429, retry_after="3600"))
    started = time.monotonic()
    with pytest.raises(TransientError) as caught:
        make_embedder(client).embed(["text"])
    assert time.monotonic() - started < 60
    assert caught.value.retry_after == 3600


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2015 07:28:00 GMT", "soon", "nan", "-5"])
def test_odd_retry_after(provider: ModelProvider, client: ProviderClient, header: str) -> None:
    provider.fail_next(Fault("status", status=503, retry_after=header))
    assert make_embedder(client).embed(["text"]).shape == (1, 1536)


def test_stall_is_retried_after_timeout(provider: ModelProvider) -> None:
    client = make_client(provider, timeout=0.3)
    provider.fail_next(Fault("stall", seconds=20.0))
    started = time.monotonic()
    assert make_embedder(client).embed(["text"]).shape == (1, 1536)
    assert 0.3 <= time.monotonic() - started < 10
    client.close()


def test_stalling_service_is_given_up(provider: ModelProvider) -> None:
    client = make_client(provider, timeout=0.3, max_retries=10)
    provider.fail_next(*[Fault("stall", seconds=0.6)] * 11)
    started = time.monotonic()
    with pytest.raises(TransientError, match="did not answer"):
        make_embedder(client).embed(["text"])
    assert time.monotonic() - started < 2.0
    assert 2 <= len(provider.requests) <= 4
    client.close()


def test_unreachable_service_is_transient() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = ProviderClient("Nobody", "key", f"http://127.0.0.1:{port}/v1", 1.0, 1, 1, 0.01)
    with pytest.raises(TransientError, match="Nobody could not be reached"):
        make_embedder(client).embed(["text"])
    client.close()


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (Fault("status", status=401), "check the key"),
        (Fault("status", status=403), "check the key"),
        (Fault("status", status=404), "does not know this model"),
        (Fault("status", status=400), "rejected the request"),
        (Fault("status", status=422), "rejected the request"),
        (Fault("status", status=429, code="insufficient_quota"), "no credit"),
    ],
)
def test_final_fault_is_not_retried(
    provider: ModelProvider, client: ProviderClient, fault: Fault, message: str
) -> None:
    provider.fail_next(fault)
    with pytest.raises(ProviderError, match=message) as caught:
        make_model(client).summarize(TALK, 200)
    assert len(provider.requests) == 1
    assert "sk-secret" not in str(caught.value)


def test_one_failed_request_fails_the_call(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(Fault("status", status=400))
    with pytest.raises(ProviderError):
        make_embedder(client).embed(["word " * 4_500] * 36)


def test_invalid_input_is_refused_early(client: ProviderClient) -> None:
    """The server on loopback is as strict as the services, or the tests above would mean little."""
    with pytest.raises(ProviderError, match="empty string"):
        client.call(lambda sdk: sdk.embeddings.create(model="text-embedding-3-small", input=[""]))
    with pytest.raises(ProviderError, match="dimensions"):
        client.call(lambda sdk: sdk.embeddings.create(model="ada", input=["x"], dimensions=5))
    with pytest.raises(ProviderError, match="not valid"):
        client.call(
            lambda sdk: sdk.embeddings.create(
                model="voyage-3", input=["x"], encoding_format="float", extra_body={"input_type": "query"}
            )
        )
