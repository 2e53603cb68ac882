"""Killed between commit, extraction, registration and verdicts: nothing partial, nothing twice, nothing lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest

from neurigraph_pipelines.database.leases import work_lease
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import upload_leases
from neurigraph_pipelines.knowledge.fact_lists import FactFilter, list_facts
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.knowledge.stating import NewFact, change_fact, state_fact
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, Segment
from neurigraph_pipelines.model.facts import ReadFact
from neurigraph_pipelines.model.ports import KeptFacts
from neurigraph_pipelines.model.verdicts import Judgement, Pair
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.memories import converse, ingest, new_user, plain_context, rows, wait_for_expired_leases
from tests.support.pausing_facts import MOMENTS, FormsModel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

FIRST, LATER = "Ana lives in Porto.", "Ana now lives in Lisbon."
ALL = {FIRST: "superseded", LATER: "active"}
_TABLES = ("facts", "fact_verdicts", "pending_facts", "pending_verdicts", "record_index")


def kill_at(here: Installation, user: User, moment: str, occurrence: int) -> None:
    """Start a process that stores, reads and compares, and kill it when it has come to that moment."""
    places = [here.administrator_url, SECRET, str(here.home / "objects"), str(user.user_id), moment, str(occurrence)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.pausing_facts", *places], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()


def seen(here: Installation, claims: Claims) -> dict[str, str]:
    """Return the status of each statement in the list of facts."""
    found = list_facts(here.listing(claims), FactFilter()).items
    assert len({one.statement for one in found}) == len(found), "stated twice"
    return {one.statement: one.status for one in found}


def counts(here: Installation, user: User) -> tuple[int, ...]:
    parts = ", ".join(f"(SELECT count(*) FROM neurigraph.{name} WHERE user_id = u.user_id)" for name in _TABLES)
    (row,) = rows(here, f"SELECT ARRAY[{parts}] AS counts FROM neurigraph.users AS u WHERE user_id = %s", user.user_id)
    return tuple(row["counts"])


def wait_for_facts(here: Installation, user: User) -> None:
    """Wait until no lease on a record is live."""
    wait_for_expired_leases(here, user)
    for table in ("pending_facts", "pending_verdicts"):
        query = f"SELECT FROM neurigraph.{table} WHERE user_id = %s AND next_attempt_at > clock_timestamp()"
        wait_until(lambda query=query: not rows(here, query, user.user_id), "the leases expire")  # type: ignore[misc]


class LookingModel(FormsModel):
    """Looks at the leases while it reads and compares."""

    def __init__(self, here: Installation) -> None:
        super().__init__()
        self._here = here
        self.bounds: dict[str, float] = {}

    def _look(self, table: str) -> None:
        query = f"SELECT extract(epoch FROM max(next_attempt_at - clock_timestamp()))::float AS left FROM {table}"
        (self.bounds[table],) = (row["left"] for row in rows(self._here, query))

    def extract_facts(self, segment: Segment, kept: KeptFacts | None = None) -> list[ReadFact]:
        self._look("neurigraph.pending_facts")
        return super().extract_facts(segment, kept)

    def judge(self, pairs: Sequence[Pair]) -> list[Judgement]:
        self._look("neurigraph.pending_verdicts")
        return super().judge(pairs)


def test_leases_of_a_killed_process_end_soon(installation: Installation) -> None:
    """With the settings as they come, whose leases on segments last 15 minutes."""
    model = LookingModel(installation)
    user, claims = new_user(installation)
    context = plain_context(installation).using(language_model=model)
    for number, words in enumerate((FIRST, LATER)):
        converse(installation, claims, words, first=61 * number)
        ingest(context, user)
        read_waiting(context, user_id=user.user_id)
        reconcile_waiting(context, user_id=user.user_id)
    assert set(model.bounds) == {"neurigraph.pending_facts", "neurigraph.pending_verdicts"}
    assert all(0 < left <= 30 for left in (*model.bounds.values(), upload_leases.LEASE_SECONDS)), model.bounds
    assert 0 < work_lease(installation.settings) <= 30 < installation.settings.ingestion.claim_lease_seconds


AFTER = {
    "storing: transaction open": ({FIRST: "active"}, (1, 0, 0, 0, 1)),
    "storing: transaction committed": ({FIRST: "active"}, (1, 0, 1, 0, 2)),
    "waiting: transaction committed": ({FIRST: "active"}, (1, 0, 1, 0, 2)),
    "extracting": ({FIRST: "active"}, (1, 0, 1, 0, 2)),
    "writing: transaction open": ({FIRST: "active"}, (1, 0, 1, 0, 2)),
    "writing: transaction committed": ({FIRST: "active", LATER: "active"}, (2, 0, 0, 1, 2)),
    "due: transaction committed": ({FIRST: "active", LATER: "active"}, (2, 0, 0, 1, 2)),
    "judging": ({FIRST: "active", LATER: "active"}, (2, 0, 0, 1, 2)),
    "before effects": ({FIRST: "active", LATER: "active"}, (2, 0, 0, 1, 2)),
    "judged: transaction open": ({FIRST: "active", LATER: "active"}, (2, 0, 0, 1, 2)),
    "judged: transaction committed": (ALL, (2, 1, 0, 0, 2)),
}
"""What is visible after each death, and how many facts, verdicts, waiting records and records there are."""


@pytest.mark.parametrize(("moment", "occurrence"), MOMENTS)
def test_killed_run_leaves_whole_facts(shared_installation: Installation, moment: str, occurrence: int) -> None:
    here = shared_installation
    user, claims = new_user(here)
    settings = here.settings.changed(reconciliation="auto")
    context = plain_context(here).using(settings=settings, language_model=FormsModel())
    converse(here, claims, FIRST)

    def finish() -> None:
        ingest(context, user)
        read_waiting(context, user_id=user.user_id)
        reconcile_waiting(context, user_id=user.user_id)

    finish()
    assert (seen(here, claims), counts(here, user)) == ({FIRST: "active"}, (1, 0, 0, 0, 1))
    converse(here, claims, LATER, first=61)
    kill_at(here, user, moment, occurrence)
    assert (seen(here, claims), counts(here, user)) == AFTER[moment]
    assert verify(here.context, user_id=user.user_id).findings == []

    wait_for_facts(here, user)
    finish()
    whole = (ALL, (2, 1, 0, 0, 2))
    assert (seen(here, claims), counts(here, user)) == whole
    finish()
    assert (seen(here, claims), counts(here, user)) == whole, "nothing is left to do"
    assert verify(here.context, user_id=user.user_id).findings == []


NEW_WORDS = "Ana lives in Faro."
STATED = {
    "storing: transaction open": ({FIRST: "active"}, 1),
    # The next version is a fact once it is read: until then the one before stands.
    "storing: transaction committed": ({FIRST: "active"}, 2),
    "writing: transaction open": ({FIRST: "active"}, 2),
    "writing: transaction committed": ({FIRST: "superseded", NEW_WORDS: "active"}, 2),
}
"""What is visible after each death while the next version of a stated fact is stored, and how many records exist."""


@pytest.mark.parametrize("moment", STATED)
def test_killed_run_leaves_one_latest_stated_fact(shared_installation: Installation, moment: str) -> None:
    here = shared_installation
    user, claims = new_user(here)
    context = plain_context(here).using(settings=here.settings.changed(reconciliation="auto"))
    asking = context.acting_for(claims)
    (first, _) = (state_fact(asking, NewFact(FactWords(FIRST))) for _ in range(2))

    def finish() -> None:
        ingest(context, user)
        read_waiting(context, user_id=user.user_id)
        reconcile_waiting(context, user_id=user.user_id)

    finish()
    assert seen(here, claims) == {FIRST: "active"}
    changed = change_fact(asking, first.fact_id, FactWords(NEW_WORDS), FactState())
    assert changed is not None
    kill_at(here, user, moment, 1)
    shown, records = STATED[moment]
    assert (seen(here, claims), counts(here, user)[-1]) == (shown, records)
    again = change_fact(asking, first.fact_id, FactWords(NEW_WORDS), FactState())
    assert again == changed.model_copy(update={"created": False}), "a caller that repeats the request writes nothing"
    assert verify(here.context, user_id=user.user_id).findings == []

    wait_for_facts(here, user)
    for _ in range(2):
        finish()
        assert seen(here, claims) == {FIRST: "superseded", NEW_WORDS: "active"}
        assert counts(here, user)[-1] == 2
        query = "SELECT version FROM neurigraph.facts WHERE user_id = %s AND extractor = 'stated' ORDER BY version"
        assert [row["version"] for row in rows(here, query, user.user_id)] == [1, 2]
    assert verify(here.context, user_id=user.user_id).findings == []
