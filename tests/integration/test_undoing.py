"""Undoing what verdicts decided: facts, versions and actions are then as they were before, row by row."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.knowledge import belief_lists as beliefs
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact
from neurigraph_pipelines.knowledge.undoing import undo
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.views.facts import UndoneDecision
from neurigraph_pipelines.views.kinds import ActionState, Effect
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import ingest
from tests.support.told_people import People


def superseded(earlier: UUID, later: UUID) -> UndoneDecision:
    return UndoneDecision(later_fact_id=later, earlier_fact_id=earlier, effect="supersedes")


class UndoingPeople(People):
    """A graph whose owner takes decisions back."""

    def undo(self, fact_id: UUID, other_id: UUID | None = None, claims: Claims | None = None) -> list[UndoneDecision]:
        return undo(self.context.acting_for(claims or self.claims), fact_id, other_id)

    def state(self) -> dict[str, Any]:
        """Return all rows of facts, their statuses, and the actions that wait."""
        open_ones = "SELECT kind, reason, fact_id FROM neurigraph.actions WHERE user_id = %s AND state = 'open'"
        facts = self.rows("SELECT * FROM neurigraph.facts WHERE user_id = %s ORDER BY fact_id")
        return {"facts": facts, "statuses": self.statuses(), "actions": self.rows(open_ones)}

    def effects(self) -> set[str]:
        query = "SELECT effect FROM neurigraph.fact_verdicts WHERE user_id = %s AND undone_at IS NULL"
        return {row["effect"] for row in self.rows(query)} - {"none"}


@pytest.fixture
def people(shared_installation: Installation) -> UndoingPeople:
    return UndoingPeople(shared_installation)


HOMES = [
    ("Ana lives in Porto.", 0),
    ("Ana now lives in Lisbon.", 100),
    ("Ana is living in Madrid now.", 50),
    ("Ana has moved to Porto.", 150),
    ("Ana now lives in Oslo.", 20),
]


def test_each_step_is_undone_exactly(people: UndoingPeople) -> None:
    _, record = people.record()
    ids: list[UUID] = []
    before: list[dict[str, Any]] = []
    for statement, day in HOMES:
        _, source = people.record()
        ids.append(people.tell(source if day % 100 else record, statement, day))
        before.append(people.state())
        people.reconcile()
    porto, lisbon, madrid, again, oslo = ids
    assert [one for one, *_ in people.chains()] == [porto, oslo, madrid, lisbon, again]
    for number, fact_id in reversed(list(enumerate(ids))):
        people.undo(fact_id)
        ours = set(ids[: number + 1])
        expected, found = before[number], people.state()
        assert [row for row in found["facts"] if row["fact_id"] in ours] == expected["facts"]
        assert {one: status for one, status in found["statuses"].items() if one in ours} == expected["statuses"]
        assert found["actions"] == expected["actions"]
    assert people.effects() == set()
    assert people.reconcile().records == 0
    deltas = people.rows("SELECT undone_at, undone_by FROM neurigraph.fact_verdicts WHERE user_id = %s")
    assert {row["undone_by"] for row in deltas if row["undone_at"]} == {f"user:{people.user.user_id}"}


def test_undone_pair_is_not_compared_again(people: UndoingPeople) -> None:
    _, record = people.record()
    porto, lisbon = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana now lives in Lisbon.", 9)
    people.reconcile()
    assert people.undo(porto, lisbon) == [
        UndoneDecision(later_fact_id=lisbon, earlier_fact_id=porto, effect="supersedes")
    ]
    assert people.undo(porto, lisbon) == people.undo(lisbon) == []
    people.rows("INSERT INTO neurigraph.pending_verdicts (record_id, user_id) "
                f"SELECT '{record}', %s RETURNING 1")  # fmt: skip
    assert people.reconcile().verdicts == 0
    assert people.statuses() == {porto: "active", lisbon: "active"}
    (conflict,) = beliefs.belief(people.here.database, people.claims, porto).conflicting_beliefs
    assert conflict.resolution == "somebody took this back"


def test_one_in_the_middle_leaves_the_others_joined(people: UndoingPeople) -> None:
    _, record = people.record()
    ids = []
    for day, city in enumerate(("Porto", "Lisbon", "Madrid")):
        ids.append(people.tell(record, f"Ana now lives in {city}.", 10 * day))
        people.reconcile()
    porto, lisbon, madrid = ids
    assert len(people.undo(porto)) == 2
    assert people.chains() == sorted([(porto, porto, 1), (lisbon, lisbon, 1), (madrid, lisbon, 2)], key=lambda o: o[1:])
    assert people.statuses() == {porto: "active", lisbon: "superseded", madrid: "active"}


def test_versions_by_hand_stay(people: UndoingPeople) -> None:
    _, record = people.record()
    porto, lisbon = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana now lives in Lisbon.", 9)
    people.reconcile()
    context = people.context.acting_for(people.claims)
    changed = change_fact(context, lisbon, FactWords("Ana now lives in Lisbon, in Alfama."), FactState())
    assert changed is not None
    ingest(people.context, people.user)
    read_waiting(people.context)
    alfama = changed.fact_id
    mine = [one for one in people.chains() if one[0] in (porto, lisbon, alfama)]
    assert mine == [(porto, porto, 1), (lisbon, porto, 2), (alfama, porto, 3)]
    people.reconcile()
    people.undo(porto)
    people.undo(lisbon, alfama)
    mine = [one for one in people.chains() if one[0] in (porto, lisbon, alfama)]
    assert sorted(mine) == sorted([(porto, porto, 1), (lisbon, lisbon, 1), (alfama, lisbon, 2)])
    assert people.statuses()[porto] == people.statuses()[alfama] == "active"
    assert people.statuses()[lisbon] == "superseded"


def test_disputes_and_falls_are_undone_with_what_asks(people: UndoingPeople) -> None:
    _, record = people.record()
    people.tell(record, "Ana lives in Porto near the river.", 0)
    people.tell(record, "Ana rents a garage because Ana lives in Porto near the river.", 1)
    born = people.tell(record, "Ana was born in Porto.", 0)
    people.reconcile()
    before = people.state()
    _, other = people.record()
    home = people.tell(other, "Ana now lives in Lisbon.", 9)
    elsewhere = people.tell(other, "Ana was born in Faro.", 5)
    done = people.reconcile()
    assert (done.superseded, done.disputed) == (1, 1)
    assert {row["reason"] for row in people.state()["actions"]} == {"belief_fell", "contradiction"}
    assert {one.effect for one in people.undo(home) + people.undo(elsewhere)} == {Effect.SUPERSEDES, Effect.DISPUTES}
    after = people.state()
    assert [row for row in after["facts"] if row["fact_id"] not in (home, elsewhere)] == before["facts"]
    assert after["actions"] == before["actions"] == []
    assert after["statuses"] == before["statuses"] | {home: "active", elsewhere: "active"}
    assert not beliefs.belief(people.here.database, people.claims, born).needs_review


def test_waiting_update_is_approved_and_undone(shared_installation: Installation) -> None:
    people = UndoingPeople(shared_installation, "flag")
    _, record = people.record()
    porto, lisbon = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana now lives in Lisbon.", 9)
    before = people.state()
    assert people.reconcile().flagged == 1
    (asked,) = people.actions()
    owner = people.context.acting_for(people.claims)
    assert actions.vote(owner, asked["action_id"], approves=True).state is ActionState.EXECUTED
    assert people.statuses() == {porto: "superseded", lisbon: "active"}
    assert people.chains() == [(porto, porto, 1), (lisbon, porto, 2)]
    assert people.undo(lisbon) == [superseded(porto, lisbon)]
    assert people.state() == before

    madrid = people.tell(record, "Ana is living in Madrid now.", 20)
    people.reconcile()
    waiting = [row["action_id"] for row in people.actions() if row["state"] == "open"]
    assert len(waiting) == 1
    people.undo(madrid)
    assert people.state()["actions"] == []
    assert people.effects() == set()


def test_only_the_owner_undoes(people: UndoingPeople) -> None:
    _, record = people.record()
    porto, lisbon = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana now lives in Lisbon.", 9)
    people.reconcile()
    stranger = UndoingPeople(people.here)
    persona = Claims(sub=str(uuid4()), role="persona", user_id=people.user.user_id)
    with pytest.raises(NotFoundError):
        people.undo(porto, claims=stranger.claims)
    with pytest.raises(NotFoundError):
        people.undo(porto, uuid4())
    with pytest.raises(ForbiddenError):
        people.undo(porto, claims=persona)
    assert people.statuses() == {porto: "superseded", lisbon: "active"}
    assert len(people.undo(porto)) == 1
