"""The benchmark command: runs quickly and writes its results to the named page."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import BENCHMARKS, benchmark
from benchmarks.report import replace_section, tables_of
from tests.conftest import ROOT
from tests.support.waiting import PATIENCE_SECONDS


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A run of the benchmarks as a person starts it."""
    command, env = [sys.executable, "-m", "benchmarks", *arguments], {**os.environ, **variables}
    # A run that is killed leaves its servers behind, so only one that hangs may be.
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.mark.slow
def test_quick_run_writes_page(tmp_path: Path) -> None:
    kept = ROOT / "benchmarks" / "RESULTS.md"
    before = kept.read_bytes() if kept.exists() else None
    page = tmp_path / "page.md"
    page.write_text(
        replace_section("", "pipeline", "what an earlier run found", ["pipeline", "importing"])
        + "\n<!-- begin provisioning -->\nold\n<!-- end provisioning -->\n"
    )
    done = run("provisioning", "importing", "--quick", "--output", str(page))
    assert done.returncode == 0, done.stderr
    written = page.read_text()
    for heading, row in (("## Provisioning a node", "| 10 | "), ("## Importing an export", "| import, 1 MB | ")):
        assert heading in written
        assert row in written
        assert row in done.stdout
    assert "pgvector" in written
    assert "what an earlier run found" in written
    assert "\nold\n" not in written
    assert written.index("importing -->") < written.index("provisioning -->")
    assert (kept.read_bytes() if kept.exists() else None) == before


@pytest.mark.usefixtures("data_folder")
@pytest.mark.slow
def test_quality_uses_a_server(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = run("quality", "--quick", "--output", str(page))
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    depth = rows[0].index("@20")
    at_20 = {(row[0], row[2]): float(row[depth]) for row in rows[2:]}
    for group in ("LoCoMo, all", "QMSum"):
        assert at_20[group, "Neurigraph"] >= at_20[group, "reciprocal rank fusion"]
        assert {ranking for of, ranking in at_20 if of == group} == {
            "Neurigraph",
            "BM25 alone",
            "MiniLM alone",
            "reciprocal rank fusion",
        }


@pytest.mark.slow
def test_encoder_measures_both_weights(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = run("encoder", "--quick", "--output", str(page))
    assert done.returncode == 0, done.stderr
    duplicates, documents = tables_of(page.read_text(), "encoder").split("\n\n")
    for weights in ("published", "trained"):
        rows = [line.split(" | ") for line in duplicates.splitlines() if f"| {weights} |" in line]
        assert {row[0].removeprefix("| ") for row in rows} == {
            "`POST /v1/duplicates`",
            "search, in a row",
            "search, among others",
        }
        assert f"| all | 6 | {weights} | " in documents


@pytest.mark.slow
def test_uninstallable_peers_are_named(tmp_path: Path) -> None:
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    done = run("search_speed", "--quick", XDG_CACHE_HOME=str(tmp_path), **offline)
    assert done.returncode == 0, done.stderr
    assert "| 1,000 | 10 | one flat table, HNSW | " in done.stdout
    assert "| 1,000 | 10 | **Neurigraph** | " in done.stdout
    for peer in ("mem0", "LangGraph PostgresStore", "MemPalace", "Hindsight"):
        assert f"| {peer}" not in done.stdout
        assert f"Left out: {peer}" in done.stdout
    assert not list(tmp_path.rglob("ready"))


def test_every_benchmark_is_found() -> None:
    assert all(callable(benchmark(name)) for name in BENCHMARKS)


def test_unknown_benchmark_is_refused() -> None:
    done = run("nonsense", "--quick")
    assert done.returncode == 2
    assert "known: pipeline, storing, daemon" in done.stderr
