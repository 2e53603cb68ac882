"""The benchmarks run, and keep what they find where they are told to."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.report import replace_section
from tests.conftest import ROOT


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A run of the benchmarks as a person starts it."""
    command = [sys.executable, "-m", "benchmarks", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_a_quick_run_prints_tables_and_writes_the_page_it_is_told_to(tmp_path: Path) -> None:
    kept = ROOT / "docs" / "benchmarks.md"
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
def test_quality_is_asked_of_a_server(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = run("quality", "--quick", "--output", str(page))
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if line.startswith("| ")]
    at_20 = {(group, ranking): float(recall) for group, _, ranking, *_, recall, _ in rows[2:]}
    for group in ("LoCoMo, all", "QMSum"):
        assert at_20[group, "Neurigraph"] >= at_20[group, "reciprocal rank fusion"]
        assert {ranking for of, ranking in at_20 if of == group} == {
            "Neurigraph",
            "BM25 alone",
            "MiniLM alone",
            "reciprocal rank fusion",
        }


def test_an_unknown_benchmark_is_refused() -> None:
    done = run("nonsense", "--quick")
    assert done.returncode == 2
    assert "known: pipeline, daemon" in done.stderr
