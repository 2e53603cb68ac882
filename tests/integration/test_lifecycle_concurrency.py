"""Readers, sweepers and crashes at the same time: no bytes, log entries or answers are lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from neurigraph_pipelines.inbox.importing import import_file
from neurigraph_pipelines.lifecycle import control, transitions
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant, sweep_expired
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.lifecycle.rehydration import revert_stuck
from neurigraph_pipelines.lifecycle.verification import Fault, verify
from neurigraph_pipelines.model import CompressionCause
from neurigraph_pipelines.model.errors import RehydratingError
from neurigraph_pipelines.retrieval.open import open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.files import store_file
from tests.support.memories import ingest, new_user, rows

pytestmark = pytest.mark.slow

SAMPLES = ROOT / "samples"
NEXT = {
    "active": {"compressed": "dormant", "recompressed": "dormant"},
    "dormant": {"rehydrating": "rehydrating"},
    "rehydrating": {"decompressed": "active", "failed": "dormant"},
}
FILES = 2


class LivesOfFiles(RuleBasedStateMachine):
    """Two files of one node, and everybody who has to do with them."""

    here: Installation

    def __init__(self) -> None:
        super().__init__()
        here, user = self.here, new_user(self.here)
        self.files = [store_file(here, f"#Notes file {n}", "words " * 2_000, user=user) for n in range(FILES)]
        self.texts = [file.open().content for file in self.files]
        self.stored = [b"".join(here.objects.get(file.key)) for file in self.files]
        self.user_id = user[0].user_id

    # What may happen, alone or at the same moment; only "not yet" is an answer that is not the bytes.

    def read(self, n: int) -> None:
        assert self.files[n].open(wait=0.2).content == self.texts[n]

    def read_one_message(self, n: int) -> None:
        file = self.files[n]
        here = self.here
        message = open_message(here.acting_for(file.claims), file.file_id, 1)
        assert message.content == f"#Notes file {n}"

    def compress(self, n: int) -> None:
        control.compress(self.here.acting_for(self.files[n].claims), self.files[n].file_id)

    def touch(self, n: int) -> None:
        control.touch(self.here.acting_for(self.files[n].claims), self.files[n].file_id)

    def let_a_month_pass(self, n: int) -> None:
        self.files[n].age(40)

    def set_the_clock_back(self, n: int) -> None:
        self.files[n].age(-40)

    def sweep(self, _: int) -> None:
        sweep_dormant(self.here.context, user_id=self.user_id)

    def expire(self, _: int) -> None:
        sweep_expired(self.here.context, user_id=self.user_id)

    def claim_and_die(self, n: int) -> None:
        dying = self.here.settings.changed(rehydration_lease_seconds=0.01)
        with self.here.database.pipeline() as tx:
            transitions.begin_rehydration(tx, dying, self.files[n].place, uuid4(), CompressionCause.RETRIEVAL)

    def revert(self, _: int) -> None:
        revert_stuck(self.here.database, user_id=self.user_id)

    def lose_the_copy(self, n: int) -> None:
        self.here.objects.delete(self.files[n].copy)

    def leave_a_copy(self, n: int) -> None:
        self.here.objects.put(self.files[n].copy, [b"left by a crash"])

    def audit(self, _: int) -> None:
        now = self.here.settings.changed(orphan_grace_hours=0.0)
        audit_objects(self.here.context.using(settings=now))

    ACTIONS = (
        read, read, read, read_one_message, compress, compress, touch, let_a_month_pass, set_the_clock_back, sweep,
        expire, claim_and_die, revert, lose_the_copy, leave_a_copy, audit,
    )  # fmt: skip

    @rule(
        acts=st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, FILES - 1)), min_size=1, max_size=6),
    )
    def at_once(self, acts: list[tuple[Callable[[LivesOfFiles, int], None], int]]) -> None:
        def attempt(act: Callable[[LivesOfFiles, int], None], n: int) -> None:
            with suppress(RehydratingError):
                act(self, n)

        with ThreadPoolExecutor(len(acts)) as pool:
            for done in [pool.submit(partial(attempt, act, n)) for act, n in acts]:
                done.result()

    @invariant()
    def the_log_leads_to_the_states(self) -> None:
        for file in self.files:
            first, *events = file.events
            assert first == "decompressed"
            state = "active"
            for event in events:
                state = NEXT[state][event]
            assert state == file.state

    @invariant()
    def no_byte_is_lost_and_all_else_fits(self) -> None:
        for file, stored in zip(self.files, self.stored, strict=True):
            assert b"".join(self.here.objects.get(file.key)) == stored
        found = verify(self.here.context, user_id=self.user_id).findings
        assert {finding.fault for finding in found} <= {Fault.WORKING_COPY, Fault.LEFT_OVER_COPY}

    def teardown(self) -> None:
        for file, text in zip(self.files, self.texts, strict=True):
            assert file.open(wait=30).content == text
        verify(self.here.context, user_id=self.user_id, repair=True)
        assert verify(self.here.context, user_id=self.user_id).findings == []


def test_readers_sweepers_and_crashes_lose_nothing(shared_installation: Installation) -> None:
    class Lives(LivesOfFiles):
        here = shared_installation

    run_state_machine_as_test(
        Lives,
        settings=settings(
            max_examples=8,
            stateful_step_count=12,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],
            database=None,  # what happens at once happens in another order each time
        ),
    )


def test_answers_are_independent_of_file_state(installation: Installation) -> None:
    here = installation
    user, claims = new_user(here)
    import_file(here.acting_for(claims), SAMPLES / "bob.jsonl", "jsonl")
    ingest(here.context, user)
    questions = [asked["question"] for asked in json.loads((SAMPLES / "questions.json").read_text())[:8]]

    def answers() -> tuple[list[Any], set[str]]:
        """What is answered, but for the states of files, and which states those were."""
        found, states = [], set()
        for question in questions:
            answer = search(here.acting_for(claims), Question(question))
            states |= {str(hit.file_state) for hit in answer.hits}
            hits = [hit.model_copy(update={"file_state": None}) for hit in answer.hits]
            found.append((hits, answer.messages, answer.anchors))
        return found, states

    before, states = answers()
    assert states == {"active"}
    assert all(hits for hits, _, _ in before)
    files = rows(here, "SELECT file_id FROM neurigraph.file_index ORDER BY file_id")
    for file in files[::2]:
        control.compress(here.acting_for(claims), file["file_id"])
    assert answers() == (before, {"active", "dormant"})
    for file in files:
        control.compress(here.acting_for(claims), file["file_id"])
    assert answers() == (before, {"dormant"})
    for file in files[::3]:
        with here.database.agent(claims) as tx:
            place = transitions.locate(tx, file["file_id"])
        with here.database.pipeline() as tx:
            assert transitions.begin_rehydration(tx, here.settings, place, uuid4(), CompressionCause.RETRIEVAL)
    assert answers() == (before, {"dormant", "rehydrating"})
    assert not list(here.objects.keys("active/")), "no question woke a file"
