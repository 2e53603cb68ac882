"""Filing again by another model: what moves, what stays, on the command line and as a backfill."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any
from uuid import UUID

import dagster as dg
import pytest

from neurigraph_pipelines.defs.ingestion.filing_assets import FilingConfig, record_places
from neurigraph_pipelines.defs.shared.backfills import FIRST_DAY
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.faces.cli import entry
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.ingestion.splitting import REFILED
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import GrantType, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import Memory
from tests.support.command_line import describe, environment
from tests.support.dying_refile import other_context, tomorrow
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, plant_fact
from tests.support.memories import rows
from tests.support.vectors import day_of_records

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")

TEXTS = ("#Hobbies/Fishing A pike of 82 cm.", "#Hobbies A new lens.", "#Health/Knee It hurts.")


@pytest.fixture
def graph(here: Installation) -> Graph:
    return new_graph(here)


def again(graph: Graph, *, dry_run: bool = False, again: bool = False) -> FiledAgain:
    context = other_context(graph.here)
    return file_again(context, None, tomorrow(), graph.user.user_id, dry_run=dry_run, again=again)


def memory(graph: Graph, record_id: UUID) -> Memory:
    return Memory(graph.here, graph.here.embedder, graph.claims, record_id)


def counts(done: FiledAgain) -> tuple[int, ...]:
    assert done.failed == []
    return len(done.moved), len(done.split), done.stayed, done.by_hand, done.complete


def test_memories_move_whole_and_once(graph: Graph) -> None:
    pike, lens, knee = graph.remember(*TEXTS)
    facts = [plant_fact(graph.here, one, f"A fact of {one}.") for one in (pike, knee)]
    link(graph.here, graph.user.user_id, inferred(facts[0], facts[1], "supports"))
    reader = Subject(SubjectType.THIRD_PARTY, "gmail")
    sharing.grant(graph.here.database, graph.claims, reader, graph.node("Hobbies"), GrantType.READ)
    before, kept = graph.records, _kept(graph)

    would = again(graph, dry_run=True)
    assert counts(would) == (2, 0, 1, 0, 0)
    assert graph.records == before
    assert "Pastimes" not in graph.paths.values()
    assert memory(graph, pike).operations == ["create"]

    done = again(graph)
    assert done == would
    slug = graph.user.slug
    assert {one.record_id: (one.from_path, one.to_path) for one in done.moved} == {
        pike: (f"{slug}/Hobbies/Fishing", f"{slug}/Pastimes/Fishing"),
        lens: (f"{slug}/Hobbies", f"{slug}/Pastimes"),
    }
    assert graph.records == {pike: "Pastimes/Fishing", lens: "Pastimes", knee: "Health/Knee"}
    assert memory(graph, pike).operations == [REFILED, "move", "create"]
    assert memory(graph, pike).deltas[1].authored_by == "pipeline:other"
    assert memory(graph, knee).operations == [REFILED, "create"]
    assert _kept(graph) == kept
    assert graph.find("pike")[pike] == "Pastimes/Fishing"
    graph.check()

    assert counts(again(graph)) == (0, 0, 0, 0, 3)
    assert counts(again(graph, again=True)) == (0, 0, 3, 0, 0)
    assert memory(graph, pike).operations == [REFILED, "move", "create"], "the same model marks a memory once"
    assert graph.records == {pike: "Pastimes/Fishing", lens: "Pastimes", knee: "Health/Knee"}


def _kept(graph: Graph) -> list[Any]:
    """Return what a move leaves as it is."""
    queries = (
        "SELECT fact_id, record_id, statement FROM neurigraph.facts WHERE user_id = %s ORDER BY 1",
        "SELECT link_id, from_id, to_id, relation FROM neurigraph.links WHERE user_id = %s ORDER BY 1",
        "SELECT * FROM neurigraph.permission_grants WHERE user_id = %s ORDER BY 1",
        "SELECT file_id, record_id FROM neurigraph.file_index WHERE user_id = %s ORDER BY 1",
    )
    return [rows(graph.here, query, graph.user.user_id) for query in queries] + [sorted(graph.here.objects.keys(""))]


def test_decisions_of_people_stand(graph: Graph) -> None:
    texts = [f"#Hobbies/Fishing Pike number {number}." for number in range(5)]
    moved, revised, pinned, hidden, free = graph.remember(*texts)
    graph.remember("#Hobbies/Boats A boat.")
    move_records(graph.here.database, graph.claims, [moved], graph.node("Hobbies/Boats"))
    memory(graph, revised).revise(Revision(title="Mine"))
    fact_id = plant_fact(graph.here, pinned, "A fact.")
    with graph.here.database.owner() as tx:
        tx.execute("SELECT set_config('neurigraph.author', 'user:test', true)")
        tx.execute("UPDATE neurigraph.facts SET pinned = true WHERE fact_id = %s", [fact_id])
    (source,) = rows(graph.here, "SELECT source_id FROM neurigraph.record_index WHERE record_id = %s", hidden)
    quarantine(graph.here.acting_for(graph.claims), QuarantineRule(source_id=source["source_id"]), "a test")
    assert counts(again(graph)) == (2, 0, 0, 4, 0)
    found = graph.records
    assert found[moved] == "Hobbies/Boats"
    assert {found[one] for one in (revised, pinned, hidden)} == {"Hobbies/Fishing"}
    assert found[free] == "Pastimes/Fishing"
    assert verify(graph.here.context, user_id=graph.user.user_id).findings == []


def test_killed_run_continues(graph: Graph) -> None:
    graph.remember(*(f"#Hobbies Lens number {number}." for number in range(3)))
    command = [sys.executable, "-m", "tests.support.dying_refile", str(graph.user.user_id)]
    around = environment(graph.here.settings)
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=around)
    assert ended.returncode == -9, ended.stderr
    assert sorted(graph.records.values()) == ["Hobbies", "Hobbies", "Pastimes"]
    graph.check()
    assert counts(again(graph)) == (2, 0, 0, 0, 1)
    assert set(graph.records.values()) == {"Pastimes"}
    graph.check()


def test_command_and_backfill(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    describe(graph.here.settings, monkeypatch)
    graph.remember("#Oddments My knee hurts after running, the doctor gave me ibuprofen for the inflamed knee.")
    (before,) = graph.records.values()

    def command(*arguments: str, code: int = 0) -> Any:
        assert entry.run(["admin", "refile", *arguments, "--json"]) == code
        report = capsys.readouterr()
        return json.loads(report.out or report.err)

    assert command(code=entry.INVALID)["error"] == "InvalidInputError"
    would = command("--user", graph.user.slug, "--dry-run")
    assert len(would["moved"]) == 1
    assert would["moved"][0]["from_path"].endswith("Oddments")
    assert list(graph.records.values()) == [before]
    assert command("--user", graph.user.slug)["moved"] == would["moved"]
    (path,) = graph.records.values()
    assert path.startswith("Health")
    assert command("--user", graph.user.slug)["complete"] == 1
    assert entry.run(["admin", "refile", "--user", graph.user.slug, "--again"]) == 0
    assert "0 records moved and 0 split by offline; 1 stayed" in capsys.readouterr().out

    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [record_places],
            instance=instance,
            resources={"installation": InstallationResource()},
            run_config=dg.RunConfig({"record_places": FilingConfig(user=graph.user.slug)}),
            tags={
                "dagster/asset_partition_range_start": FIRST_DAY,
                "dagster/asset_partition_range_end": day_of_records(graph.here),
            },
        )
        (event, *_) = result.asset_materializations_for_node("record_places")
    report = {name: value.value for name, value in event.metadata.items()}
    assert (report["records moved"], report["stayed"], report["failed"]) == (0, 1, "none")
