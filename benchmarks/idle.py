"""What `neurigraph up` costs when nobody uses it: processor time, memory, and growth of its files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.bench import Bench, SkippedError
from benchmarks.report import Section, number, table
from neurigraph_pipelines.runtime.stack.services import installed_program
from resources.postgres.embedded import EmbeddedPostgres

SETTLING_SECONDS = 60.0
QUIET_SECONDS = 120.0
_TICKS = os.sysconf("SC_CLK_TCK")
_SECONDS_PER_DAY = 86_400.0
_PARTS = {
    "code server": "dagster api grpc",
    "webserver": "neurigraph_pipelines.runtime.ui",
    "daemon": "dagster-daemon run",
    "API": "neurigraph admin serve",
    "keeper of Postgres": "stack.keeper",
    "`neurigraph up`": "neurigraph up",
}
"""What the command line of each part contains."""

_METHOD = """`neurigraph up` runs with an embedded server on an empty installation. After a minute, two minutes of quiet
are measured. Processor time is what the kernel counts for each process and for those that it started and that ended
meanwhile, so other work on the machine hardly changes it. Memory is PSS: a page that several processes share is divided
among them. Growth is that of the files of the home folder, as a day would have it."""


def run(bench: Bench) -> Section:
    """Measure a running stack."""
    if sys.platform != "linux":
        raise SkippedError("it reads /proc, which is Linux's")
    with _up(bench) as (home, root):
        bench.say("settling")
        time.sleep(5.0 if bench.quick else SETTLING_SECONDS)
        before, size, started = _processor(home, root), _bytes_by_folder(home), time.monotonic()
        bench.say("measuring")
        time.sleep(5.0 if bench.quick else QUIET_SECONDS)
        taken = time.monotonic() - started
        after, later = _processor(home, root), _bytes_by_folder(home)
        memory = _memory(home, root)
    shares = {part: 100 * (used - before.get(part, 0.0)) / taken for part, used in after.items()}
    rows = [[part, number(share), number(memory[part])] for part, share in shares.items()]
    rows.append(["**all**", number(sum(shares.values())), number(sum(memory.values()))])
    grown = {folder: (later[folder] - size.get(folder, 0)) * _SECONDS_PER_DAY / taken / 1e6 for folder in later}
    growth = [[folder, number(amount)] for folder, amount in grown.items() if round(amount, 3)]
    parts = table(["part", "% of a core", "PSS, MB"], rows)
    return Section(
        "A stack that nobody uses", _METHOD, f"{parts}\n\n{table(['folder of the home', 'MB a day'], growth)}"
    )


@contextmanager
def _up(bench: Bench) -> Iterator[tuple[Path, int]]:
    """Run the stack in a new home; yield the home and the process id."""
    home = bench.folder / "idle"
    home.mkdir()
    (home / "models").symlink_to(bench.folder / "models")
    chosen = {"LANGUAGE_MODEL": "offline", "EMBEDDER": "neurigraph", "UI_PORT": "0", "API_PORT": "0", "HOME": str(home)}
    process = subprocess.Popen(
        [str(installed_program("neurigraph")), "up", "--json"],
        env={**os.environ, **{f"NEURIGRAPH_{name}": value for name, value in chosen.items()}},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        json.loads(process.stdout.readline())
        yield home, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def _processes(home: Path, root: int) -> Iterator[tuple[str, Path]]:
    """Yield each process of the stack with its part; Postgres is not a child of ours."""
    server = EmbeddedPostgres(home).status().pid
    parents: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
    named = {root: "`neurigraph up`", **({server: "Postgres"} if server is not None else {})}
    for pid in parents:
        above, line = pid, [pid]
        while above not in named and above in parents:
            above = parents[above]
            line.append(above)
        if above not in named:
            continue
        part = named[above]
        if above == root and len(line) > 1:
            command = _command(line[-2])
            part = next((name for name, sign in _PARTS.items() if sign in command), part)
        yield part, Path("/proc") / str(pid)


def _command(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it ended meanwhile
        return ""


def _processor(home: Path, root: int) -> dict[str, float]:
    """Return the seconds of processor time of each part so far."""
    used: dict[str, float] = {}
    for part, folder in _processes(home, root):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile, and its parent counts it
            continue
        used[part] = used.get(part, 0.0) + sum(map(int, fields[11:15])) / _TICKS
    return used


def _memory(home: Path, root: int) -> dict[str, float]:
    """Return the proportional set size of each part, in MB."""
    held: dict[str, float] = {}
    for part, folder in _processes(home, root):
        try:
            lines = (folder / "smaps_rollup").read_text().splitlines()
        except OSError:  # it ended meanwhile
            continue
        kilobytes = next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
        held[part] = held.get(part, 0.0) + kilobytes / 1_000
    return held


def _bytes_by_folder(home: Path) -> dict[str, int]:
    """Return the bytes on disk of each folder and file of the home."""
    return {place.name: _bytes_on_disk(place) for place in sorted(home.iterdir()) if not place.is_symlink()}


def _bytes_on_disk(place: Path) -> int:
    """Return the bytes that a file, or the files below a folder, use on the disk."""
    files = (Path(folder) / name for folder, _, names in os.walk(place) for name in names)
    used = 0
    for file in [place] if place.is_file() else files:
        try:
            used += file.lstat().st_blocks * 512
        except OSError:  # it was removed meanwhile
            continue
    return used
