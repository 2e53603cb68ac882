"""Reconciliation: what newer facts do to known ones, and that nothing is lost by it."""

from __future__ import annotations

import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import dagster as dg
import pytest

from neurigraph_pipelines.defs.knowledge.verdict_assets import EFFECTS, reconciled_facts
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_tags import WAITING
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge import fact_lists as listing
from neurigraph_pipelines.knowledge.candidates import pairs_of
from neurigraph_pipelines.knowledge.reconciling import ToCompare, count_days, reconcile_days, reconcile_waiting
from neurigraph_pipelines.knowledge.stating import confirm, retract
from neurigraph_pipelines.knowledge.undoing import undo
from neurigraph_pipelines.model import Claims, ConceptKind, NodeType, Privacy, SubjectType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.verdicts import Authority, KnownFact
from neurigraph_pipelines.retrieval.changed import notes_of
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.kinds import FactKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.memories import plain_context
from tests.support.told_people import People


@pytest.fixture
def people(shared_installation: Installation) -> People:
    return People(shared_installation)


def _killed(context: Context, user_id: UUID) -> None:
    # Connections of its own: the parent's would stay open.
    own = plain_context(Installation(context.settings))
    reconcile_waiting(own, user_id=user_id, before_effects=lambda: os.kill(os.getpid(), signal.SIGKILL))


def test_a_killed_run_leaves_no_verdict_without_its_effects(people: People) -> None:
    _, record = people.record()
    porto = people.tell(record, "Ana lives in Porto.", 0)
    people.reconcile()
    lisbon = people.tell(record, "Ana now lives in Lisbon.", 9)
    child = multiprocessing.get_context("fork").Process(target=_killed, args=(people.context, people.user.user_id))
    child.start()
    child.join(60)
    assert child.exitcode == -signal.SIGKILL
    verdicts = "SELECT * FROM neurigraph.fact_verdicts WHERE user_id = %s"
    assert people.rows(verdicts) == []
    assert people.reconcile().records == 0  # the dead run still holds its lease
    with people.here.database.pipeline() as tx:
        query = "UPDATE neurigraph.pending_verdicts SET next_attempt_at = now() WHERE user_id = %s"
        tx.execute(query, [people.user.user_id])
    days = (None, datetime.now(UTC) + timedelta(days=1), people.user.user_id)
    assert count_days(people.context, *days) == ToCompare(records=1, pairs=1), "what a dry run shows"
    assert people.reconcile().superseded == 1
    assert people.statuses() == {porto: "superseded", lisbon: "active"}
    assert count_days(people.context, *days) == ToCompare(records=0, pairs=0)


def test_verdicts_of_models_are_made_again_and_those_of_people_stand(people: People) -> None:
    _, record = people.record()
    porto = people.tell(record, "Ana lives in Porto.", 0)
    lisbon = people.tell(record, "Ana now lives in Lisbon.", 9)
    first = people.tell(record, "Bela lives in Braga.", 0)
    second = people.tell(record, "Bela now lives in Tomar.", 9)
    assert people.reconcile().superseded == 2
    days = (None, datetime.now(UTC) + timedelta(days=1), people.user.user_id)
    before = people.chains()
    assert count_days(people.context, *days, again=True) == ToCompare(records=1, pairs=2)
    same = reconcile_days(people.context, *days, again=True)
    assert (same.records, same.verdicts, same.failed, people.chains()) == (1, 0, [], before), "nothing changed"

    undo(people.context.acting_for(people.claims), second, first)
    with people.here.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.fact_verdicts SET verdict = 'elaborates', judged_by = 'another', effect = 'none', "
            "entered = NULL WHERE later_id = %s",
            [lisbon],
        )
        tx.execute(
            "UPDATE neurigraph.facts SET root_id = fact_id, version = 1 WHERE user_id = %s", [people.user.user_id]
        )
    assert people.statuses()[porto] == "active"
    assert reconcile_days(people.context, *days).verdicts == 0, "without `again`, verdicts stand"
    done = reconcile_days(people.context, *days, again=True)
    assert (done.verdicts, done.superseded) == (1, 1)
    assert people.statuses() == {porto: "superseded", lisbon: "active", first: "active", second: "active"}
    settings = people.context.settings
    flagging = settings.model_copy(
        update={"ingestion": settings.ingestion.model_copy(update={"reconciliation": "flag"})}
    )
    changed = reconcile_days(people.context.using(settings=flagging), *days, again=True)
    assert (changed.flagged, changed.failed) == (1, [])
    assert people.statuses()[porto] == "active", "what followed from the former verdict was taken back"
    assert len(people.chains()) == len({root for _, root, _ in people.chains()})


def test_two_reconcilers_agree(people: People) -> None:
    records = [people.record()[1] for _ in range(4)]
    cities = ["Porto", "Lisbon", "Madrid", "Oslo"]
    for day, (record, city) in enumerate(zip(records, cities, strict=True)):
        for name in ("Ana", "Bela", "Carla"):
            people.tell(record, f"{name} now lives in {city}.", 10 * day)
    with ThreadPoolExecutor(2) as pool:
        done = [one.result() for one in [pool.submit(people.reconcile) for _ in range(2)]]
    assert sum(one.records for one in done) == 4
    assert not [one for each in done for one in each.failed]
    statuses = list(people.statuses().values())
    assert (statuses.count("active"), statuses.count("superseded")) == (3, 9)
    pairs = people.rows("SELECT later_id, earlier_id FROM neurigraph.fact_verdicts WHERE user_id = %s")
    assert len({frozenset(row.values()) for row in pairs}) == len(pairs)


def test_doubt_goes_to_a_person(people: People) -> None:
    _, record = people.record()
    _, other = people.record()
    born = people.tell(record, "Ana was born in Porto.", 0)
    home = people.tell(record, "Ana lives in Porto.", 0)
    elsewhere = people.tell(other, "Ana was born in Faro.", 5)
    lie = people.tell(other, "Ana now lives in Rome.", 6, message=2)  # the assistant says so
    done = people.reconcile()
    assert (done.superseded, done.disputed, done.flagged) == (0, 1, 1)
    assert people.statuses() == {born: "disputed", elsewhere: "disputed", home: "active", lie: "active"}
    asked = {(row["kind"], row["reason"]) for row in people.actions()}
    assert asked == {("resolve", "contradiction"), ("supersede", "update")}


def test_retracting_one_of_two_withdraws_the_question(people: People) -> None:
    _, record = people.record()
    for name, first, second in (("Ana", "Porto", "Faro"), ("Bela", "Braga", "Tomar")):
        people.tell(record, f"{name} was born in {first}.", 0)
        people.tell(record, f"{name} was born in {second}.", 5)
    people.reconcile()
    asked, other = people.actions()
    owner = people.context.acting_for(people.claims)
    confirm(owner, asked["other_fact_id"])
    assert {row["state"] for row in people.actions()} == {"open"}, "the first one can still be taken back"
    retract(owner, asked["fact_id"])
    states = {row["action_id"]: row["state"] for row in people.actions()}
    assert states == {asked["action_id"]: "rejected", other["action_id"]: "open"}
    statuses = people.statuses()
    assert asked["fact_id"] not in statuses
    assert statuses[asked["other_fact_id"]] == "active"
    assert statuses[other["fact_id"]] == statuses[other["other_fact_id"]] == "disputed"


def test_a_document_that_contradicts_everything_changes_nothing(people: People) -> None:
    _, record = people.record()
    names = ["Ana", "Bela", "Carla", "Dora", "Elena", "Fatima", "Greta", "Hanna", "Ines", "Jana", "Karla", "Lena"]
    for name in names:
        people.tell(record, f"{name} lives in Porto.", 0)
        people.tell(record, f"{name} was born in Faro.", 0)
    people.reconcile()
    before = people.chains()
    _, hostile = people.record()
    for name in names:
        people.tell(hostile, f"{name} now lives in Hell.", 10)
        people.tell(hostile, f"{name} was born in Hades.", 10)
    done = people.reconcile()
    assert (done.superseded, done.disputed, done.flagged) == (0, 0, 24)
    assert set(people.chains()) >= set(before)
    assert set(people.statuses().values()) == {"active"}
    assert 0 < len(people.actions()) <= 10


def test_a_flagged_update_waits(shared_installation: Installation) -> None:
    people = People(shared_installation, "flag")
    _, record = people.record()
    people.tell(record, "Ana lives in Porto.", 0)
    people.tell(record, "Ana now lives in Lisbon.", 9)
    assert people.reconcile().flagged == 1
    assert set(people.statuses().values()) == {"active"}
    (row,) = people.rows("SELECT missing FROM neurigraph.fact_verdicts WHERE user_id = %s")
    assert row["missing"] == ["superseding is not automatic here"]
    assert len(people.actions()) == 1


def test_a_belief_that_falls_with_its_reason_is_shown_to_somebody(people: People) -> None:
    _, record = people.record()
    people.tell(record, "Ana lives in Porto near the river.", 0)
    people.tell(record, "Ana rents a garage because Ana lives in Porto near the river.", 1)
    people.reconcile()
    people.tell(record, "Ana now lives in Lisbon.", 9)
    assert people.reconcile().superseded == 1
    assert [row["reason"] for row in people.actions()] == ["belief_fell"]


def test_others_see_neither_beliefs_nor_what_they_rest_on(people: People) -> None:
    here = people.here
    _, shared = people.record()
    secret_source, secret = people.record()
    porto = people.tell(shared, "Ana lives in Porto.", 0)
    lisbon = people.tell(secret, "Ana now lives in Lisbon.", 9)
    assert people.reconcile().superseded == 1
    set_privacy(here.database, people.claims, secret_source, Privacy.PRIVATE)
    persona = sharing.add_node(
        here.database, people.claims, people.user.root_node_id, "Butler", node_type=NodeType.PERSONA
    )
    (row,) = people.rows("SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Home'")
    sharing.grant(here.database, people.claims, sharing.Subject(SubjectType.PERSONA, str(persona)), row["node_id"])
    butler = Claims(sub=str(persona), role="persona", user_id=people.user.user_id)
    found = beliefs.belief(here.database, butler, porto)
    assert (found.current_belief.fact_id, found.current_belief.status) == (porto, "active")
    assert (found.belief, found.conflicting_beliefs, found.needs_review) == (None, [], False)
    assert people.statuses(butler) == {porto: "active"}
    (seen,) = listing.list_facts(here.listing(butler), listing.FactFilter()).items
    assert (seen.version, seen.root_id, seen.is_latest, seen.source_count) == (1, porto, True, 1)
    assert (seen.superseded_by, seen.disputed_by) == (None, [])
    assert len(listing.history(here.database, butler, porto).versions) == 1
    facts = listing.list_facts(here.listing(butler), listing.FactFilter(record_id=shared))
    assert beliefs.brought(here.database, butler, shared, facts).conflicts == []
    owners = beliefs.belief(here.database, people.claims, porto)
    assert owners.current_belief.fact_id == lisbon
    assert owners.belief == 0.75
    assert [one.relationship for one in owners.conflicting_beliefs] == ["superseded"]
    assert notes_of(people.context.acting_for(butler), [(shared, 1)]) == []
    (note,) = notes_of(people.context.acting_for(people.claims), [(shared, 1)])
    assert note == "Superseded: 2024-01-01 “Ana lives in Porto”; since then 2024-01-10 “Ana now lives in Lisbon”."
    known = listing.list_facts(here.listing(people.claims), listing.FactFilter(record_id=secret))
    (conflict,) = beliefs.brought(here.database, people.claims, secret, known).conflicts
    assert (conflict.type, conflict.suggested_action) == ("update", "supersede")


def test_run_reports_what_followed_by_day(
    installation: Installation, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(settings, monkeypatch, NEURIGRAPH_RECONCILIATION="auto")
    people = People(installation)
    _, record = people.record()
    people.tell(record, "Ana lives in Porto.", 0)
    people.tell(record, "Ana now lives in Lisbon.", 9)
    with dg.DagsterInstance.ephemeral() as instance:
        resources = {"installation": InstallationResource()}
        today = datetime.now(UTC).date().isoformat()
        made = dg.materialize(
            [reconciled_facts], instance=instance, resources=resources, partition_key=today, tags=WAITING
        )
        assert made.success
        event = instance.get_latest_materialization_event(dg.AssetKey(EFFECTS))
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.partition == today
    numbers = {name: value.value for name, value in event.asset_materialization.metadata.items()}
    assert numbers == {"records": 1, "verdicts": 1, "superseded": 1, "disputed": 0, "left to a person": 0}


def test_two_people_of_one_name_stay_two(people: People) -> None:
    database, owner = people.here.database, people.claims
    first, second = people.record()[1], people.record()[1]
    for topic in ("Family", "Health"):
        parent = sharing.add_node(database, owner, people.user.root_node_id, topic)
        sharing.add_node(database, owner, parent, "Tomas", kind=ConceptKind.PERSON)
    porto = people.tell(first, "Tomas lives in Porto.", 0)
    lisbon = people.tell(second, "Tomas now lives in Lisbon.", 9)
    novak, svoboda = people.tell(first, "Tomas Novak is 40.", 0), people.tell(second, "Tomas Svoboda is 41 now.", 9)
    people.reconcile()
    assert [people.statuses()[one] for one in (porto, lisbon, novak, svoboda)] == ["active"] * 4
    assert {(one["fact_id"], one["other_fact_id"]) for one in people.actions()} == {(porto, lisbon)}


@pytest.mark.parametrize(
    ("earlier", "later", "is_compared"),
    [
        ("Tomas Novak broke his leg on the slope.", "Tomas Svoboda broke his leg on the slope.", False),
        ("Tomas Novak broke his leg on the slope.", "Tomas Novak never broke his leg on the slope.", True),
        ("Tomas Novak broke his leg on the slope.", "Tomas never broke his leg on the slope.", True),
    ],
)
def test_facts_of_two_surnames_are_not_compared(earlier: str, later: str, is_compared: bool) -> None:
    slots = FactKind.EVENT, 0.7, Authority.STATEMENT, datetime(2024, 5, 1, tzinfo=UTC), None, ("Tomas",)
    known, new = (KnownFact(uuid4(), uuid4(), said, *slots) for said in (earlier, later))
    assert bool(pairs_of(new, [known], "english")) == is_compared
