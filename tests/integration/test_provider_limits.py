"""The limits of a model service hold over all concurrent calls."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.model_clients import TALK, make_client, make_embedder, make_model, make_segment
from tests.support.model_provider import Fault, ModelProvider
from tests.support.waiting import wait_until


def test_retry_after_delays_all_calls(provider: ModelProvider) -> None:
    client = make_client(provider)
    embedder, model = make_embedder(client), make_model(client)
    embedder.embed(["opens the connection"])
    provider.reset()
    provider.fail_next(Fault("status", status=429, retry_after="0.8"))
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(embedder.embed, ["first"])
        wait_until(lambda: provider.requests)
        time.sleep(0.2)  # until the client has read the answer, which nothing shows
        others = [pool.submit(model.extract_keywords, TALK) for _ in range(2)]
        first.result()
        for call in others:
            call.result()
    refused, *later = (request.arrived for request in provider.requests)
    assert len(later) == 3
    assert min(later) - refused >= 0.8
    client.close()


def test_long_retry_after_fails_fast(provider: ModelProvider) -> None:
    client = make_client(provider)
    provider.fail_next(Fault("status", status=429, retry_after="3000"))
    for ask in (partial(make_embedder(client).embed, ["text"]), partial(make_model(client).summarize, TALK, 200)):
        with pytest.raises(TransientError) as caught:
            ask()
        assert caught.value.retry_after == pytest.approx(3000, abs=5)
    assert len(provider.requests) == 1
    client.close()


def test_waiting_leaves_time_for_retries(provider: ModelProvider) -> None:
    client = make_client(provider, timeout=0.5, concurrency=1)
    provider.slow_down(0.3)
    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(make_model(client).summarize, TALK, 200) for _ in range(8)]
        wait_until(lambda: len(provider.requests) == 8)
        # The last of the queue came more than three timeouts ago, and is at its first attempt.
        provider.fail_next(Fault("status", status=500))
        calls.append(pool.submit(make_model(client).summarize, TALK, 200))
        assert all(call.result().text for call in calls)
    assert len(provider.requests) == 10
    client.close()


def test_small_quota_is_kept(provider: ModelProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url)
    monkeypatch.setenv("NEURIGRAPH_MODEL_REQUESTS_PER_MINUTE", "300")
    with Installation(Settings(home=tmp_path)) as installation:
        installation.embedder.embed(["warms up"])
        provider.reset()
        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(installation.embedder.embed, [["one"], ["two"], ["three"], ["four"]]):
                assert len(found) == 1
    arrived = sorted(request.arrived for request in provider.requests)
    assert arrived[-1] - arrived[0] >= 3 * 0.2 - 0.1, "three gaps of 60/300 s, less what the way takes"
    assert len([gap for one, other in pairwise(arrived) if (gap := other - one) > 0.1]) == 3


def test_queueing_is_no_delay_of_the_provider(provider: ModelProvider) -> None:
    """A call waited longer for its turn than calls may take; its first attempt fails, and it is retried."""
    client = make_client(provider, timeout=1.0, concurrency=1)
    provider.slow_down(0.3)
    provider.fail_when("THE LAST", Fault("status", status=500))
    with ThreadPoolExecutor(13) as pool:
        calls = [pool.submit(make_model(client).summarize, TALK, 200) for _ in range(12)]
        wait_until(lambda: provider.requests)
        time.sleep(0.1)  # until the others wait for the slot, which nothing shows
        calls.append(pool.submit(make_model(client).summarize, make_segment("THE LAST"), 200))
        submitted = time.monotonic()
        wait_until(lambda: any(request.asks("THE LAST") for request in provider.requests))
        waited = time.monotonic() - submitted
        provider.mend("THE LAST")
        assert all(call.result().text for call in calls)
    assert waited > 3 * 1.0, "longer than a call may take before it starts no further attempt"
    assert sum(request.asks("THE LAST") for request in provider.requests) >= 2
    client.close()
