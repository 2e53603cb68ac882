"""Segments with several records: stored whole, once, and with the same identifiers."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import batch
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.ingestion.records import Assigned, Summarized
from neurigraph_pipelines.model import Claims, GrantType, Outline, SubjectType
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.growing_graph import outline_of, records, store, tell
from tests.support.undivided import ERRANDS
from tests.unit.test_segmentation import FISHING, LAUNCH

GERMAN = [
    ("user", "Der Arzt hat mir Tabletten gegen den Bluthochdruck verschrieben."),
    ("user", "Der Kunde aus Kiel zahlt die Rechnung für das Lager erst im März."),
    ("user", "Mit dem Zug nach Wien, das Hotel ist gebucht."),
    ("user", "Der Hund braucht beim Tierarzt eine Spritze."),
]
SPANISH = [
    ("user", "El médico me ha recetado pastillas para la tensión."),
    ("user", "El cliente de Vigo paga la factura del almacén en marzo."),
    ("user", "Vuelo a Roma en mayo y el hotel está reservado."),
    ("user", "El perro tiene cita con el veterinario."),
]


@pytest.fixture
def bob(installation: Installation) -> Claims:
    return Claims.of_user(create_user(installation.database, "bob")[0].user_id)


def test_topic_change_gives_two_memories(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    tell(installation, bob, tmp_path, {"monday": LAUNCH + FISHING})
    store(installation)
    first, second = records(installation, bob)
    assert first["path"].startswith("bob/Business")
    assert second["path"].startswith("bob/Hobbies")
    assert first["title"] != second["title"]
    answer = search(installation.acting_for(bob), Question("spinner bait"))
    assert answer.hits[0].record_id == second["record_id"]
    assert answer.messages[0].external_id == "monday-8"
    every = search(installation.acting_for(bob), Question("launch fishing trout Dave"))
    assert {message.external_id for message in every.messages} == {f"monday-{i}" for i in range(12)}


def attempt(installation: Installation) -> Assigned:
    detect(installation.context)
    claimed = triggers.lease_due(installation.context, "test")
    assert claimed is not None
    return batch.assign_nodes(installation.context, claimed.batch_id)


def test_failed_part_leaves_no_trace(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    context, settings = installation.context, installation.settings
    tell(installation, bob, tmp_path, {"monday": LAUNCH + FISHING})
    assigned = attempt(installation)
    assert [plan.part for plan in assigned.plans] == [0, 1]
    summarized = batch.summarize(context.using(settings=settings), assigned)
    described = batch.extract_keywords(context.using(settings=settings), assigned, summarized)
    embedded = batch.embed(context.using(settings=settings), assigned, summarized)
    kept = {assigned.plans[0].record_id: summarized.summaries[assigned.plans[0].record_id]}
    result = batch.commit(context.using(settings=settings), assigned, Summarized(kept), described, embedded)
    assert [(failure.transient, state) for failure, state in result.returned] == [(True, "pending")]
    assert records(installation, bob) == []
    assert outline_of(installation, bob) == Outline()
    assert list(installation.objects.keys()) == []

    tell(installation, bob, tmp_path, {"tuesday": FISHING + LAUNCH}, day=1)
    store(installation)  # the graph grows while the failed segment waits
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() WHERE state = 'pending'")
    (again,) = store(installation)
    assert [record.record_id for record in again.stored] == [plan.record_id for plan in assigned.plans]
    assert len(records(installation, bob)) == 4
    assert len({record["record_id"] for record in records(installation, bob)}) == 4


def test_repeated_commit_stores_once(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    context, settings = installation.context, installation.settings
    tell(installation, bob, tmp_path, {"monday": LAUNCH + FISHING})
    assigned = attempt(installation)
    summarized = batch.summarize(context.using(settings=settings), assigned)
    described = batch.extract_keywords(context.using(settings=settings), assigned, summarized)
    embedded = batch.embed(context.using(settings=settings), assigned, summarized)
    first = batch.commit(context.using(settings=settings), assigned, summarized, described, embedded)
    before = records(installation, bob), outline_of(installation, bob), set(installation.objects.keys())
    assert len(first.stored) == 2
    second = batch.commit(context.using(settings=settings), assigned, summarized, described, embedded)
    assert (second.stored, second.returned) == ((), ())
    assert (records(installation, bob), outline_of(installation, bob), set(installation.objects.keys())) == before


def test_record_ids_are_deterministic(installation: Installation, bob: Claims, tmp_path: Path) -> None:
    tell(installation, bob, tmp_path, {"monday": LAUNCH + FISHING})
    assigned = attempt(installation)
    again = batch.assign_nodes(installation.context, assigned.batch_id)
    assert again == assigned
    ids: list[UUID] = [plan.record_id for plan in assigned.plans]
    assert len(set(ids)) == 2


def test_grant_on_one_subject_shows_nothing_of_the_others(
    installation: Installation, bob: Claims, tmp_path: Path
) -> None:
    tell(installation, bob, tmp_path, {"errands": ERRANDS})
    store(installation)
    tablets, lease, fishing = records(installation, bob)
    assert len({record["path"] for record in (tablets, lease, fishing)}) == 3
    with installation.database.agent(bob) as tx:
        node_id = find_node(tx, bob.user_id, fishing["path"])
    friend = Subject(SubjectType.THIRD_PARTY, "tom")
    sharing.grant(installation.database, bob, friend, node_id, GrantType.READ)
    tom = installation.acting_for(Claims("tom", "third_party", bob.user_id))
    for question in ("ramipril tablet", "lease of the warehouse", "spinners for the pike"):
        answer = search(tom, Question(question))
        assert {hit.record_id for hit in answer.hits} <= {fishing["record_id"]}
        told = " ".join(message.content or "" for message in answer.messages)
        assert "ramipril" not in told.lower()
        assert "lease" not in told


@pytest.mark.parametrize("notes", [GERMAN, SPANISH])
def test_sentences_of_other_languages_are_granted_one_by_one(
    installation: Installation, bob: Claims, tmp_path: Path, notes: list[tuple[str, str]]
) -> None:
    tell(installation, bob, tmp_path, {"notes": notes})
    store(installation)
    stored = records(installation, bob)
    assert len({record["path"] for record in stored}) == len(stored) == len(notes)
    with installation.database.agent(bob) as tx:
        node_id = find_node(tx, bob.user_id, stored[-1]["path"])
    sharing.grant(installation.database, bob, Subject(SubjectType.THIRD_PARTY, "vet"), node_id, GrantType.READ)
    vet = installation.acting_for(Claims("vet", "third_party", bob.user_id))
    seen = [search(vet, Question(text)).messages for _, text in notes]
    assert {message.external_id for found in seen for message in found} == {"notes-3"}
