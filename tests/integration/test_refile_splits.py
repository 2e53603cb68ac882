"""Splitting of stored memories by subject: what follows the messages, what stays whole, and who sees it."""

from __future__ import annotations

import json
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
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.graph.history import history, record_at
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.ingestion import filing_again
from neurigraph_pipelines.ingestion.filing_again import FiledAgain, file_again
from neurigraph_pipelines.ingestion.revision import Revision
from neurigraph_pipelines.ingestion.splitting import PlannedSplit, plan_split, split
from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.ingestion.subjects import subjects_of
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.lifecycle.control import compress
from neurigraph_pipelines.lifecycle.rehydration import _rewrite_working_copy, open_whole
from neurigraph_pipelines.lifecycle.retention import set_tier
from neurigraph_pipelines.lifecycle.transitions import FileLocation
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Filing, GrantType, NodeType, SubjectType, Tier
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, NotFoundError, TransientError
from neurigraph_pipelines.model.links import LinkEnd
from neurigraph_pipelines.retrieval.open import _opened, open_file
from neurigraph_pipelines.retrieval.places import places_in, transcripts
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import ActionKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.changing_record import Memory
from tests.support.command_line import describe
from tests.support.dying_refile import other_context, tomorrow
from tests.support.erasures import NODE, RECORD, erase, traces
from tests.support.graphs import Graph, new_graph
from tests.support.linked_facts import inferred, link, links_of, plant_fact
from tests.support.memories import converse, ingest, plain_context, rows, stored
from tests.support.undivided import ERRANDS, TAGGED, split_all, undivided
from tests.support.vectors import day_of_records

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")


@pytest.fixture
def graph(installation: Installation) -> Graph:
    return new_graph(installation)


def again(graph: Graph, **how: bool) -> FiledAgain:
    return split_all(graph.here, graph.user.user_id, **how)


def memory(graph: Graph, record_id: UUID) -> Memory:
    return Memory(graph.here, graph.here.embedder, graph.claims, record_id)


def parts_of(done: FiledAgain) -> dict[str, UUID]:
    """Return the ids of the parts of the only split, by their paths."""
    assert done.failed == []
    (one,) = done.split
    return {part.to_path.partition("/")[2]: part.record_id for part in one.parts}


def messages_of(graph: Graph, record_id: UUID, claims: Claims | None = None) -> str:
    """Return the text of a memory's transcript, as a caller opens it."""
    context = graph.here.acting_for(claims or graph.claims)
    file_id = record_at(graph.here.database, claims or graph.claims, record_id).file_id
    assert file_id is not None
    return open_file(context, file_id).content.decode()


def found(graph: Graph, question: str, claims: Claims | None = None) -> list[tuple[UUID, str | None]]:
    """Return the messages that a search finds, with their records."""
    answer = search(graph.here.acting_for(claims or graph.claims), Question(question, limit=50))
    return sorted((one.record_id, one.external_id) for one in answer.messages if one.record_id)


def test_dry_run_says_what_follows_and_changes_nothing(graph: Graph) -> None:
    record_id = undivided(graph)
    before = [graph.records, sorted(graph.here.objects.keys("")), memory(graph, record_id).at(), graph.paths]
    would = again(graph, dry_run=True)
    assert [graph.records, sorted(graph.here.objects.keys("")), memory(graph, record_id).at(), graph.paths] == before
    (one,) = would.split
    slug = graph.user.slug
    assert (one.record_id, one.from_path) == (record_id, f"{slug}/Hobbies")
    assert [(part.first_message, part.last_message, part.to_path) for part in one.parts] == [
        (1, 3, f"{slug}/Health"),
        (4, 6, f"{slug}/Business"),
        (7, 10, f"{slug}/Hobbies/Tom"),
    ]
    assert [part.words for part in one.parts] == [ERRANDS[first][1][:60] for first in (0, 3, 6)]
    assert one.parts[2].record_id == record_id
    assert again(graph) == would


def test_each_message_is_in_one_memory_and_found_once(graph: Graph) -> None:
    record_id = undivided(graph)
    moments = memory(graph, record_id).at()["created_at"]
    parts = parts_of(again(graph))
    assert parts["Hobbies/Tom"] == record_id
    assert graph.records == {record_id: path for path, record_id in parts.items()}
    texts = {path: messages_of(graph, one) for path, one in parts.items()}
    for path, (first, last) in {"Health": (0, 3), "Business": (3, 6), "Hobbies/Tom": (6, 10)}.items():
        held = [content for _, content in ERRANDS if content in texts[path].replace('\\"', '"')]
        assert held == [content for _, content in ERRANDS[first:last]]
        assert found(graph, " ".join(content for _, content in ERRANDS[first:last]))[0][0] in parts.values()
    every = found(graph, " ".join(content for _, content in ERRANDS))
    assert sorted(number for _, number in every if number) == sorted(f"m{number}" for number in range(1, 11))
    kept = memory(graph, record_id)
    assert (kept.at()["first_message"], kept.at()["last_message"]) == (7, 10)
    assert kept.at()["created_at"] == moments
    assert [one.operation for one in reversed(kept.deltas)][:2] == ["create", "revise"]
    assert set(kept.operations) == {"create", "revise", "move", "split", "refile"}
    told = next(one for one in kept.deltas if one.operation == "split")
    assert told.after == {"parts": [str(parts["Health"]), str(parts["Business"])]}
    assert "messages 1 to 3 are" in told.notes[0]
    assert memory(graph, parts["Health"]).operations == ["refile", "create"]
    assert "ramipril" not in (kept.at()["title"] + kept.at()["summary"]).lower()
    graph.check()


def test_command_shows_and_splits(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    describe(graph.here.settings, monkeypatch)
    record_id, slug = undivided(graph), graph.user.slug
    command = ["admin", "refile", "--user", slug]
    assert entry.run([*command, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "0 records to be moved and 1 to be split by offline" in shown
    assert f"{record_id}  {slug}/Hobbies, of 3 subjects:" in shown
    assert f"7–10 → {slug}/Hobbies/Tom (stays): Tom and I go fishing" in shown
    assert list(graph.records) == [record_id]
    assert entry.run([*command, "--since", "2020-01-01", "--dry-run", "--json"]) == 0
    would = json.loads(capsys.readouterr().out)["split"]
    assert [(part["first_message"], part["to_path"]) for part in would[0]["parts"]] == [
        (1, f"{slug}/Health"),
        (4, f"{slug}/Business"),
        (7, f"{slug}/Hobbies/Tom"),
    ]
    assert entry.run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["split"] == would
    assert sorted(graph.records.values()) == ["Business", "Health", "Hobbies/Tom"]


def test_backfill_splits(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(graph.here.settings, monkeypatch)
    undivided(graph)

    def backfill(*, dry_run: bool) -> dict[str, Any]:
        with dg.DagsterInstance.ephemeral() as instance:
            result = dg.materialize(
                [record_places],
                instance=instance,
                resources={"installation": InstallationResource()},
                run_config=dg.RunConfig({"record_places": FilingConfig(user=graph.user.slug, dry_run=dry_run)}),
                tags={
                    "dagster/asset_partition_range_start": FIRST_DAY,
                    "dagster/asset_partition_range_end": day_of_records(graph.here),
                },
            )
            events = result.asset_observations_for_node if dry_run else result.asset_materializations_for_node
            return {name: value.value for name, value in events("record_places")[0].metadata.items()}

    assert backfill(dry_run=True)["records to split"] == 1
    assert list(graph.records.values()) == ["Hobbies"]
    assert backfill(dry_run=False)["records split"] == 1
    assert sorted(graph.records.values()) == ["Business", "Health", "Hobbies/Tom"]
    graph.check()


def test_second_run_changes_nothing(graph: Graph) -> None:
    undivided(graph)
    parts_of(again(graph))
    before = graph.records, sorted(graph.here.objects.keys(""))
    done = again(graph)
    assert (len(done.split), len(done.moved), done.complete) == (0, 0, 3)
    done = again(graph, again=True)
    assert (done.split, done.moved, done.stayed) == ([], [], 3)
    assert (graph.records, sorted(graph.here.objects.keys(""))) == before


def test_facts_links_and_life_follow_the_messages(graph: Graph) -> None:
    here, user_id = graph.here, graph.user.user_id
    record_id, other = undivided(graph), undivided(graph, [("user", "We sold the caravan.")])
    read_waiting(here.context)
    with here.database.owner() as tx:  # the facts of each message, beside those that were read
        tx.execute("DELETE FROM neurigraph.facts WHERE user_id = %s", [user_id])
    facts = [plant_fact(here, record_id, f"Statement {number}.") for number in range(1, 11)]
    with here.database.owner() as tx:
        for number, fact_id in enumerate(facts, start=1):
            tx.execute(
                "UPDATE neurigraph.facts SET first_message = %s, last_message = %s WHERE fact_id = %s",
                [max(1, number - 1) if number == 4 else number, number, fact_id],
            )
        tx.execute("INSERT INTO neurigraph.forgotten_facts VALUES (%s, 4711, %s)", [record_id, user_id])
    of_facts, of_record, shown = link(
        here,
        user_id,
        inferred(facts[0], facts[8], "supports"),
        inferred(LinkEnd.record(record_id), LinkEnd.record(other), "supports"),
        inferred(LinkEnd.record(record_id), LinkEnd.record(other), "depends_on", messages=(5,)),
    )
    set_tier(here.acting_for(graph.claims), record_id, Tier.MID)
    expires_at = memory(graph, record_id).at()["expires_at"]
    parts = parts_of(again(graph))
    health, renting = parts["Health"], parts["Business"]
    held = rows(here, "SELECT record_id, first_message, last_message FROM neurigraph.facts WHERE user_id = %s", user_id)
    for row in held:
        expected = health if row["last_message"] < 4 else renting if row["last_message"] < 7 else record_id
        assert row["record_id"] == expected
    assert sorted(row["first_message"] for row in held) == [1, 2, 3, 5, 6, 7, 8, 9, 10]  # the fourth rests on two parts
    kept = {one["link_id"]: one for one in links_of(here, user_id)}
    assert (kept[of_facts]["from_record_id"], kept[of_facts]["to_record_id"]) == (health, record_id)
    assert kept[of_record]["from_record_id"] == record_id
    assert kept[shown]["from_record_id"] == renting
    for part in parts.values():
        assert memory(graph, part).at()["expires_at"] == expires_at is not None
    forgotten = rows(here, "SELECT record_id FROM neurigraph.forgotten_facts WHERE user_id = %s", user_id)
    assert {row["record_id"] for row in forgotten} == set(parts.values())
    graph.check()


def test_records_that_wait_to_be_read_wait_on(graph: Graph) -> None:
    record_id = undivided(graph)
    parts = parts_of(again(graph))
    waiting = rows(graph.here, "SELECT record_id FROM neurigraph.pending_facts")
    assert {row["record_id"] for row in waiting} == set(parts.values())
    read_waiting(graph.here.context)
    facts = rows(graph.here, "SELECT record_id, statement FROM neurigraph.facts")
    assert {row["record_id"] for row in facts if "ramipril" in row["statement"]} == {parts["Health"]}
    assert record_id in {row["record_id"] for row in facts}
    graph.check()


def test_grant_shows_only_the_part_that_stays(graph: Graph) -> None:
    record_id = undivided(graph, TAGGED)
    friend = Subject(SubjectType.THIRD_PARTY, "tom")
    sharing.grant(graph.here.database, graph.claims, friend, graph.node("Hobbies"), GrantType.READ)
    tom = Claims("tom", "third_party", graph.user.user_id)
    assert "ramipril" in messages_of(graph, record_id, tom)
    parts = parts_of(again(graph, by_marks=True))
    assert "ramipril" not in messages_of(graph, record_id, tom).lower()
    assert {one for one, _ in found(graph, "ramipril tablet lease spinners pike", tom)} == {record_id}
    for path in ("Health", "Home/Renting"):
        with pytest.raises(NotFoundError):
            record_at(graph.here.database, tom, parts[path])


def test_history_of_before_is_for_the_owner(graph: Graph) -> None:
    record_id = undivided(graph, TAGGED)
    coach = sharing.add_node(graph.here.database, graph.claims, graph.node(""), "Coach", node_type=NodeType.PERSONA)
    persona = Subject(SubjectType.PERSONA, str(coach))
    sharing.grant(graph.here.database, graph.claims, persona, graph.node("Hobbies"), GrantType.READ)
    claims = Claims(str(coach), "persona", graph.user.user_id)
    assert "ramipril" in str(history(graph.here.database, claims, record_id)).lower()
    moment = memory(graph, record_id).deltas[0].changed_at
    again(graph, by_marks=True)
    shown = history(graph.here.database, claims, record_id)
    assert {one.operation for one in shown} == {"refile"}
    assert "ramipril" not in str(record_at(graph.here.database, claims, record_id, moment)).lower()
    assert "ramipril" in str(record_at(graph.here.database, graph.claims, record_id, moment)).lower()


@pytest.mark.parametrize("kind", ["record", "node"])
def test_forgotten_part_leaves_no_byte(graph: Graph, kind: str) -> None:
    record_id = undivided(graph)
    read_waiting(graph.here.context)
    parts = parts_of(again(graph))
    assert traces(graph.here, "ramipril") != []
    if kind == "record":
        erase(graph.here, graph.claims, RECORD, parts["Health"])
    else:
        erase(graph.here, graph.claims, NODE, graph.node("Health"))
    assert traces(graph.here, "ramipril") == []
    assert {"create", "split"} <= set(memory(graph, record_id).operations)
    assert memory(graph, record_id).at()["title"]
    assert traces(graph.here, "spinners") != []
    graph.check()
    erase(graph.here, graph.claims, RECORD, record_id)
    assert traces(graph.here, "spinners") == []
    assert "lease" in messages_of(graph, parts["Business"])


def test_decisions_of_people_keep_memories_whole(graph: Graph) -> None:
    moved, revised, waits, superseded, newer = (
        undivided(graph, [(who, f"{text} {number}") for who, text in TAGGED]) for number in range(5)
    )
    move_records(graph.here.database, graph.claims, [moved], graph.node(""))
    memory(graph, revised).revise(Revision(title="Mine"))
    memory(graph, superseded).supersede(newer)
    with graph.here.database.owner() as tx:
        propose(tx, Doubt(ActionKind.ARCHIVE, graph.user.user_id, "unused", "archive", record_id=waits))
    would, done = again(graph, dry_run=True, by_marks=True), again(graph, by_marks=True)
    assert done == would
    assert done.by_hand == 2
    assert [one.record_id for one in done.split] == [newer]
    assert dict(done.whole) == {
        waits: "a decision about it is open",
        superseded: "another memory supersedes it",
    }
    assert {graph.records[one] for one in (revised, waits, superseded)} == {"Hobbies"}
    assert graph.records[moved] == ""
    graph.check()


def test_decision_made_meanwhile_wins(graph: Graph) -> None:
    record_id = undivided(graph)
    context = graph.here.context
    segment = read_segment(context, graph.user.user_id, record_id)
    filings = [Filing(("Health",), 1, 6), Filing(("Hobbies",), 7, 10)]
    planned = plan_split(context, record_id, segment, filings)
    memory(graph, record_id).revise(Revision(title="Mine"))
    before = memory(graph, record_id).at(), sorted(graph.here.objects.keys(""))
    with pytest.raises(ConflictError):
        split(context, planned)
    assert (memory(graph, record_id).at(), sorted(graph.here.objects.keys(""))) == before
    graph.check()


def test_dormant_memory_stays_dormant(graph: Graph) -> None:
    record_id = undivided(graph)
    file_id = UUID(memory(graph, record_id).at()["file_id"])
    compress(graph.here.acting_for(graph.claims), file_id)
    parts = parts_of(again(graph))
    assert memory(graph, record_id).at()["file_state"] == "dormant"
    assert memory(graph, parts["Health"]).at()["file_state"] == "active"
    graph.check()
    assert "spinners" in messages_of(graph, record_id)


def test_reader_of_before_gets_no_wrong_text(graph: Graph) -> None:
    """A reader has found the file; before it reads, the memory is split."""
    record_id, context = undivided(graph, TAGGED), graph.here.acting_for(graph.claims)
    file_id = UUID(memory(graph, record_id).at()["file_id"])
    places = list(places_in(transcripts(context, [file_id])[file_id], None))
    whole = open_whole(context, FileLocation(file_id, places[0].node_id, places[0].schema_name))[1]
    parts_of(again(graph, by_marks=True))
    with pytest.raises(TransientError, match="read it again"):
        _opened(context, file_id, places)
    now = next(iter(places_in(transcripts(context, [file_id])[file_id], None)))
    _rewrite_working_copy(context, FileLocation(file_id, now.node_id, now.schema_name), whole)
    assert verify(graph.here.context, user_id=graph.user.user_id).findings == []
    assert "ramipril" not in messages_of(graph, record_id)
    graph.check()


def test_longest_run_keeps_the_id_and_the_rest_becomes_new(here: Installation) -> None:
    graph = new_graph(here)
    talk = ("#Hobbies A rod.", "Nice.", "TAX is due.", "TAX paid.", "#Hobbies We leave on Friday with the boat.", "Ok.")
    converse(here, graph.claims, *talk)
    (one,) = stored(ingest(plain_context(here), graph.user))
    done = file_again(other_context(here), None, tomorrow(), graph.user.user_id)
    (divided,) = done.split
    assert [(part.first_message, part.last_message) for part in divided.parts] == [(1, 2), (3, 4), (5, 6)]
    assert [part.record_id == one.record_id for part in divided.parts] == [False, False, True]
    assert sorted(graph.records.values()) == ["Finance", "Pastimes", "Pastimes"]
    graph.check()


def test_messages_without_a_subject_go_with_those_before() -> None:
    filings = [Filing((), 1, 1), Filing(("Health",), 2, 3), Filing((), 4, 4), Filing(("Hobbies",), 5, 6)]
    found = subjects_of(filings, ["Hobbies", "Fishing"])
    assert [(one.path, one.first_message, one.last_message) for one in found] == [
        (("Health",), 1, 4),
        (("Hobbies", "Fishing"), 5, 6),
    ]
    unsure = [Filing((), 1, 2, proposals=(("Health",), ("Hobbies",))), Filing(("Hobbies",), 3, 4)]
    assert [one.path for one in subjects_of(unsure, ["Hobbies"])] == [(), ("Hobbies",)]
    assert len(subjects_of([Filing((), 1, 2), Filing((), 3, 4)], ["Hobbies"])) == 1


def test_conversation_that_goes_on_meanwhile_is_stored_once(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    record_id = undivided(graph, external_id="errands")
    more = "Our neighbour took the fishing rod back."

    def while_more_arrives(context: Context, planned: PlannedSplit) -> None:
        converse(graph.here, graph.claims, more, external_id="errands", first=11)
        ingest(graph.here.context, graph.user)
        split(context, planned)

    monkeypatch.setattr(filing_again, "split", while_more_arrives)
    parts = parts_of(again(graph))
    (arrived,) = graph.records.keys() - parts.values()
    assert parts["Hobbies/Tom"] == record_id
    assert more in messages_of(graph, arrived)
    graph.check()
