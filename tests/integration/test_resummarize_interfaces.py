"""New summaries on the command line and as a backfill in Dagster."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from neurigraph_pipelines.defs.ingestion.summary_assets import ResummarizeConfig, record_summaries
from neurigraph_pipelines.defs.shared.backfills import FIRST_DAY
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import Memory
from tests.support.command_line import describe
from tests.support.graphs import Graph, new_graph
from tests.support.vectors import day_of_records

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")

Run = Callable[..., Any]


@pytest.fixture
def graph(here: Installation, monkeypatch: pytest.MonkeyPatch) -> Graph:
    """Of a user in an installation that the environment describes, with the offline model."""
    describe(here.settings, monkeypatch)
    return new_graph(here)


@pytest.fixture
def memories(graph: Graph) -> list[Memory]:
    """Three, written by another model; the last one was revised by a person."""
    texts = (f"#Notes The {wood} desk stands in the workshop of Ana." for wood in ("walnut", "oak", "elm"))
    found = [Memory(graph.here, graph.here.embedder, graph.claims, record) for record in graph.remember(*texts)]
    found[-1].revise(Revision(title="Mine"))
    return found


@pytest.fixture
def run(graph: Graph, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(*arguments: str, code: int = 0) -> Any:
        assert entry.run(["admin", "resummarize", *arguments, "--user", graph.user.slug, "--json"]) == code
        report = capsys.readouterr()
        return json.loads(report.out or report.err)

    return command


def test_command_dry_run_and_run(run: Run, memories: list[Memory]) -> None:
    before = [memory.at() for memory in memories]
    report = run("--dry-run")
    assert (report["model"], report["records"], report["revised"], report["failed"]) == ("offline", 2, 1, [])
    assert [memory.at() for memory in memories] == before
    assert run() == report
    assert [memory.deltas[0].authored_by for memory in memories[:2]] == ["pipeline:offline"] * 2
    assert memories[2].at() == before[2]
    assert (run()["complete"], run("--again")["unchanged"], run("--also-revised")["records"]) == (2, 2, 1)
    assert memories[2].at()["title"] != "Mine"


def test_command_with_single_records(run: Run, memories: list[Memory]) -> None:
    absent = str(uuid4())
    report = run(str(memories[0].record_id), absent, code=1)
    assert (report["records"], report["failed"]) == (1, [[absent, "there is no such record"]])
    assert len(memories[1].deltas) == 1


def test_command_needs_a_selection(run: Run, memories: list[Memory], capsys: pytest.CaptureFixture[str]) -> None:
    record_id = str(memories[0].record_id)
    for arguments in (("no-uuid",), (record_id, "--since", "2026-01-01"), ("--until", "9999-12-31")):
        assert run(*arguments, code=entry.INVALID)["error"] == "InvalidInputError"
    for alone in ([], [record_id]):
        assert entry.run(["admin", "resummarize", *alone]) == entry.INVALID
        assert "--user" in capsys.readouterr().err
    assert run("--since", (datetime.now(UTC) + timedelta(days=1)).date().isoformat())["records"] == 0
    assert len(memories[0].deltas) == 1


def test_backfill_reports_ids_and_counts(graph: Graph, memories: list[Memory]) -> None:
    lost = memories[0]
    (key,) = [key for key in graph.here.objects.keys("durable/") if str(lost.record_id) in key]
    content = b"".join(graph.here.objects.get(key))
    graph.here.objects.put(key, [b"damaged"])

    def backfill(**more: bool) -> tuple[bool, dict[str, Any]]:
        with dg.DagsterInstance.ephemeral() as instance:
            result = dg.materialize(
                [record_summaries],
                instance=instance,
                resources={"installation": InstallationResource()},
                run_config=dg.RunConfig({"record_summaries": ResummarizeConfig(user=graph.user.slug, **more)}),
                tags={
                    "dagster/asset_partition_range_start": FIRST_DAY,
                    "dagster/asset_partition_range_end": day_of_records(graph.here),
                },
                raise_on_error=False,
            )
            (event, *_) = result.asset_materializations_for_node("record_summaries")
        return result.success, {name: value.value for name, value in event.metadata.items()}

    succeeded, report = backfill()
    assert not succeeded
    assert (report["records summarised"], report["left alone, revised by a person"]) == (1, 1)
    assert [row.data for row in report["failed"].records] == [{"record": str(lost.record_id)}]
    assert "walnut" not in str(report)
    graph.here.objects.put(key, [content])
    succeeded, report = backfill(again=False)
    assert succeeded
    assert (report["records summarised"], report["were of this model already"], report["failed"]) == (1, 1, "none")
    assert backfill()[1]["were of this model already"] == 0, "a person who starts it means all of its days"
