"""Time from ``kill -9`` of each part of `neurigraph up` to service again.

Run with ``python -m benchmarks.recovery``. Each part is killed ``KILLS`` times, one after the other, on an installation
of its own with an embedded server. What counts as service differs: the API answers a call that reads the database; the
UI answers; the code server and the daemon let the sensors tick again, which shows in their heartbeats; Postgres answers
through the API. For `up` itself the time is until nothing of it is left.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx

from neurigraph_pipelines.readiness import SENSORS
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.wiring import Installation
from resources.postgres.embedded import EmbeddedPostgres
from tests.support.up_process import Up, left_running, up

KILLS = 2
PARTS = ("api", "webserver", "code server", "daemon", "postgres", "keeper")
PATIENCE_SECONDS = 180.0
_QUERIES = statements("readiness")


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
    settings = Settings.model_validate({"home": str(home), "language_model": "offline", "embedder": "minilm"})
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("NEURIGRAPH_")},
        "NEURIGRAPH_HOME": str(home),
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
        "NEURIGRAPH_EMBEDDER": "minilm",
        "NEURIGRAPH_UI_PORT": "0",
        "NEURIGRAPH_API_PORT": "0",
    }
    found: dict[str, list[float]] = {}
    for _ in range(KILLS):
        started = time.monotonic()
        with up(home, environment) as stack:
            found.setdefault("(first start, until ready)", []).append(_until(stack.is_ready, started))
            with Installation(settings) as installation:
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
    _until(lambda: stack.parts().get(part, before) != before, killed)
    born = time.monotonic()
    serves: dict[str, Callable[[], bool]] = {
        "api": lambda: _reads(stack),
        "postgres": lambda: _reads(stack),
        "webserver": stack.shows_ui,
        "code server": lambda: _ticked(installation, time.monotonic() - born),
        "daemon": lambda: _ticked(installation, time.monotonic() - born),
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


def _ticked(installation: Installation, seconds: float) -> bool:
    """Return whether two sensors have run within the last seconds; one tick may have been under way at the kill."""
    with installation.database.pipeline() as tx:
        ages = {row["name"]: row["age_seconds"] for row in tx.execute(_QUERIES["heartbeats"])}
    return len([name for name in SENSORS if ages.get(name, seconds) < seconds]) >= 2


def _others(home: Path) -> list[str]:
    return [command for command in left_running(home) if "benchmarks.recovery" not in command]


def _roomy() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    main()
