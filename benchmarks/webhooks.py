"""Webhooks: from the commit to the receiver, how many a second, and what the outbox costs a writer."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from neurigraph_pipelines.exchange.webhooks import subscriptions
from neurigraph_pipelines.exchange.webhooks.background import delivering
from neurigraph_pipelines.exchange.webhooks.delivery import deliver_due
from neurigraph_pipelines.exchange.webhooks.outbox import Outbox
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from resources.webhook_sender import HttpWebhookSender

EVENTS, SINGLE = 2_000, 40
QUICK_EVENTS, QUICK_SINGLE = 50, 3

_METHOD = f"""A receiver on loopback that answers 204, and one webhook. *Commit to delivery*: {SINGLE} events with
pauses of random length, from the commit to the receiver, with the thread that the API runs. *Events a second*:
{EVENTS:,} events that wait, sent by one process with eight threads, and the processor time of that process for each, in
which the receiver runs, too. *Raised*: what the trigger's function costs in the transaction of a change, for a user
with one webhook; *unwanted*: for a user without any."""

_RAISE = """
SELECT neurigraph_private.raise_event(jsonb_populate_record(
    NULL::neurigraph.webhook_events, jsonb_build_object('user_id', %(user_id)s::uuid, 'event', 'erasure.finished')
))
FROM generate_series(1, %(count)s)
"""


def run(bench: Bench) -> Section:
    """Deliver single events and many at once."""
    events, single = (QUICK_EVENTS, QUICK_SINGLE) if bench.quick else (EVENTS, SINGLE)
    with bench.installation() as installation, _receiver() as (url, arrived):
        user, _ = create_user(installation.database, "hooked")
        other, _ = create_user(installation.database, "unhooked")
        context = installation.context.acting_for(Claims.of_user(user.user_id))
        outbox = Outbox(context, HttpWebhookSender((), ("127.0.0.1",), 10.0), installation.secret)
        subscriptions.add(outbox, url)
        bench.say("single events")
        latencies = sorted(_latencies(installation, outbox, user, arrived, single))
        bench.say(f"{events:,} events at once")
        unhooked = _raise(installation, other.user_id, events)
        hooked = _raise(installation, user.user_id, events)
        started, worked = time.perf_counter(), time.process_time()
        deliver_due(outbox)
        seconds, processor = time.perf_counter() - started, time.process_time() - worked
    header = (
        "commit to delivery p50 ms",
        "p95 ms",
        "events a second",
        "processor ms an event",
        "raised µs",
        "unwanted µs",
    )
    found = [
        *(number(latencies[len(latencies) // 2] * 1_000), number(latencies[int(len(latencies) * 0.95)] * 1_000)),
        *(number(events / seconds), number(processor * 1_000 / events)),
        *(number(hooked * 1e6 / events), number(unhooked * 1e6 / events)),
    ]
    return Section("Webhooks", _METHOD, table(header, [found]))


def _raise(installation: Installation, user_id: UUID, count: int) -> float:
    """Raise events in one transaction; return the seconds."""
    with installation.database.owner() as tx:
        started = time.perf_counter()
        tx.execute(_RAISE, {"user_id": user_id, "count": count})
        return time.perf_counter() - started


def _latencies(
    installation: Installation, outbox: Outbox, user: User, arrived: list[float], count: int
) -> Iterator[float]:
    with delivering(outbox):
        for _ in range(count):
            time.sleep((uuid4().int % 700) / 1_000)  # spread over the pauses between two looks
            known = len(arrived)
            _raise(installation, user.user_id, 1)
            committed = time.perf_counter()
            while len(arrived) == known:
                time.sleep(0.001)
            yield max(arrived[known] - committed, 0.0)


@contextmanager
def _receiver() -> Iterator[tuple[str, list[float]]]:
    """Answer 204 to everything; yields the address and the times of arrival."""
    arrived: list[float] = []
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    received = b""
                    while not received.endswith(b"}"):
                        received += connection.recv(65_536)
                    arrived.append(time.perf_counter())
                    connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/hook", arrived
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
