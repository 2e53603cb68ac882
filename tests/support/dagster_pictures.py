"""``python -m tests.support.dagster_pictures``: the pictures of the docs, which replace those in ``docs``.

Those of Dagster's UI show what to click for one repair each, and one is of the page. The graph is that of the sample
conversations; a person looks at the pictures.
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
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.runtime.stack.processes import LocalStack
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_server import serving
from tests.support.browser import Browser, Page, find_chromium
from tests.support.dagster_stack import await_true, graphql
from tests.support.page_pictures import sign_in

FOLDER = ROOT / "docs" / "pictures"
_SETTLED_SECONDS = 3.0
_RUN = """{ runsOrError(filter: {pipelineName: "ingestion_job"}, limit: 1) {
    ... on Runs { results { runId status } } } }"""


def main() -> None:
    """Run the stack, store the samples, and take the pictures."""
    chromium = find_chromium()
    assert chromium is not None, "there is no chromium"
    FOLDER.mkdir(exist_ok=True)
    with (
        Bench(quick=True) as bench,
        bench.installation() as installation,
        _stack(bench, installation) as stack,
        tempfile.TemporaryDirectory() as profile,
        Browser(chromium, Path(profile)) as browser,
    ):
        page = browser.page(width=1360, height=760)
        page.go(stack.ui_url)
        key = _hand_in_samples(installation)
        _terminate(page, stack)
        run_id = _wait_until_stored(installation, stack)
        _lineage(page, stack.ui.url)
        _execute_again(page, stack.ui.url, run_id)
        _backfill(page, stack.ui.url)
        _dry_run(page, stack.ui.url)
        _concurrency(page, stack.ui.url)
        _graph(browser, installation, key)


@contextmanager
def _stack(bench: Bench, installation: Installation) -> Iterator[LocalStack]:
    with pytest.MonkeyPatch.context() as environment:
        for name, value in bench.environment(installation).items():
            environment.setenv(name, value)
        with LocalStack(installation, with_api=False) as stack:
            yield stack


def _hand_in_samples(installation: Installation) -> str:
    """Import the sample conversations, and return the key of their owner."""
    user, key = create_user(installation.database, "bob")
    import_file(installation.acting_for(Claims.of_user(user.user_id)), ROOT / "samples" / "bob.jsonl", "jsonl")
    return key


def _newest_run(stack: LocalStack) -> dict[str, str]:
    found: list[dict[str, str]] = graphql(stack, _RUN)["runsOrError"]["results"]
    return found[0] if found else {"status": "", "runId": ""}


def _wait_until_stored(installation: Installation, stack: LocalStack) -> str:
    """Wait until the stack has stored the conversations; return the id of a run that did."""

    def is_stored() -> bool:
        queue = triggers.queue(installation.database)
        return queue.stored > 0 and _newest_run(stack)["status"] == "SUCCESS"

    await_true(is_stored, "the samples are stored")
    return _newest_run(stack)["runId"]


def _take(page: Page, name: str) -> None:
    time.sleep(_SETTLED_SECONDS)
    page.screenshot(FOLDER / f"{name}.png")


def _terminate(page: Page, stack: LocalStack) -> None:
    """Show the page of a run that is under way."""
    await_true(lambda: _newest_run(stack)["status"] == "STARTED", "a run is under way")
    page.go(f"{stack.ui.url}/runs/{_newest_run(stack)['runId']}")
    page.wait_for_text("Terminate")
    page.screenshot(FOLDER / "dagster-terminate.png")  # at once, before the run ends


def _lineage(page: Page, url: str) -> None:
    page.go(f"{url}/asset-groups")
    page.wait_for_text("summaries", "maintenance")
    page.wait_for("document.querySelector('path[marker-end]') !== null")
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


def _concurrency(page: Page, url: str) -> None:
    page.go(f"{url}/deployment/concurrency")
    page.wait_for_text("embedder")
    _take(page, "dagster-concurrency")


def _graph(browser: Browser, installation: Installation, key: str) -> None:
    with serving(installation) as address:
        page = browser.page(width=1360, height=760)
        sign_in(page, address, key)
        page.run("location.hash = '#/graph'")
        page.wait_for("document.querySelector('.graph [role=status]')?.textContent.includes('shown')")
        _take(page, "page-graph")


def _open_menu_beside(page: Page, text: str) -> None:
    """Click the arrow beside a button."""
    found = f"[...document.querySelectorAll('button')].find((one) => one.textContent.includes({text!r}))"
    page.wait_for(f"{found} !== undefined")
    page.run(f"{found}.parentElement.parentElement.querySelectorAll('button')[1].click()")


if __name__ == "__main__":
    main()
