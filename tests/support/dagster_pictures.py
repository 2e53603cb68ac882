"""``python -m tests.support.dagster_pictures``: the pictures of the docs, which replace those in ``docs``.

Those of Dagster's UI show a day of its user, and one is of the page. The failed run is repaired by clicks in the UI.
The memories are those of the sample conversations; a person looks at the pictures.
"""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from PIL import Image

from benchmarks.bench import Bench
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.runtime.stack.processes import DAEMON, LocalStack
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_server import serving
from tests.support.browser import Browser, Page, find_chromium
from tests.support.dagster_stack import await_true, graphql
from tests.support.failed_segments import refusing_after_keywords
from tests.support.memories import converse
from tests.support.page_pictures import sign_in

FOLDER = ROOT / "docs" / "pictures"
_SETTLED_SECONDS = 3.0
_PATIENCE_SECONDS = 300.0
_PAST_DAYS = 12

_BACKFILLS = "{ partitionBackfillsOrError(limit: 1) { ... on PartitionBackfills { results { id status } } } }"
_MATERIALIZE = """mutation($asset: [AssetKeyInput!]!, $days: [String!]!) {
    launchPartitionBackfill(backfillParams: {assetSelection: $asset, partitionNames: $days}) { __typename } }"""
_RUN = """{ runsOrError(filter: {pipelineName: "ingestion_job"}, limit: 1) {
    ... on Runs { results { runId status } } } }"""


def main() -> None:
    """Store memories of past days, run the stack, let one run fail, and take the pictures."""
    chromium = find_chromium()
    assert chromium is not None, "there is no chromium"
    FOLDER.mkdir(exist_ok=True)
    with Bench(quick=True) as bench, bench.installation() as installation:
        _store_on_past_days(installation)
        with (
            _stack(bench, installation) as stack,
            tempfile.TemporaryDirectory() as profile,
            Browser(chromium, Path(profile)) as browser,
        ):
            page = browser.page(width=1360, height=1000)  # shows all steps of a run
            page.go(stack.ui_url)
            key = _hand_in_samples(installation)
            _terminate(page, stack)
            run_id = _wait_until_stored(installation, stack)
            _run(page, stack.ui.url, run_id)
            _failure_and_repair(page, installation, stack)
            page.resize(1360, 760)
            _plain(page, "dagster-runs", f"{stack.ui.url}/runs", "View all tags", "ingestion_job")
            _backfill(page, stack)
            _make(stack, _PAST_DAYS + 1, "record_facts", "reconciled_facts", "links_and_beliefs")
            _daily_report(page, stack)
            _checks(page, stack.ui.url)
            _plain(page, "dagster-overview", f"{stack.ui.url}/overview", "ingestion_job", "retention_job")
            _plain(page, "dagster-concurrency", f"{stack.ui.url}/deployment/concurrency", "embedder")
            _lineage(page, stack.ui.url)
            _dry_run(page, stack.ui.url)
            _pages(browser, installation, key)
    for picture in FOLDER.glob("*.png"):
        Image.open(picture).convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE).save(picture, optimize=True)


def _store_on_past_days(installation: Installation) -> None:
    """Store the sample conversations of somebody else, a few on each of the last days."""
    user, _ = create_user(installation.database, "ana")
    import_file(installation.acting_for(Claims.of_user(user.user_id)), ROOT / "samples" / "bob.jsonl", "jsonl")
    list(run_due(installation.context, "pictures"))
    with installation.database.owner() as tx:
        tx.execute(
            """UPDATE neurigraph.record_index AS r SET created_at = r.created_at - make_interval(days => o.days::int)
            FROM (SELECT record_id, 1 + row_number() OVER (ORDER BY record_id) %% %s AS days
                FROM neurigraph.record_index) AS o WHERE r.record_id = o.record_id""",
            [_PAST_DAYS],
        )
        tx.execute("UPDATE neurigraph.storage_triggers SET stored_at = stored_at - interval '1 day'")


@contextmanager
def _stack(bench: Bench, installation: Installation) -> Iterator[LocalStack]:
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("NEURIGRAPH_FIRST_DAY", raising=False)  # of the tests
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


def _see(page: Page, *texts: str) -> None:
    """Wait until all of some texts are shown, also on a busy machine."""
    page.wait_for(
        " && ".join(f"document.body.innerText.includes({json.dumps(text)})" for text in texts), _PATIENCE_SECONDS
    )


def _take(page: Page, name: str) -> None:
    time.sleep(_SETTLED_SECONDS)
    page.screenshot(FOLDER / f"{name}.png")


def _terminate(page: Page, stack: LocalStack) -> None:
    """Show the page of a run that is under way."""
    await_true(lambda: _newest_run(stack)["status"] == "STARTED", "a run is under way")
    page.go(f"{stack.ui.url}/runs/{_newest_run(stack)['runId']}")
    _see(page, "Terminate", "STEP_START")
    page.screenshot(FOLDER / "dagster-terminate.png")  # at once, before the run ends


def _run(page: Page, url: str, run_id: str) -> None:
    page.go(f"{url}/runs/{run_id}")
    _see(page, "memories.commit", "RUN_SUCCESS")
    _take(page, "dagster-run")


def _failure_and_repair(page: Page, installation: Installation, stack: LocalStack) -> None:
    """Let a step fail, and execute its run again from there; the daemon waits, so no other run takes the segment."""
    user, _ = create_user(installation.database, "carl")
    with refusing_after_keywords(installation, user):
        converse(
            installation, Claims.of_user(user.user_id), "The boathouse gets copper gutters.", "They came on Friday."
        )
        await_true(lambda: _newest_run(stack)["status"] == "FAILURE", "the run fails")
        daemon = stack.pids()[DAEMON]
        os.kill(daemon, signal.SIGSTOP)
    try:
        page.go(f"{stack.ui.url}/runs/{_newest_run(stack)['runId']}")
        _see(page, "memories.embed", "Re-execute", "RUN_FAILURE")
        _open_menu_beside(page, "Re-execute")
        _see(page, "From failure")
        _take(page, "dagster-failed-run")
        page.click("a[role=menuitem], button[role=menuitem], [role=menuitem]", "From failure")
        await_true(lambda: _newest_run(stack)["status"] != "FAILURE", "it is executed again")
    finally:
        os.kill(daemon, signal.SIGCONT)
    await_true(lambda: _newest_run(stack)["status"] == "SUCCESS", "it ends well")
    page.go(f"{stack.ui.url}/runs/{_newest_run(stack)['runId']}")
    _see(page, "memories.commit", "RUN_SUCCESS")
    _take(page, "dagster-repaired-run")


def _backfill(page: Page, stack: LocalStack) -> None:
    """Show the dialog of a backfill of all days, and the backfill when it is done."""
    page.go(f"{stack.ui.url}/assets/record_summaries?view=partitions")
    _see(page, "Partitions Selected")
    time.sleep(_SETTLED_SECONDS)
    page.click("button", "Materialize…")
    _see(page, "Launch backfill")
    page.run("[...document.querySelectorAll('button')].filter((one) => one.textContent === 'All').at(-1).click()")
    _take(page, "dagster-backfill-dialog")
    page.click("button", "Launch backfill")
    await_true(lambda: _backfills(stack), "a backfill is launched")
    await_true(lambda: _backfills(stack)[0]["status"].startswith("COMPLETED"), "the backfill is done")
    page.go(f"{stack.ui.url}/runs/b/{_backfills(stack)[0]['id']}")
    _see(page, "record_summaries", "100% completed")
    _take(page, "dagster-backfill")


def _backfills(stack: LocalStack) -> list[dict[str, str]]:
    found: list[dict[str, str]] = graphql(stack, _BACKFILLS)["partitionBackfillsOrError"]["results"]
    return found


def _make(stack: LocalStack, days: int, *assets: str) -> None:
    """Make some assets of the last days."""
    today = datetime.now(UTC).date()
    names = [(today - timedelta(days=age)).isoformat() for age in range(days)]
    answer = graphql(stack, _MATERIALIZE, asset=[{"path": [name]} for name in assets], days=names)
    assert answer["launchPartitionBackfill"]["__typename"] == "LaunchBackfillSuccess", answer
    await_true(lambda: _backfills(stack)[0]["status"] == "COMPLETED_SUCCESS", "the days are made")


def _daily_report(page: Page, stack: LocalStack) -> None:
    """Make the report of today, and show its table."""
    _make(stack, 1, "daily_report")
    page.go(f"{stack.ui.url}/assets/daily_report?view=partitions&partition={datetime.now(UTC).date()}")
    _see(page, "segments waiting")
    _take(page, "dagster-daily-report")


def _checks(page: Page, url: str) -> None:
    """Execute the checks of the sources, and show them."""
    page.go(f"{url}/assets/sources?view=checks")
    _see(page, "no_segment_waits_too_long")
    time.sleep(_SETTLED_SECONDS)
    page.click("button", "Execute all")
    page.wait_for(
        "document.body.innerText.includes('Passed') && !document.body.innerText.includes('Not Evaluated')",
        _PATIENCE_SECONDS,
    )
    _take(page, "dagster-checks")


def _plain(page: Page, name: str, address: str, *texts: str) -> None:
    """Show a page that has some texts as it is."""
    page.go(address)
    _see(page, *texts)
    _take(page, name)


def _lineage(page: Page, url: str) -> None:
    page.go(f"{url}/assets/reconciled_facts?view=lineage&lineageScope=upstream&lineageDepth=3")
    _see(page, "sources", "record_embeddings")
    page.wait_for("document.querySelector('path[marker-end]') !== null", _PATIENCE_SECONDS)
    _take(page, "dagster-lineage")


def _dry_run(page: Page, url: str) -> None:
    page.go(f"{url}/assets/record_summaries?view=partitions")
    _see(page, "Partitions Selected")
    time.sleep(_SETTLED_SECONDS)
    _open_menu_beside(page, "Materialize…")
    _see(page, "Open launchpad")
    _take(page, "dagster-dry-run")


def _pages(browser: Browser, installation: Installation, key: str) -> None:
    with serving(installation) as address:
        page = browser.page(width=1360, height=760)
        sign_in(page, address, key)
        _take(page, "page-home")
        page.run("location.hash = '#/graph'")
        page.wait_for("document.querySelector('.graph [role=status]')?.textContent.includes('shown')")
        _take(page, "page-graph")


def _open_menu_beside(page: Page, text: str) -> None:
    """Click the arrow beside a button."""
    found = f"[...document.querySelectorAll('button')].find((one) => one.textContent.includes({text!r}))"
    page.wait_for(f"{found} !== undefined", _PATIENCE_SECONDS)
    page.run(f"{found}.parentElement.parentElement.querySelectorAll('button')[1].click()")


if __name__ == "__main__":
    main()
