"""Search by an agent over ``/mcp`` against the same search over the HTTP API of the same server."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import anyio
import httpx
import httpx2
import numpy as np
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from numpy.typing import NDArray

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.report import Section, number, percentile, table
from benchmarks.retrieval.synthetic import DIMENSIONS, MODEL, make_graph
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.faces.serving import http_server
from neurigraph_pipelines.model.ports.models import Embedder
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation

MESSAGES, NODES = 5_000, 200
QUICK = (200, 5)
REPEATS = 400
HITS = 8

_METHOD = f"""A server process holds {MESSAGES:,} messages (384 dimensions) in {NODES} nodes and answers one owner, one
question at a time. Each question is new, so no answer is cached, and goes in random order through `POST /v1/search`
and through the tool `search_memory` at `/mcp`: as one plain HTTP request, as the SDK's client sends it in the newest
version of the protocol, and in the version with a handshake. All ask for {HITS} hits; `/mcp` searches one more to know
whether there are more. Question vectors are computed in no time in the first table, and by MiniLM in the second, end
to end. The client's own work counts, and runs in the process that measures. Every request carries its key, which is
looked up each time."""

Kind = Literal["document", "query"]
_Ask = Callable[[str], Awaitable[Any]]


def run(bench: Bench) -> Section:
    """Measure one graph."""
    messages, nodes = QUICK if bench.quick else (MESSAGES, NODES)
    repeats = 10 if bench.quick else REPEATS
    with bench.installation() as installation:
        graph = make_graph(installation, "agents", messages, nodes, questions=50)
        key = issue_api_key(installation.database, graph.claims.user_id)
        texts = [question.text for question in graph.questions]
        tables = []
        for embedded in (False, True):
            bench.say(f"questions embedded: {embedded}")
            with _server(bench, installation, embedded) as address:
                tables.append(_table(anyio.run(_measure, address, key, texts, repeats)))
    return Section("Search by an agent", _METHOD, "\n\nWith the question's embedding:\n\n".join(tables))


def _table(taken: dict[str, list[float]]) -> str:
    base = taken["`POST /v1/search`"]
    rows = []
    for name, seconds in taken.items():
        figures = [1_000 * percentile(seconds, percent) for percent in (50, 95)]
        ratios = [percentile(seconds, percent) / percentile(base, percent) for percent in (50, 95)]
        rows.append([name, *map(number, figures), *(f"{ratio:.2f}" for ratio in ratios)])
    header = ("way", "p50 ms", "p95 ms", "p50 ÷ HTTP", "p95 ÷ HTTP")
    return table(header, rows)


async def _measure(address: str, key: str, texts: Sequence[str], repeats: int) -> dict[str, list[float]]:
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(base_url=address, headers=headers, timeout=60.0) as plain,
        httpx2.AsyncClient(headers=headers, timeout=60.0) as newest_http,
        httpx2.AsyncClient(headers=headers, timeout=60.0) as handshake_http,
        Client(streamable_http_client(f"{address}/mcp", http_client=newest_http)) as newest,
        Client(streamable_http_client(f"{address}/mcp", http_client=handshake_http), mode="legacy") as handshake,
    ):
        ways: dict[str, _Ask] = {
            "`POST /v1/search`": _api(plain),
            "`/mcp`, plain request": _plain(plain),
            "`/mcp`, SDK's client": _client(newest),
            "`/mcp`, SDK's client with handshake": _client(handshake),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(repeats + 5):
            for name in random.sample(list(ways), k=len(ways)):
                question = f"{texts[turn % len(texts)]} {turn}{len(name)}"
                begun = time.perf_counter()
                await ways[name](question)
                if turn >= 5:  # the first warm up
                    taken[name].append(time.perf_counter() - begun)
        return taken


def _api(client: httpx.AsyncClient) -> _Ask:
    async def ask(question: str) -> None:
        answer = await client.post("/v1/search", json={"query": question, "limit": HITS})
        assert len(answer.json()["hits"]) == HITS, answer.text

    return ask


def _plain(client: httpx.AsyncClient) -> _Ask:
    async def ask(question: str) -> None:
        call = {"name": "search_memory", "arguments": {"query": question, "limit": HITS, "max_tokens": 20_000}}
        answer = await client.post(
            "/mcp",
            json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
            headers={"Accept": "application/json, text/event-stream"},
        )
        assert len(answer.json()["result"]["structuredContent"]["hits"]) == HITS, answer.text

    return ask


def _client(client: Client) -> _Ask:
    async def ask(question: str) -> None:
        answer = await client.call_tool("search_memory", {"query": question, "limit": HITS, "max_tokens": 20_000})
        assert answer.structured_content is not None
        assert len(answer.structured_content["hits"]) == HITS

    return ask


@contextmanager
def _server(bench: Bench, installation: Installation, embedded: bool) -> Iterator[str]:
    """Serve an installation in a process of its own, which embeds questions or not; yields the address."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, *(["embedded"] if embedded else [])],
        env=bench.environment(installation) | {"NEURIGRAPH_API_REQUESTS_PER_MINUTE": "1000000000"},
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


class _InNoTime:
    """Implements ``ports.Embedder`` for questions: some vector of the graph's model for each text."""

    model = MODEL
    dimensions = DIMENSIONS
    prefix_trained = False
    is_remote = False
    max_tokens = 1_000

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> NDArray[np.float32]:
        """Return a vector for each text."""
        seeds = [zlib.crc32(text.encode()) for text in texts]
        return np.stack([np.random.default_rng(seed).standard_normal(DIMENSIONS, np.float32) for seed in seeds])


class _Embedded(_InNoTime):
    """Vectors by MiniLM, under the name of the graph's model."""

    def __init__(self, minilm: Embedder) -> None:
        self._minilm = minilm

    def embed(self, texts: Sequence[str], kind: Kind = "document") -> NDArray[np.float32]:
        """Return a vector for each text."""
        return self._minilm.embed(texts, kind)


def serve(embedded: bool) -> None:
    """Serve the installation of the environment on a free port, and print the address."""
    with Installation(Settings()) as installation, socket.create_server(("127.0.0.1", 0)) as listener:
        installation.embedder = _Embedded(installation.embedder) if embedded else _InNoTime()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        http_server(installation).run(sockets=[listener])


if __name__ == "__main__":
    serve("embedded" in sys.argv)
