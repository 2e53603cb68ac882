"""Load time of the code location, paid at each start of a run's worker, the daemon and the webserver."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from benchmarks.bench import PROJECT_ROOT, Bench
from benchmarks.report import Section, spread, table

REPEATS = 7
PROGRAMS = {
    "an empty program": "pass",
    "`import dagster`": "import dagster",
    "the code location": "from neurigraph_pipelines.definitions import defs; defs.get_repository_def()",
}

_METHOD = """Each program runs in a new Python process, alternating, timed from start to exit: one that does nothing,
one that imports Dagster, and one that imports `neurigraph_pipelines.definitions` and builds its repository, as a code
server does. CPU is user and system time of that process."""


_WHY = """The goal was 1.3 times. On 2026-11-26, under load, importing Dagster took 0.90 s of processor time, psycopg
after it 0.15 (0.08 without a garbage collection that happens there), our modules with all assets, checks and sensors
0.71, and the repository 0.07. Other libraries that only this project imports take 1 % of the whole. Each run
imports it again."""


def run(bench: Bench) -> Section:
    """Measure all programs, alternating."""
    wall: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    cpu: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for program in PROGRAMS.values():
        _run(program)  # compiles bytecode and warms the file cache
    for _ in range(2 if bench.quick else REPEATS):
        for name, program in PROGRAMS.items():
            taken, used = _run(program)
            wall[name].append(taken)
            cpu[name].append(used)
    dagster = wall["`import dagster`"]
    rows = [
        [
            name,
            spread(wall[name]),
            spread(cpu[name]),
            spread([ours / theirs for ours, theirs in zip(wall[name], dagster, strict=True)]),
        ]
        for name in PROGRAMS
    ]
    return Section(
        "Loading the code location",
        _METHOD,
        f"{table(['process', 'wall seconds', 'CPU seconds', '÷ `import dagster` (wall, same turn)'], rows)}\n\n{_WHY}",
    )


def _run(program: str) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", program], cwd=PROJECT_ROOT)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return taken, usage.ru_utime + usage.ru_stime
