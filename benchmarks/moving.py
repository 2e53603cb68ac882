"""Users moved a minute from one database to another, and what a directory of databases costs each search."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, cycle
from pathlib import Path

import httpx

from benchmarks.bench import Bench, in_turns
from benchmarks.chat import conversations, reference
from benchmarks.report import Section, number, percentile, table
from neurigraph_pipelines.exchange.portability.move_user import Moved, move_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.directory import MAIN
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving

SIZES = {0: 10, 1: 6, 10: 3}
QUICK_SIZES = {0: 1, 1: 1}
"""Users that are moved each way, by their number of conversations."""

SEARCHES, QUICK_SEARCHES = 400, 10
SEARCHED = 5
"""Conversations of a user whose searches are timed."""

_OTHER = "other"

_METHOD = """Users with conversations of 20 to 30 messages are moved one after the other between two installations, each
with a database and an object store of its own on one server: alternately without a directory, and through one, which
waits a second until all servers know of the move, while a client searches the users who move through the one address as
fast as it can, and waits when it is told to. Writers wait from the moment at which all rows of the user are locked
until the user is in the other database. Then three users with five conversations each search in turns over HTTP: one in
a database without a directory, one in the first of two databases, and one in the other, each with a server in the same
process. The offline model and MiniLM stored the conversations beforehand. Time is by the clock."""


def run(bench: Bench) -> Section:
    """Move users of each size, and time searches."""
    stored = 1 if bench.quick else SEARCHED
    with bench.installation() as alone, bench.installation() as first, bench.installation() as other:
        _write_settings(other.home, bench.environment(other))
        unlimited = [one.settings.changed(api_requests_per_minute=1e9) for one in (alone, first)]
        with Installation(unlimited[0]) as alone, Installation(unlimited[1]) as first:
            first.databases.add(_OTHER, other.home)
            with serving(alone) as plain, serving(first) as address:
                _moves(bench, first, address, 0, 1)  # the first search of a database starts its application
                moves = [
                    _moves(bench, first, address, size, number_of_users)
                    for size, number_of_users in (QUICK_SIZES if bench.quick else SIZES).items()
                ]
                searches = _searches(
                    bench,
                    {
                        "a database without a directory": (plain, _user(alone, "searcher", stored)),
                        "the first of two": (address, _user(first, "searcher", stored)),
                        "the other": (address, _user(first, "searcher-there", stored, _OTHER)),
                    },
                )
    return Section("Moving users to another database", _METHOD, f"{_moves_table(moves)}\n\n{searches}")


def _write_settings(home: Path, environment: dict[str, str]) -> None:
    named = {name: value for name, value in environment.items() if name.startswith("NEURIGRAPH_")}
    del named["NEURIGRAPH_HOME"]
    file = home / "settings.env"
    limit = "NEURIGRAPH_API_REQUESTS_PER_MINUTE=1e9\n"
    file.write_text("".join(f"{name}={value}\n" for name, value in named.items()) + limit)
    file.chmod(0o600)


def _moves(bench: Bench, first: Installation, address: str, size: int, number_of_users: int) -> list[str]:
    bench.say(f"twice {number_of_users} users with {size} conversations")
    there = first.databases.open(_OTHER)
    slugs = [f"user-{number_of_users}-{size}-{place}" for place in range(2 * number_of_users)]
    keys = [_user(first, slug, size) for slug in slugs]
    seconds: dict[bool, list[float]] = {True: [], False: []}
    moved: list[Moved] = []
    seen: list[int] = []
    for place, (slug, key) in enumerate(zip(slugs, keys, strict=True)):
        through = place % 2 == 1
        move: Callable[[], Moved] = partial(move_user, first.context, there.context, slug, on_bytes=_ignore)
        if through:
            move = partial(first.databases.move, slug, _OTHER, on_bytes=_ignore)
        with _searched(address, [key, keys[(place + 2) % len(keys)]], seen) if through else _quiet():
            started = time.perf_counter()
            moved.append(move())
            seconds[through].append(time.perf_counter() - started)
    each = [sum(getattr(one, part) for one in moved) / len(moved) for part in ("nodes", "records", "seconds")]
    minutes = [60 / statistics.mean(seconds[through]) for through in (False, True)]
    answered = [sum(status == wanted for status in seen) for wanted in (200, 503)]
    if sum(answered) != len(seen):
        raise RuntimeError(f"a search during a move failed: {sorted(set(seen))}")
    return [
        f"{size:,}",
        f"{number_of_users} + {number_of_users}",
        *(number(value) for value in (*each, *minutes)),
        *(f"{one:,}" for one in answered),
    ]


def _moves_table(rows: list[list[str]]) -> str:
    header = (
        *("conversations of a user", "users", "nodes", "records", "writers wait, s", "users a minute"),
        *("users a minute through a directory, with searches", "searches answered", "searches told to ask again"),
    )
    return table(header, rows)


@contextmanager
def _searched(address: str, keys: list[str], seen: list[int]) -> Iterator[None]:
    """Search with each key in turn while the block runs, and note the status of each answer."""
    stop = threading.Event()

    def search() -> None:
        with httpx.Client(base_url=address, timeout=60.0) as client:
            for key in cycle(keys):
                if stop.is_set():
                    return
                head = {"Authorization": f"Bearer {key}"}
                answer = client.post("/v1/search", json={"query": "What about point 7?"}, headers=head)
                seen.append(answer.status_code)
                if answer.status_code == 503:
                    stop.wait(float(answer.headers["Retry-After"]))

    thread = threading.Thread(target=search)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@contextmanager
def _quiet() -> Iterator[None]:
    yield


def _searches(bench: Bench, places: dict[str, tuple[str, str]]) -> str:
    """Time searches at addresses with keys, in turns."""
    bench.say("searches")
    questions = count()

    def asker(address: str, key: str) -> Callable[[], None]:
        def ask() -> None:
            turn = next(questions)
            body = {"query": f"What about {reference(turn % SEARCHED)} and point {turn}?"}
            head = {"Authorization": f"Bearer {key}"}
            client.post(f"{address}/v1/search", json=body, headers=head).raise_for_status()

        return ask

    with httpx.Client(timeout=60.0) as client:
        taken = in_turns([asker(*place) for place in places.values()], QUICK_SEARCHES if bench.quick else SEARCHES)
    plain = statistics.median(taken[0])
    rows = [
        [
            name,
            number(1_000 * statistics.median(seconds)),
            number(1_000 * percentile(seconds, 95)),
            number(statistics.median(seconds) / plain),
        ]
        for name, seconds in zip(places, taken, strict=True)
    ]
    return table(("a search over HTTP of a user in", "p50 ms", "p95 ms", "÷ without a directory (p50)"), rows)


def _user(front: Installation, slug: str, number_of_conversations: int, database: str = MAIN) -> str:
    """Create a user whose conversations are stored, and return a key."""
    _, user, key = front.databases.create_user(slug, database)
    here = front.databases.open(database)
    inbox = Inbox(here.context)
    for chat in conversations(0, number_of_conversations):
        with here.database.agent(Claims.of_user(user.user_id)) as tx:
            inbox.add_conversations(tx, user.user_id, [chat])
    for _ in run_due(here.context, "benchmark", user.user_id):
        pass
    return key


def _ignore(_: int) -> None:
    pass
