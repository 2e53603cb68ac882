"""``python -m benchmarks [NAME ...]``: measure, print, and write the figures to ``docs/benchmarks.md``.

``python -m benchmarks check`` says which ratios of that page got worse.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    access,
    backup,
    belief,
    chunk_detection,
    code_location,
    daemon,
    derived,
    document_search,
    embedding,
    encryption,
    expanding,
    fact_model,
    facts_in_search,
    flood,
    forget,
    graph_queries,
    hidden_ids,
    history,
    idle,
    importing,
    instrumentation,
    lifecycle,
    load,
    mailbox,
    mcp,
    model_reading,
    moving,
    ocr,
    offline_reading,
    organisations,
    page,
    peers,
    pipeline,
    poison,
    provisioning,
    quality,
    repositories,
    retention,
    scaling,
    spaces,
    storing,
    throughput,
    unstored,
    webhooks,
    workers,
)
from benchmarks.bench import PROJECT_ROOT, Bench, SkippedError, forget_own_settings
from benchmarks.ratios import check
from benchmarks.report import Section, markdown, write_section
from benchmarks.retrieval import comparison, first_questions, nodes


def measure_embedding(_: Bench) -> Section:
    """Run the benchmark of the local models, which prints Markdown."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        embedding.main()
    return Section(
        "The local embedder and the token counters",
        "The 8-bit model and the exact one, alternating, on batches of a thousand tokens. Load time and memory in a "
        "separate process. Token counters on English prose.",
        printed.getvalue().strip(),
    )


BENCHMARKS: dict[str, Callable[[Bench], Section]] = {
    "pipeline": pipeline.run,
    "storing": storing.run,
    "daemon": daemon.run,
    "idle": idle.run,
    "throughput": throughput.run,
    "importing": importing.run,
    "chunk_detection": chunk_detection.run,
    "code_location": code_location.run,
    "provisioning": provisioning.run,
    "scaling": scaling.run,
    "moving": moving.run,
    "quality": quality.run,
    "derived": derived.run,
    "offline_reading": offline_reading.run,
    "poison": poison.run,
    "search_speed": comparison.run,
    "search_nodes": nodes.run,
    "unstored": unstored.run,
    "facts_in_search": facts_in_search.run,
    "first_questions": first_questions.run,
    "load": load.run,
    "flood": flood.run,
    "instrumentation": instrumentation.run,
    "lifecycle": lifecycle.run,
    "history": history.run,
    "forget": forget.run,
    "graph_queries": graph_queries.run,
    "retention": retention.run,
    "belief": belief.run,
    "expanding": expanding.run,
    "webhooks": webhooks.run,
    "workers": workers.run,
    "peers": peers.run,
    "organisations": organisations.run,
    "access": access.run,
    "ocr": ocr.run,
    "spaces": spaces.run,
    "mailbox": mailbox.run,
    "repositories": repositories.run,
    "document_search": document_search.run,
    "hidden_ids": hidden_ids.run,
    "page": page.run,
    "mcp": mcp.run,
    "model_reading": model_reading.run,
    "fact_model": fact_model.run,
    "backup": backup.run,
    "encryption": encryption.run,
    "embedding": measure_embedding,
}


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
        "--output", type=Path, help="the page to write; default: docs/benchmarks.md, or none with --quick"
    )
    parser.add_argument("--record", action="store_true", help="with check: record the ratios of the page")
    chosen = parser.parse_args()
    if chosen.names == ["check"]:
        sys.exit(check(chosen.output or PROJECT_ROOT / "docs" / "benchmarks.md", record=chosen.record))
    unknown = set(chosen.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(BENCHMARKS)}")
    page: Path | None = chosen.output or (None if chosen.quick else PROJECT_ROOT / "docs" / "benchmarks.md")
    with Bench(quick=chosen.quick, large=chosen.large, own=forget_own_settings()) as bench:
        for name in chosen.names or BENCHMARKS:
            print(f"{name} ...", file=sys.stderr, flush=True)
            started = time.monotonic()
            circumstances = bench.circumstances()
            try:
                section = BENCHMARKS[name](bench)
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
