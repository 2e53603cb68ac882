"""Facts that are superseded or erased because somebody approved it, and the times of actions that settings say."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge.deciding import actions, upkeep
from neurigraph_pipelines.knowledge.stating import retract
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.views.kinds import ActionKind, ActionState
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows
from tests.support.told_people import People


@pytest.fixture
def people(shared_installation: Installation) -> People:
    """A graph in which no update supersedes by itself."""
    return People(shared_installation, "flag")


def decide(people: People, action_id: UUID, *, approves: bool = True) -> ActionState:
    return actions.vote(people.context.acting_for(people.claims), action_id, approves=approves).state


def ask(people: People, kind: ActionKind, fact_id: UUID, other: UUID | None = None) -> UUID:
    with people.here.database.pipeline() as tx:
        doubt = Doubt(kind, people.user.user_id, "update", "belief", fact_id=fact_id, other_fact_id=other)
        return propose(tx, doubt).action_id


def test_an_approved_update_supersedes_and_is_taken_back_exactly(people: People) -> None:
    _, record = people.record()
    porto = people.tell(record, "Ana lives in Porto.", 0)
    people.tell(record, "Ana rents a garage because Ana lives in Porto.", 1)
    lisbon = people.tell(record, "Ana now lives in Lisbon.", 9)
    people.reconcile()
    before = people.chains()
    (waiting,) = people.actions()
    assert (waiting["kind"], waiting["fact_id"], waiting["other_fact_id"]) == ("supersede", porto, lisbon)
    assert people.statuses()[porto] == "active"
    assert decide(people, waiting["action_id"]) is ActionState.EXECUTED
    assert people.statuses()[porto] == "superseded"
    (verdict,) = people.rows(
        "SELECT verdict, judged_by, missing FROM neurigraph.fact_verdicts "
        "WHERE effect = 'supersedes' AND user_id = %s"
    )  # fmt: skip
    assert (verdict["verdict"], verdict["missing"]) == ("updates", [])
    assert str(waiting["action_id"]) in verdict["judged_by"]
    assert (lisbon, porto, 2) in people.chains()

    # The other way round is a new decision, and undoes the first one.
    assert decide(people, ask(people, ActionKind.SUPERSEDE, lisbon, porto)) is ActionState.EXECUTED
    assert (people.statuses()[porto], people.statuses()[lisbon]) == ("active", "superseded")
    retract(people.context.acting_for(people.claims), porto)
    assert people.statuses()[lisbon] == "active"
    assert {one[0] for one in people.chains()} == {one[0] for one in before}


def test_a_fact_that_was_taken_back_supersedes_nothing(people: People) -> None:
    _, record = people.record()
    porto, lisbon = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana lives in Lisbon.", 9)
    retract(people.context.acting_for(people.claims), lisbon)
    action_id = ask(people, ActionKind.SUPERSEDE, porto, lisbon)
    with pytest.raises(ConflictError, match="taken back"):
        decide(people, action_id)
    assert actions.get_action(people.here.database, people.claims, action_id).failure == "impossible"
    assert people.statuses()[porto] == "active"


def test_an_approved_erasure_of_a_fact_leaves_a_receipt(people: People) -> None:
    _, record = people.record()
    porto, other = people.tell(record, "Ana lives in Porto.", 0), people.tell(record, "Ana likes soup.", 0)
    decide(people, ask(people, ActionKind.DELETE, porto))
    assert set(people.statuses()) == {other}
    assert len(rows(people.here, "SELECT FROM neurigraph.erasures WHERE subject_id = %s", porto)) == 1
    rejected = ask(people, ActionKind.DELETE, other)
    assert decide(people, rejected, approves=False) is ActionState.REJECTED
    assert set(people.statuses()) == {other}


def test_settings_say_when_actions_expire_and_are_late(people: People) -> None:
    here = people.here
    _, record = people.record()
    porto = people.tell(record, "Ana lives in Porto.", 0)
    settings = here.settings.changed(action_expiry_hours=72.0, action_overdue_hours=48.0)
    with Installation(settings) as longer, longer.database.pipeline() as tx:
        doubt = Doubt(ActionKind.DELETE, people.user.user_id, "update", "belief", fact_id=porto)
        action_id = propose(tx, doubt).action_id
    expires_at = actions.get_action(here.database, people.claims, action_id).expires_at
    assert timedelta(hours=71) < expires_at - datetime.now(UTC) < timedelta(hours=73)
    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.actions SET requested_at = now() - interval '24 hours' WHERE action_id = %s", [action_id]
        )
    patient = people.context.using(settings=settings)
    assert upkeep.waiting(people.context).overdue - upkeep.waiting(patient).overdue >= 1

    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.actions SET state = 'approved', decided_at = now() - interval '2 hours' "
            "WHERE action_id = %s",
            [action_id],
        )
    assert action_id in upkeep.find_not_carried_out(people.context)
    upkeep.keep(people.context)
    assert action_id not in upkeep.find_not_carried_out(people.context)
