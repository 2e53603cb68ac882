"""Killed transitions: no bytes or log entries are lost, and the next process continues."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from neurigraph_pipelines.lifecycle import control, transitions
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant, sweep_expired
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck
from neurigraph_pipelines.lifecycle.verification import Fault, verify
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.files import StoredFile, store_file
from tests.support.pausing_transition import MOMENTS
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow


def kill_in(file: StoredFile, step: str, moment: str, occurrence: int) -> None:
    """Start a process that takes the step, and kill it when it has come to that moment."""
    here = file.here
    places = [here.administrator_url, SECRET, str(here.home / "objects"), str(file.user.user_id), str(file.file_id)]
    command = [sys.executable, "-m", "tests.support.pausing_transition", *places, step, moment, str(occurrence)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()


def compress(file: StoredFile) -> None:
    control.compress(file.here.acting_for(file.claims), file.file_id)


def prepare(file: StoredFile, step: str) -> None:
    """Bring a file to where the step begins."""
    here = file.here
    if step == "dormant":
        file.age(31)
    elif step in ("expired", "open", "stuck"):
        compress(file)
    if step == "expired":
        file.open()
        file.age(1)
    elif step == "stuck":
        with here.database.pipeline() as tx:
            short = here.settings.changed(rehydration_lease_seconds=0.001)
            transitions.begin_rehydration(tx, short, file.place, uuid4(), CompressionCause.RETRIEVAL)


@pytest.mark.parametrize(("step", "moment", "occurrence"), MOMENTS)
def test_killed_transition_is_atomic(
    shared_installation: Installation, step: str, moment: str, occurrence: int
) -> None:
    here = shared_installation
    file = store_file(here)
    text = file.open().content
    prepare(file, step)
    before, events = file.state, file.events
    kill_in(file, step, moment, occurrence)

    taken = {"transaction committed": occurrence, "transaction open": occurrence - 1}.get(moment, 0)
    if step == "open":
        taken = max(taken, moment == "working copy written")
    path = {"open": ("dormant", "rehydrating", "active"), "stuck": ("rehydrating", "dormant")}.get(
        step, ("active", "dormant")
    )
    assert (before, file.state, len(file.events)) == (path[0], path[taken], len(events) + taken)

    def found() -> set[Fault]:
        walk = verify(here.context, user_id=file.user.user_id)
        return {finding.fault for finding in walk.findings}

    assert found() <= {Fault.WORKING_COPY}, "an active file may have lost its copy, which its next reader makes good"
    wait_until(lambda: (lease := file.row["lease"]) is None or lease.upper < datetime.now(UTC), "the lease expires")
    assert file.open(wait=30).content == text
    sweep_dormant(here.context, user_id=file.user.user_id)
    sweep_expired(here.context, user_id=file.user.user_id)
    revert_stuck(here.database, user_id=file.user.user_id)
    assert file.open().content == text
    assert found() == set()
    settings = here.settings.changed(orphan_grace_hours=0.0)
    assert audit_objects(here.context.using(settings=settings), dry_run=True).orphans == []
