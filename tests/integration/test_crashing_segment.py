"""A segment that kills its process is found by running it alone, fails alone, and is stored once it is harmless."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.ingestion.failures import list_failures, replay
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored, wait_for_expired_leases

MAX_ATTEMPTS = 2


def run(here: Installation, user: User) -> int:
    """Store what is due in a new process, once the leases of earlier ones have expired; return its exit code."""
    wait_for_expired_leases(here, user)
    arguments = [here.administrator_url, SECRET, str(here.home / "objects"), str(user.user_id), "never", "0"]
    return subprocess.run(
        [sys.executable, "-m", "tests.support.pausing_run", *arguments],
        cwd=ROOT,
        env={**os.environ, "NEURIGRAPH_MAX_ATTEMPTS": str(MAX_ATTEMPTS)},
        check=False,
    ).returncode


def segments(here: Installation, user: User) -> dict[str, tuple[str, int, int]]:
    """State, attempts and deaths of each segment, by the external id of its conversation."""
    found = rows(
        here,
        "SELECT s.external_id AS id, t.state, t.attempts, t.deaths FROM neurigraph.storage_triggers AS t "
        "JOIN neurigraph.sources AS s USING (source_id) WHERE t.user_id = %s",
        user.user_id,
    )
    return {row["id"]: (row["state"], row["attempts"], row["deaths"]) for row in found}


def test_crashing_segment_fails_alone(
    shared_installation: Installation,
) -> None:
    here = shared_installation
    user, claims = new_user(here)
    harmless = ["before", "beside", "behind"]
    for hours, name in enumerate(["before", "poison", "beside", "behind"]):
        converse(here, claims, "DEADLY words." if name == "poison" else "Plain words.", external_id=name, hours=hours)

    assert run(here, user) == -signal.SIGKILL, "all of them in one batch"
    assert segments(here, user) == dict.fromkeys([*harmless, "poison"], ("claimed", 1, 0))
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert run(here, user) == -signal.SIGKILL, "alone"
        assert segments(here, user)["poison"] == ("claimed", attempt, attempt)
    assert run(here, user) == 0
    assert segments(here, user) == {
        **dict.fromkeys(harmless, ("stored", 1, 0)),
        "poison": ("failed", MAX_ATTEMPTS, MAX_ATTEMPTS + 1),
    }

    with here.database.pipeline() as tx:
        (failure,) = list_failures(tx, user.user_id)
    assert (failure.source_external_id, failure.step, failure.attempts) == ("poison", "run", MAX_ATTEMPTS)
    assert failure.error.startswith("its run ended 3 times without storing it: ")
    assert len(rows(here, "SELECT FROM neurigraph.record_index WHERE user_id = %s", user.user_id)) == len(harmless)

    # What killed it is mended: here, the model does not mind.
    replay(here.database, [failure.failure_id])
    converse(here, claims, "Plain words.", external_id="later", hours=9)
    results = ingest(plain_context(here), user)
    assert [len(stored([result])) for result in results] == [1, 1], "under suspicion until it has gone through"
    assert segments(here, user)["poison"] == ("stored", 1, 0)
