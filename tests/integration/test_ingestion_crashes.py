"""Killed ingestion processes: no partial records, and the next run stores everything once."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.memories import (
    converse,
    ingest,
    new_user,
    plain_context,
    rows,
    stored,
    wait_for_expired_leases,
)
from tests.support.pausing_run import LEASE_SECONDS, MOMENTS
from tests.support.record_checks import whole_records
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

CONVERSATION = ("#Family/Ana My sister called.", "#Work/Desks The desk is done. @Ana:sister")
NOTE = IncomingNote("Dave said hello.", title="Hello", path="Family/Dave")


def run_to(here: Installation, user: User, moment: str, occurrence: int, *more: str) -> subprocess.Popen[str]:
    """A process that stores the batch and has come to that moment."""
    arguments = [here.administrator_url, SECRET, str(here.home / "objects"), str(user.user_id), moment, str(occurrence)]
    arguments += more
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.pausing_run", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    return process


@pytest.mark.parametrize(("moment", "occurrence"), MOMENTS)
def test_killed_run_is_repeated_once(shared_installation: Installation, moment: str, occurrence: int) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, *CONVERSATION)
    write_note(here.acting_for(claims), NOTE)
    process = run_to(here, user, moment, occurrence)
    process.kill()
    process.communicate()

    committed = {("transaction open", 2): 1, ("transaction committed", 1): 1, ("transaction committed", 2): 2}
    # The conversation has two records and the note one; the commit of a source is whole or not at all.
    segments = committed.get((moment, occurrence), 0)
    assert whole_records(here, user) in ({0}, {1, 2}, {3})[segments]
    states = [
        r["s"]
        for r in rows(here, "SELECT state AS s FROM neurigraph.storage_triggers WHERE user_id = %s", user.user_id)
    ]
    assert sorted(states) == sorted(["stored"] * segments + ["claimed"] * (2 - segments))

    wait_for_expired_leases(here, user)
    context = plain_context(here)
    again = stored(ingest(context, user))
    assert not any(record.already_stored for record in again)
    assert whole_records(here, user) == 3
    assert ingest(context, user) == []
    edges = rows(here, "SELECT evidence_count AS n FROM neurigraph.node_edges WHERE user_id = %s", user.user_id)
    assert {edge["n"] for edge in edges} == {1}
    for row in rows(here, "SELECT record_id FROM neurigraph.record_index WHERE user_id = %s", user.user_id):
        file_id = file_of_record(here.database, claims, row["record_id"])
        assert open_file(here.acting_for(claims), file_id)


@pytest.mark.parametrize(("moment", "occurrence"), [("transaction open", 1), ("working copy written", 4)])
def test_killed_run_with_several_threads(shared_installation: Installation, moment: str, occurrence: int) -> None:
    here = shared_installation
    user, claims = new_user(here)
    for number in range(7):
        converse(here, claims, f"#Family/Ana Call {number}.", f"#Work/Desk{number} Desk {number}. @Ana:sister")
    process = run_to(here, user, moment, occurrence, "4")
    process.kill()
    process.communicate()

    query = "SELECT count(*) AS n FROM neurigraph.storage_triggers WHERE user_id = %s AND state = 'stored'"
    (segments,) = rows(here, query, user.user_id)
    assert whole_records(here, user) == 2 * segments["n"] < 14
    wait_for_expired_leases(here, user)
    again = stored(ingest(plain_context(here), user))
    assert not any(record.already_stored for record in again)
    assert whole_records(here, user) == 14
    edges = rows(
        here, "SELECT relation, evidence_count AS n FROM neurigraph.node_edges WHERE user_id = %s", user.user_id
    )
    assert sorted((edge["relation"], edge["n"]) for edge in edges) == [*[("sister", 1)] * 7, ("sister", 7)]


def test_lease_ends_with_its_process(shared_installation: Installation) -> None:
    """A lease of 15 minutes: nobody takes it from a process that is stopped, and a killed one has lost it at once."""
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "one")
    process = run_to(here, user, "embedding", 1)
    try:
        process.send_signal(signal.SIGSTOP)
        time.sleep(2 * LEASE_SECONDS)
        with here.database.owner() as tx:
            tx.execute("UPDATE neurigraph.storage_triggers SET claimed_until = now() + interval '15 min' "
                       "WHERE state = 'claimed'")  # fmt: skip
        assert ingest(plain_context(here), user) == []
        assert triggers.expire(here.context) == 0
    finally:
        process.kill()
        process.communicate()
    wait_until(lambda: triggers.expire(here.context) == 1, "its lease has ended with it")
    assert len(stored(ingest(plain_context(here), user))) == 1
