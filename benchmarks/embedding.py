"""Speed and memory of the local embedder and the token counters on this machine.

Prints Markdown. Run with ``python -m benchmarks.embedding``; takes about half a minute and needs only the installed
packages. Figures are medians; ratios are between figures of the same process and vary less than milliseconds.
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench import Bench
from benchmarks.report import Section
from neurigraph_pipelines.model.errors import ConfigurationError
from resources.minilm.embedder import MiniLmEmbedder, model_folder, open_session, read_weights
from resources.minilm.graph import INPUTS, build_graph
from resources.tokens.estimate import estimate_tokens
from resources.tokens.tokenizer import TiktokenCounter

REPEATS = 5
SHORT_MESSAGES = 200
BATCHES = {20: 50, 200: 5}
"""Texts in one batch, by their length in tokens: a thousand tokens, as the embedder batches them."""

PROSE = (
    "Last summer the four of us drove up the coast without much of a plan. Maria wanted to see the lighthouse where "
    "her grandfather had worked, and I had promised the kids at least one night in a tent. "
)

RESIDENT = """
import pathlib, sys, time
def resident():
    status = pathlib.Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmRSS"))
from resources.minilm.embedder import MiniLmEmbedder
before = resident()
started = time.perf_counter()
embedder = MiniLmEmbedder(pathlib.Path(sys.argv[1]))
embedder.embed(["first"])
loaded = time.perf_counter() - started
fresh = resident()
for words in (5, 20, 80, 150, 400):
    embedder.embed([" ".join(["word"] * words)] * 40)
print(before, f"{loaded:.2f}", fresh, resident())
"""


def run(_: Bench) -> Section:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main()
    return Section(
        "The local embedder and the token counters",
        "The 8-bit model and the exact one, alternating, on batches of a thousand tokens. Load time and memory in a "
        "separate process. Token counters on English prose.",
        printed.getvalue().strip(),
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        cache_dir = Path(folder)
        started = time.perf_counter()
        MiniLmEmbedder(cache_dir).embed(["first"])
        built = time.perf_counter() - started
        print("| local embedder, one thread | 8 bits | exact | ratio |")
        print("| --- | --- | --- | --- |")
        sessions = [
            open_session(next(cache_dir.iterdir()), threads=1),
            open_session(build_graph(read_weights(model_folder()), quantised=False), threads=1),
        ]
        for tokens, texts in BATCHES.items():
            fast, exact = (texts / seconds for seconds in alternating([runner(s, texts, tokens) for s in sessions]))
            print(f"| texts a second at {tokens} tokens | {fast:.0f} | {exact:.0f} | {fast / exact:.1f} |")
        before, loaded, fresh, after = resident(cache_dir)
        print(f"| first text of a process, graph already built | {loaded} s | | |")
        print(f"| first text of an installation, graph is built | {built:.1f} s | | |")
        print(f"| resident memory before, loaded, after work | {before}, {fresh}, {after} MB | | |")
    print_token_counters()


def alternating(runs: list[Callable[[], Any]]) -> list[float]:
    """Return the median seconds of each, alternating, so that a busy moment affects all alike."""
    for run in runs:
        run()
    seconds: list[list[float]] = [[] for _ in runs]
    for _ in range(REPEATS):
        for number, run in enumerate(runs):
            started = time.perf_counter()
            run()
            seconds[number].append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in seconds]


def runner(session: Any, texts: int, tokens: int) -> Callable[[], Any]:
    """Return a function that runs the model over texts of exactly ``tokens`` tokens."""
    ids = np.random.default_rng(7).integers(1_000, 30_000, (texts, tokens))
    mask = np.ones_like(ids)
    return lambda: session.run(None, dict(zip(INPUTS, (ids, mask, mask), strict=True)))


def resident(cache_dir: Path) -> list[str]:
    """Measure memory in MB and load time in a separate process."""
    command = [sys.executable, "-c", RESIDENT, str(cache_dir)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def count_all(count: Callable[[str], int], texts: list[str]) -> int:
    """Count texts one by one."""
    return sum(map(count, texts))


def print_token_counters() -> None:
    """Print the throughput of the estimate, and of tiktoken if ``TIKTOKEN_CACHE_DIR`` has the encoding."""
    text = PROSE * 5_000
    megabytes = len(text) / 1e6
    counters: dict[str, Callable[[str], int]] = {"estimate": estimate_tokens}
    try:
        counters["tiktoken o200k_base"] = TiktokenCounter("o200k_base", Path(os.environ["TIKTOKEN_CACHE_DIR"])).count
    except (KeyError, ConfigurationError):
        print("\ntiktoken is left out: TIKTOKEN_CACHE_DIR names no folder with o200k_base.")
    print("\n| token counter | MB/s | µs for a message of 200 characters |")
    print("| --- | --- | --- |")
    for name, count in counters.items():
        (long,) = alternating([partial(count, text)])
        (short,) = alternating([partial(count_all, count, [PROSE] * SHORT_MESSAGES)])
        print(f"| {name} | {megabytes / long:.0f} | {short / SHORT_MESSAGES * 1e6:.0f} |")


if __name__ == "__main__":
    main()
