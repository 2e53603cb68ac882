"""``python -m benchmarks [NAME ...]``: measure, print, and write the figures to ``RESULTS.md``.

``python -m benchmarks check`` says which ratios of that page got worse.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from benchmarks.bench import Bench, SkippedError, forget_own_settings
from benchmarks.ratios import check
from benchmarks.report import RESULTS, Section, markdown, write_section

BENCHMARKS = (
    "pipeline",
    "storing",
    "daemon",
    "idle",
    "importing",
    "provisioning",
    "scaling",
    "quality",
    "encoder",
    "within_tokens",
    "derived",
    "stories",
    "subjects",
    "filing",
    "poison",
    "search_speed",
    "first_questions",
    "load",
    "recovery",
    "belief",
    "backup",
)
"""In the order of the page."""

_MODULES = {
    "search_speed": "retrieval.comparison",
    "first_questions": "retrieval.first_questions",
}


def benchmark(name: str) -> Callable[[Bench], Section]:
    """Return a benchmark. Only its module is imported: all of them take four seconds."""
    run: Callable[[Bench], Section] = import_module(f"benchmarks.{_MODULES.get(name, name)}").run
    return run


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure Neurigraph's speed, memory and search quality."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"one of {', '.join(BENCHMARKS)}, or check; default: all"
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, to check that it works")
    parser.add_argument("--large", action="store_true", help="also the biggest sizes: an hour and 15 GB more")
    parser.add_argument(
        "--output", type=Path, help="the page to write; default: benchmarks/RESULTS.md, or none with --quick"
    )
    parser.add_argument("--record", action="store_true", help="with check: record the ratios of the page")
    chosen = parser.parse_args()
    if chosen.names == ["check"]:
        sys.exit(check(chosen.output or RESULTS, record=chosen.record))
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(BENCHMARKS)}")
    page: Path | None = chosen.output or (None if chosen.quick else RESULTS)
    with Bench(quick=chosen.quick, large=chosen.large, own=forget_own_settings()) as bench:
        for name in chosen.names or BENCHMARKS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            started = time.monotonic()
            circumstances = bench.circumstances()
            try:
                section = benchmark(name)(bench)
            except SkippedError as reason:
                print(f"{name}: skipped, {reason}", file=sys.stderr, flush=True)
                continue
            text = markdown(section, circumstances)
            print(f"{text}\n", flush=True)
            if page is not None:
                write_section(page, name, text, list(BENCHMARKS))
            print(f"{name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
