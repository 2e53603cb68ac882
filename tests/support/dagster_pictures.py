"""``python -m tests.support.dagster_pictures``: pictures of Dagster's UI for the docs, which replace those in ``docs``.

Each shows what to click for one repair. The graph is that of the sample conversations; a person looks at the pictures.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.bench import Bench
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.ingestion import triggers
from neurigraph_pipelines.ingestion.importing import import_file
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.stack.processes import LocalStack
from neurigraph_pipelines.wiring import Installation
from tests.conftest import ROOT
from tests.support.browser import Browser, Page, find_chromium
from tests.support.dagster_stack import await_true, graphql

FOLDER = ROOT / "docs" / "pictures"
_SETTLED_SECONDS = 3.0
_RUN = """{ runsOrError(filter: {pipelineName: "ingestion_job"}, limit: 1) {
    ... on Runs { results { runId status } } } }"""


def main() -> None:
    """Run the stack, store the samples, and take the pictures."""
    chromium = find_chromium()
    assert chromium is not None, "there is no chromium"
    FOLDER.mkdir(exist_ok=True)
    with Bench(quick=True) as bench, bench.installation() as installation, _stack(bench, installation) as stack:
        run_id = _store_samples(installation, stack)
        with tempfile.TemporaryDirectory() as profile, Browser(chromium, Path(profile)) as browser:
            page = browser.page(width=1360, height=760)
            page.go(stack.ui_url)
            _lineage(page, stack.ui.url)
            _execute_again(page, stack.ui.url, run_id)
            _backfill(page, stack.ui.url)
            _dry_run(page, stack.ui.url)


@contextmanager
def _stack(bench: Bench, installation: Installation) -> Iterator[LocalStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in bench.environment(installation).items():
            environment.setenv(name, value)
        with LocalStack(installation, with_api=False) as stack:
            yield stack


def _store_samples(installation: Installation, stack: LocalStack) -> str:
    """Let the stack store the sample conversations; return the id of a run that did."""
    user, _ = create_user(installation.database, "bob")
    import_file(installation.acting_for(Claims.of_user(user.user_id)), ROOT / "samples" / "bob.jsonl", "jsonl")

    def newest() -> dict[str, str]:
        found: list[dict[str, str]] = graphql(stack, _RUN)["runsOrError"]["results"]
        return found[0] if found else {"status": "", "runId": ""}

    def is_stored() -> bool:
        queue = triggers.queue(installation.database)
        return queue.stored > 0 and newest()["status"] == "SUCCESS"

    await_true(is_stored, "the samples are stored")
    return newest()["runId"]


def _take(page: Page, name: str) -> None:
    time.sleep(_SETTLED_SECONDS)
    page.screenshot(FOLDER / f"{name}.png")


def _lineage(page: Page, url: str) -> None:
    page.go(f"{url}/asset-groups")
    page.wait_for_text("summaries", "maintenance")
    _take(page, "dagster-lineage")


def _execute_again(page: Page, url: str, run_id: str) -> None:
    page.go(f"{url}/runs/{run_id}")
    page.wait_for_text("assign_nodes", "Re-execute")
    _open_menu_beside(page, "Re-execute")
    page.wait_for_text("From failure")
    _take(page, "dagster-re-execute")


def _backfill(page: Page, url: str) -> None:
    page.go(f"{url}/assets/record_summaries?view=partitions")
    page.wait_for_text("Partitions Selected")
    time.sleep(_SETTLED_SECONDS)
    page.click("button", "Materialize…")
    page.wait_for_text("Launch backfill")
    _take(page, "dagster-backfill")


def _dry_run(page: Page, url: str) -> None:
    page.go(f"{url}/assets/record_summaries?view=partitions")
    page.wait_for_text("Partitions Selected")
    time.sleep(_SETTLED_SECONDS)
    _open_menu_beside(page, "Materialize…")
    page.wait_for_text("Open launchpad")
    _take(page, "dagster-dry-run")


def _open_menu_beside(page: Page, text: str) -> None:
    """Click the arrow beside a button."""
    found = f"[...document.querySelectorAll('button')].find((one) => one.textContent.includes({text!r}))"
    page.wait_for(f"{found} !== undefined")
    page.run(f"{found}.parentElement.parentElement.querySelectorAll('button')[1].click()")


if __name__ == "__main__":
    main()
