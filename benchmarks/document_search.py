"""Time of `/v3/search`, which answers with documents and their chunks, beside `/v1/search` on the same questions."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from itertools import count

import httpx

from benchmarks.bench import Bench, in_turns
from benchmarks.chat import conversations, reference
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving

CONVERSATIONS, QUICK_CONVERSATIONS = 20, 5
REPEATS, QUICK_REPEATS = 30, 3
DEFAULT_LIMIT, FEW = 20, 5

_METHOD = f"""{CONVERSATIONS} made conversations of 20 to 30 messages are stored with MiniLM. Different questions go
over HTTP in turns to `/v1/search` and to `/v3/search`, so no answer is cached. `/v3/search` searches for four memories
and ten messages for each document that it may return ({DEFAULT_LIMIT} by default), and reads their files for its
chunks. *The same search* is `/v1/search` with these limits, so that what is above it is the reading and joining of
chunks."""


def run(bench: Bench) -> Section:
    """Store conversations and ask both faces."""
    with bench.installation() as installation:
        user, _ = create_user(installation.database, "asker")
        bench.say("storing conversations")
        stored = QUICK_CONVERSATIONS if bench.quick else CONVERSATIONS
        _store(installation, Claims.of_user(user.user_id), stored)
        key = {"Authorization": f"Bearer {issue_api_key(installation.database, user.user_id)}"}
        with serving(installation) as address, httpx.Client(base_url=address, headers=key, timeout=60.0) as client:
            rows = _measured(client, stored, QUICK_REPEATS if bench.quick else REPEATS)
    header = ("request", "ms", "÷ `/v1/search`", "÷ the same search")
    return Section("Searching for documents", _METHOD, table(header, rows))


def _store(installation: Installation, claims: Claims, stored: int) -> None:
    with installation.database.agent(claims) as tx:
        for chat in conversations(0, stored):
            Inbox(installation.context).add_conversations(tx, claims.user_id, [chat])
    for result in run_due(installation.context, "benchmark", claims.user_id):
        if result.returned:
            raise RuntimeError(f"a conversation was not stored: {result.returned[0][0].error}")


def _measured(client: httpx.Client, stored: int, repeats: int) -> list[list[str]]:
    questions = count()

    def asked(path: str, name: str, **fields: object) -> Callable[[], None]:
        def ask() -> None:
            turn = next(questions)
            question = f"What about {reference(turn % stored)} and point {turn}?"
            client.post(path, json={name: question, **fields}).raise_for_status()

        return ask

    v1, v3 = partial(asked, "/v1/search", "query"), partial(asked, "/v3/search", "q")
    works = {
        "`/v1/search`": v1(),
        "the same search, 20 documents": v1(limit=4 * DEFAULT_LIMIT, message_limit=10 * DEFAULT_LIMIT),
        "`/v3/search`, 20 documents": v3(),
        "the same search, 5 documents": v1(limit=4 * FEW, message_limit=10 * FEW),
        "`/v3/search`, 5 documents": v3(limit=FEW),
    }
    taken = dict(zip(works, in_turns(list(works.values()), repeats), strict=True))
    first, rows, same = statistics.median(taken["`/v1/search`"]), [], 0.0
    for name, seconds in taken.items():
        median = statistics.median(seconds)
        against = number(median / same) if name.startswith("`/v3") else ""
        same = median
        rows.append([name, spread([1_000 * one for one in seconds]), number(median / first), against])
    return rows
