"""Time from ``kill -9`` of each part of `neurigraph up` to service again."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import httpx

from benchmarks.bench import Bench
from benchmarks.chat import conversation
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.source_lists import settled
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.embedded import EmbeddedPostgres
from tests.support.up_process import Up, left_running, up

KILLS = 2
PARTS = ("api", "webserver", "code server", "daemon", "postgres", "keeper")
PATIENCE_SECONDS = 180.0
STORING = ("code server", "daemon")
"""Parts without which nothing is stored."""

_METHOD = f"""`neurigraph up` with an embedded server; each part is killed with `kill -9`, {KILLS} times, one part
after the other. Service means: the API answers a call that reads the database, also after a kill of Postgres; the UI
answers; a conversation that ended just after the kill of the code server or the daemon is stored. For `up` itself the
time is until none of its processes is left. The baseline is a conversation that is stored without a kill."""

_NUMBERS = count()


def run(bench: Bench) -> Section:
    """Kill each part, and wait for its service."""
    home = bench.folder / "recovery"
    try:
        found = _measure(bench, home, 1 if bench.quick else KILLS)
    finally:
        EmbeddedPostgres(home).delete()
    rows = [[part, number(statistics.median(seconds)), number(max(seconds))] for part, seconds in found.items()]
    return Section("Recovery", _METHOD, table(("killed", "seconds until service", "slowest"), rows))


def _measure(bench: Bench, home: Path, kills: int) -> dict[str, list[float]]:
    settings = Settings.model_validate({"home": str(home), "language_model": "offline", "embedder": "neurigraph"})
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NEURIGRAPH_")},
        "NEURIGRAPH_HOME": str(home),
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
        "NEURIGRAPH_EMBEDDER": "neurigraph",
        "NEURIGRAPH_UI_PORT": "0",
        "NEURIGRAPH_API_PORT": "0",
    }
    found: dict[str, list[float]] = {}
    for _ in range(kills):
        started = time.monotonic()
        with up(home, environment) as stack:
            found.setdefault("(first start, until ready)", []).append(_until(stack.is_ready, started))
            with Installation(settings) as installation:
                _stores(installation)  # the first run loads everything for the first time
                begun = time.monotonic()
                found.setdefault("(a conversation is stored without a kill)", []).append(_stores(installation) - begun)
                for part in PARTS:
                    _until(stack.is_ready, time.monotonic())
                    found.setdefault(part, []).append(_kill(stack, part, installation))
                    bench.say(f"{part}: {found[part][-1]:.1f} s")
            _until(stack.is_ready, time.monotonic())
            stack.process.kill()
            gone = _until(lambda: not _others(home), time.monotonic())
            found.setdefault("`up` itself, until nothing is left", []).append(gone)
    return found


def _kill(stack: Up, part: str, installation: Installation) -> float:
    """Kill a part; return the seconds until it serves again."""
    _until(lambda: part in stack.parts(), time.monotonic())
    before = stack.parts()[part]
    os.kill(before, 9)
    killed = time.monotonic()
    if part in STORING:
        return _stores(installation) - killed
    _until(lambda: stack.parts().get(part, before) != before, killed)
    serves: dict[str, Callable[[], bool]] = {
        "api": lambda: _reads(stack),
        "postgres": lambda: _reads(stack),
        "webserver": stack.shows_ui,
        "keeper": lambda: True,
    }
    return _until(serves[part], killed)


def _until(condition: Callable[[], bool], since: float) -> float:
    """Wait until a condition holds; return the seconds since a time of the monotonic clock."""
    while not condition():
        assert time.monotonic() < since + PATIENCE_SECONDS, "not in time"
        time.sleep(0.05)
    return time.monotonic() - since


def _reads(stack: Up) -> bool:
    """Return whether the API answers a call that asks the database, such as one with a key that nobody has."""
    try:
        answer = httpx.get(f"{stack.places['api']}/v1/tree", headers={"Authorization": "Bearer ng_none"}, timeout=60)
    except httpx.HTTPError:
        return False
    return answer.status_code == 401


def _stores(installation: Installation) -> float:
    """Hand a conversation in, end it, and wait until it is stored; return the time of the monotonic clock."""
    number = next(_NUMBERS)
    chat, inbox = conversation(number), Inbox(installation.context)
    user, _ = create_user(installation.database, f"user-{number}")
    with installation.database.agent(Claims.of_user(user.user_id)) as tx:
        source_id, _ = inbox.open_source(
            tx, user.user_id, SourceKind.CONVERSATION, external_id=chat.external_id, title=chat.title
        )
        inbox.append(tx, SourceKind.CONVERSATION, source_id, chat.messages)
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
    _until(lambda: source_id in settled(installation.database, [source_id]), time.monotonic())
    return time.monotonic()


def _others(home: Path) -> list[str]:
    return [command for command in left_running(home) if "-m benchmarks" not in command]
