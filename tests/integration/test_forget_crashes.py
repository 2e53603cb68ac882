"""Killed erasures: the rest is intact, and the next attempt finishes them."""

from __future__ import annotations

import subprocess
import sys
from uuid import UUID, uuid4

import pytest

from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.lifecycle.erasure.forget import finish_erasures, forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT, SECRET
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.pausing_erasure import MOMENTS
from tests.support.word_traces import found_in_database, found_in_objects

pytestmark = pytest.mark.slow


def kill_in(here: Installation, claims: Claims, subject: ErasureSubject, moment: str, occurrence: int) -> None:
    """Start a process that forgets, and kill it when it has come to that moment."""
    places = [here.administrator_url, SECRET, str(here.home / "objects"), str(claims.user_id)]
    what = [subject.kind, str(subject.subject_id), moment, str(occurrence)]
    command = [sys.executable, "-m", "tests.support.pausing_erasure", *places, *what]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "paused\n"
    process.kill()
    process.communicate()


def subject_of(here: Installation, claims: Claims, kind: SubjectKind, record_id: UUID) -> ErasureSubject:
    if kind is SubjectKind.NODE:
        with here.database.agent(claims) as tx:
            return ErasureSubject(kind, find_node(tx, claims.user_id, "Family"))
    return ErasureSubject(kind, claims.user_id if kind is SubjectKind.USER else record_id)


@pytest.mark.parametrize(("kind", "moment", "occurrence"), MOMENTS)
def test_killed_erasure_is_finished(shared_installation: Installation, kind: str, moment: str, occurrence: int) -> None:
    here = shared_installation
    _, claims = new_user(here)
    gone = f"mark{uuid4().hex[:12]}"
    converse(here, claims, f"#Family/Dave {gone} says hello.", f"#Family {gone} again.")
    records = {record.node_path: record.record_id for record in stored(ingest(plain_context(here)))}
    converse(here, claims, "#Family/Dave Somebody else says hello.")
    ingest(plain_context(here))
    if kind == SubjectKind.RECORD:  # alone in its source, so that all of it goes
        converse(here, claims, f"#Family {gone} once more.")
        (record,) = stored(ingest(plain_context(here)))
        for each in records.values():
            forget(here.acting_for(claims), ErasureSubject(SubjectKind.RECORD, each), through="tests")
        records = {record.node_path: record.record_id}
    subject = subject_of(here, claims, SubjectKind(kind), next(iter(records.values())))

    kill_in(here, claims, subject, moment, occurrence)

    # Nothing is half there: what has a row has its object, and what has none is in the journal.
    assert verify(here.context, user_id=claims.user_id).findings == []
    left = audit_objects(here.context, dry_run=True).orphans
    journal = rows(here, "SELECT object_key FROM neurigraph.erased_objects WHERE user_id = %s", claims.user_id)
    assert set(left) <= {row["object_key"] for row in journal}

    if occurrence % 2:  # by itself, or because somebody asks again
        finish_erasures(here.context)
    receipt = forget(here.acting_for(claims), subject, through="tests")
    assert receipt.finished_at is not None
    assert found_in_database(here, gone) == []
    assert found_in_objects(here, gone) == []
    assert verify(here.context).findings == []
    assert audit_objects(here.context, dry_run=True).orphans == []
    assert finish_erasures(here.context) == []
