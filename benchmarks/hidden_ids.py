"""Whether the time of an answer tells that a hidden id exists: denied and absent ids, asked for in turns over HTTP."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Sequence

import httpx
import numpy as np

from benchmarks.bench import Bench
from benchmarks.report import Section, table
from neurigraph_pipelines.wiring.installation import Installation
from tests.attacks.test_node_isolation import call
from tests.support.api_server import serving
from tests.support.callers import ATTEMPTS, CallerGraph, share
from tests.support.node_operations import OPERATIONS
from tests.support.two_users import new_world

REQUESTS, QUICK_REQUESTS = 300, 20
MOST = 0.6
"""The area under the curve that is still near to guessing, 0.5."""

_ATTEMPTS = ("another user", "a persona for its sibling")

_METHOD = f"""Two users, a persona and third parties ask a real HTTP server for ids that exist and are hidden from
them, and for as many ids that do not exist: {REQUESTS} of each, in random order. The figure is the area under the ROC
curve: the probability that an answer for a hidden id takes longer than one for an id
that does not exist. 0.5 is guessing, and the bound is {MOST}."""


def run(bench: Bench) -> Section:
    """Measure every operation that takes an id."""
    rows = []
    with bench.installation() as installation:
        graph = share(new_world(installation))
        unlimited = installation.settings.changed(api_requests_per_minute=1e9)
        with Installation(unlimited) as served, serving(served) as address, httpx.Client(base_url=address) as client:
            for operation in OPERATIONS:
                bench.say(operation)
                rows.append([f"`{operation}`", *_measure(client, graph, operation, bench.quick)])
    header = ["operation", *(f"{name}: denied ms, absent ms, area" for name in _ATTEMPTS)]
    return Section("Hidden ids", _METHOD, table(header, rows))


def _measure(client: httpx.Client, graph: CallerGraph, operation: str, quick: bool) -> list[str]:
    cells = []
    for attempt in _ATTEMPTS:
        asker, target = ATTEMPTS[attempt]
        hidden = graph.nodes[target]
        taken: dict[bool, list[float]] = {True: [], False: []}
        count = QUICK_REQUESTS if quick else REQUESTS
        for exists in random.sample([True, False] * count, k=2 * count):
            ids = hidden if exists else hidden.elsewhere()
            begun = time.perf_counter()
            call(client, graph, asker, operation, ids)
            taken[exists].append(time.perf_counter() - begun)
        denied, absent = (1_000 * statistics.median(taken[exists]) for exists in (True, False))
        cells.append(f"{denied:.2f}, {absent:.2f}, {area(taken[True], taken[False]):.2f}")
    return cells


def area(slower: Sequence[float], faster: Sequence[float]) -> float:
    """Return the probability that a value of the first is above one of the second (Mann and Whitney, 1947)."""
    first, second = np.array(slower)[:, None], np.array(faster)[None, :]
    return float((first > second).mean() + 0.5 * (first == second).mean())
