"""Time from ``kill -9`` of each part of `neurigraph up` to service again.

Run with ``python -m benchmarks.recovery``. Each part is killed ``KILLS`` times, one after the other, on an installation
of its own with an embedded server. What counts as service differs: the API answers a call that reads the database; the
UI answers; a conversation that ended just after the kill of the code server or the daemon is stored; Postgres answers
through the API. For `up` itself the time is until nothing of it is left. The baseline is a conversation without a kill.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path

import httpx

from benchmarks.chat import conversation
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

_NUMBERS = count()


def main() -> None:
    """Measure and print a table, and the same as JSON."""
    with tempfile.TemporaryDirectory(prefix="neurigraph-recovery-", dir=_roomy()) as folder:
        Path(folder).chmod(0o711)
        home = Path(folder) / "home"
        found = _measure(home)
        EmbeddedPostgres(home).delete()
    print("| killed | seconds until service, median of", KILLS, "| slowest |")
    print("| --- | --- | --- |")
    for part, seconds in found.items():
        print(f"| {part} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    print(json.dumps(found))


def _measure(home: Path) -> dict[str, list[float]]:
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
    for _ in range(KILLS):
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
                    print(f"{part}: {found[part][-1]:.1f} s", file=sys.stderr, flush=True)
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
    return [command for command in left_running(home) if "benchmarks.recovery" not in command]


def _roomy() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    main()
