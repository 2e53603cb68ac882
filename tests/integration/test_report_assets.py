"""The report of a day, and the checks of the inbox and the queue, against stored conversations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.reports.daily_report import report_day
from neurigraph_pipelines.defs.shared.backfills import partition_of
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.lifecycle.storage_report import StorageTotals, note_totals
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.failed_segments import fail
from tests.support.vectors import NamedEmbedder, end_conversation, store, with_embedder


def test_report_is_of_the_day_before() -> None:
    at = datetime(2026, 6, 2, 5, 3, tzinfo=UTC)
    with dg.build_schedule_context(scheduled_execution_time=at, repository_def=defs.get_repository_def()) as context:
        (request,) = defs.resolve_schedule_def("daily_report_schedule").evaluate_tick(context).run_requests or ()
    assert request.partition_key == "2026-06-01"


def test_report_counts_the_day_and_checks_the_queue(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(installation.settings, monkeypatch)
    user, _ = create_user(installation.database, "bob")
    for name in ("a", "b"):
        end_conversation(installation, user, name, f"The walnut tree {name} fell onto the barn.")
    store(installation, with_embedder(installation, NamedEmbedder("old")))
    fail(installation, user, "c")
    with installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.storage_triggers SET bodies_kept = true, stored_at = now() - interval '40 days' "
            "WHERE trigger_id = (SELECT min(trigger_id::text)::uuid FROM neurigraph.storage_triggers "
            "WHERE state = 'stored')"
        )
        tx.execute(
            "UPDATE neurigraph.storage_triggers SET state = 'pending', next_attempt_at = now() - interval '1 hour' "
            "WHERE state = 'failed'"
        )
    now = datetime.now(UTC)
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("daily_report_job").execute_in_process(
            instance=instance, partition_key=partition_of(now)
        )
    (event,) = result.asset_materializations_for_node("daily_report")
    numbers: dict[str, Any] = {name: value.value for name, value in event.metadata.items()}
    assert (numbers["segments stored"], numbers["records stored"]) == (1, 2)
    assert (numbers["segments waiting"], numbers["failures that wait for a person"]) == (1, 1)
    assert numbers["records not read for facts"] == 2
    assert "bytes awake" not in numbers, "nobody has measured them yet"
    assert 3500 < numbers["oldest segment waits for seconds"] < 3700
    assert isinstance(event.metadata["report"], dg.MarkdownMetadataValue)
    assert "| records stored | 2 |" in str(event.metadata["report"].value)
    note_totals(installation.database, StorageTotals(active_bytes=300, dormant_bytes=20))
    measured = report_day(installation.context, now, now).numbers()
    assert (measured["bytes awake"], measured["bytes asleep"]) == (300, 20)
    assert {check.check_name: (check.passed, check.severity) for check in result.get_asset_check_evaluations()} == {
        "no_segment_waits_too_long": (False, dg.AssetCheckSeverity.WARN),
        "no_segment_waits_for_a_person": (False, dg.AssetCheckSeverity.WARN),
        "no_stored_text_stays_in_the_inbox": (False, dg.AssetCheckSeverity.ERROR),
        "no_memory_is_unfinished": (True, dg.AssetCheckSeverity.WARN),
    }
