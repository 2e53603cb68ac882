"""Proofs that the pipeline loses nothing, on a real Dagster with killed processes, full disks and faulty providers.

``docs/reliability.md`` says of each proof what it shows. One stack serves them all, in this order; it is the same that
`neurigraph up` starts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.ingestion import failures
from neurigraph_pipelines.lifecycle.orphans import audit_objects
from neurigraph_pipelines.runtime.stack.dagster_home import INSTANCE
from neurigraph_pipelines.runtime.stack.processes import CODE_SERVER, DAEMON
from resources.postgres.embedded import EmbeddedPostgres
from tests.support.api_server import serving
from tests.support.breakable_stack import ALONE, BreakableStack, SmallDisk, breakable_stack, locked, unique, waiters
from tests.support.command_line import PROGRAM
from tests.support.dagster_stack import (
    another_daemon,
    await_true,
    is_run,
    launch,
    run_statuses,
)
from tests.support.embedded_server import server_pid
from tests.support.hits import KINDS, Hits
from tests.support.memories import rows
from tests.support.model_provider import Fault
from tests.support.record_checks import Reader, orphans, whole_records
from tests.support.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.end_to_end, pytest.mark.proof]

SUMMARIES = "SegmentAnswer SummaryAnswer"
STEPS = {
    "assign_nodes": "PlacementsAnswer",
    "summarize": SUMMARIES,
    "extract_keywords": "KeywordsAnswer",
    "embed": "embeddings",
}
COMMITS = ("between the objects and the transaction", "at the end of the transaction")
FOR_EVER = Fault("stall", seconds=600.0)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallDisk | None]:
    made = SmallDisk(tmp_path_factory.mktemp("disk"))
    mounted = made.mount()
    yield made if mounted else None
    if mounted:
        made.unmount()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, disk: SmallDisk | None) -> Iterator[BreakableStack]:
    folder = tmp_path_factory.mktemp("running")
    with breakable_stack(folder, disk.folder if disk is not None else None) as started:
        yield started


@pytest.fixture(autouse=True)
def _mended(running: BreakableStack) -> Iterator[None]:
    yield
    running.provider.reset()


def test_killed_run_worker(running: BreakableStack) -> None:
    here, provider = running.installation, running.provider
    users = {moment: running.user() for moment in (*STEPS, *COMMITS)}
    markers = unique(list(users))
    for moment, marker in markers.items():
        provider.fail_when(marker, FOR_EVER, STEPS.get(moment, SUMMARIES))
    # The call for the keywords alone is made only if the one call for all three gives an unusable answer.
    provider.fail_when(markers["extract_keywords"], Fault("invalid_json"), "SegmentAnswer")
    with Reader(here, list(users.values()), "Who says hello?") as reader:
        sources = {moment: running.say(user, markers[moment], ALONE) for moment, user in users.items()}
        killed: dict[str, str] = {}

        def kill(moment: str) -> None:
            killed[moment] = running.run_key(users[moment])
            worker = running.worker(users[moment])
            assert is_run(worker)
            os.kill(worker, signal.SIGKILL)

        def kill_in_commit(moment: str) -> None:
            user = users[moment]
            before, end = COMMITS
            row = {before: ("users", "user_id", user.user_id), end: ("sources", "source_id", sources[end])}[moment]
            with locked(here, *row) as lock:
                provider.mend(markers[moment])
                await_true(lambda: waiters(here, lock), f"the commit comes to the lock: {moment}")
                assert orphans(here, [user]), "its objects are there, and nothing names them"
                kill(moment)
                assert whole_records(here, user) == 0

        def all_killed() -> bool:
            for moment in users.keys() - killed.keys():
                if provider.held(markers[moment]):
                    kill(moment) if moment in STEPS else kill_in_commit(moment)
                    provider.mend(markers[moment])
            return killed.keys() == users.keys()

        await_true(all_killed, "every worker comes to its moment")
        running.stored_once(*users.values())
    for moment, key in killed.items():
        assert "FAILURE" in run_statuses(running.stack, key), moment
    assert reader.looks > 5
    left = orphans(here, list(users.values()))
    assert {key.split("/")[1] for key in left} == {users[moment].slug for moment in COMMITS}
    assert len(left) == 2 * len(COMMITS), "what a killed commit had written, and its working copy"
    at_once = here.settings.changed(orphan_grace_hours=0.0)
    assert audit_objects(here.context.using(settings=at_once)).removed == len(left)
    assert orphans(here, list(users.values())) == set(), "no orphan outlives the sweep"


def test_full_or_read_only_disk(running: BreakableStack, disk: SmallDisk | None) -> None:
    if disk is None:
        pytest.skip("only root may mount the small disk")
    here, user = running.installation, running.user()

    def refused(reason: str) -> bool:
        (segment,) = running.triggers(user) or [{"last_error": None}]
        return reason in str(segment["last_error"])

    with Reader(here, [user], "Who says hello?"):
        disk.fill()
        running.say(user, "Disk")
        await_true(lambda: refused("No space left on device"), "the full disk is noticed")
        disk.make_read_only(True)
        await_true(lambda: refused("Read-only file system"), "the read-only disk is noticed")
        assert whole_records(here, user) == 0
        disk.make_read_only(False)
        disk.empty()
        running.stored_once(user)
    assert orphans(here, [user]) == set()


def test_failing_provider_recovers(running: BreakableStack) -> None:
    here, provider, user = running.installation, running.provider, running.user()
    passing = {
        "busy": Fault("status", status=429, retry_after="1"),
        "broken": Fault("status", status=500),
        "cut off": Fault("half_body"),
        "stalling": Fault("stall", seconds=90.0),
    }
    final = {
        "garbled": Fault("invalid_json"),
        "misshapen": Fault("wrong_shape", answer={"weather": "fine"}),
        "refused": Fault("refusal"),
        "empty": Fault("no_choices"),
    }
    markers = unique([*passing, *final, "unembedded"])
    for kind, fault in (passing | final).items():
        provider.fail_when(markers[kind], fault, SUMMARIES)
    provider.fail_when(markers["unembedded"], Fault("status", status=503), "embeddings")
    sources = {running.say(user, marker): kind for kind, marker in markers.items()}

    def states() -> dict[str, str]:
        tried = [row for row in running.triggers(user) if row["state"] == "stored" or row["last_error"] is not None]
        return {sources[UUID(str(row["source_id"]))]: str(row["state"]) for row in tried}

    await_true(lambda: states().keys() == markers.keys(), "each conversation has been tried")
    found = states()
    assert {kind for kind, state in found.items() if state == "failed"} == final.keys()
    assert found["unembedded"] == "stored", "without its embedding"
    assert whole_records(here, user) == 1
    pending = "SELECT FROM neurigraph.pending_embeddings WHERE user_id = %s"
    assert len(rows(here, pending, user.user_id)) == 1
    for kind in passing | final:  # a sensor heals vectors, which is one more delta
        provider.mend(markers[kind])
    with here.database.pipeline() as tx:
        errors = {sources[one.source_id]: one.error for one in failures.list_failures(tx, user.user_id)}
    assert "declined" in errors["refused"]
    failures.replay(here.database, None, user.user_id)
    running.stored_once(user, records=len(markers))
    provider.mend()
    launch(running.stack, "heal_embeddings_job", {})
    await_true(lambda: rows(here, pending, user.user_id) == [], "the vectors are healed")
    assert orphans(here, [user]) == set()


def test_twenty_poison_items_in_200(running: BreakableStack) -> None:
    here, provider = running.installation, running.provider
    user, key = create_user(here.database, "poisoned")
    provider.fail_when("Hemlock", Fault("refusal"), SUMMARIES)
    provider.fail_when("Nightshade", Fault("invalid_json"), "SegmentAnswer KeywordsAnswer")
    sources = []
    for number in range(200):
        poison = "" if number % 10 else "Hemlock" if number % 20 else "Nightshade"
        sources.append(running.say(user, f"Talk{number} {poison}", ended=False))
    running.end(user, sources)

    def batches() -> list[object]:
        return [row["batch_id"] for row in running.triggers(user) if row["batch_id"] is not None]

    await_true(batches, "it is claimed")
    assert len(batches()) == 200
    assert len(set(batches())) == 1

    def settled() -> bool:
        states = [row["state"] for row in running.triggers(user)]
        return len(states) == 200 and set(states) <= {"stored", "failed"}

    await_true(settled, "every segment is stored or failed")
    assert whole_records(here, user) == 180
    with here.database.pipeline() as tx:
        failed = failures.list_failures(tx, user.user_id)
    assert len(failed) == 20
    assert {one.step for one in failed} == {"summarize", "extract_keywords"}
    assert {one.source_id for one in failed} == set(sources[::10])
    provider.mend()
    by_hand, over_http, *rest = (str(one.failure_id) for one in failed)
    subprocess.run([PROGRAM, "source", "failure", "replay", by_hand], capture_output=True, check=True)
    with serving(here) as base:
        headers = {"Authorization": f"Bearer {key}"}
        answer = httpx.post(f"{base}/v1/failures/{over_http}/replay", headers=headers, timeout=60)
    assert answer.json()["outcome"] == "replayed"
    config = {"failure_ids": rest, "all": False}
    launch(running.stack, "replay_job", {"ops": {"replay_failures": {"config": config}}})
    running.stored_once(user, records=200)
    assert orphans(here, [user]) == set()


def test_repeated_requests_store_once(running: BreakableStack) -> None:
    here = running.installation
    user, key = create_user(here.database, "twice")
    with (
        serving(here) as base,
        httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client,
    ):

        def post(path: str, **body: object) -> httpx.Response:
            answer = client.post(path, json=body, timeout=60)
            answer.raise_for_status()
            return answer

        opened = [post("/v1/conversations", external_id="once").json()["conversation_id"] for _ in range(2)]
        assert opened[0] == opened[1]
        path = f"/v1/conversations/{opened[0]}"
        said = [{"role": "user", "content": "The copper gutters, please.", "external_id": "1"}]
        for _ in range(2):
            post(f"{path}/messages", messages=said)
        for _ in range(2):
            post(f"{path}/end")
        running.stored_once(user)
        post(f"{path}/end")
        post(f"{path}/messages", messages=[*said, {"role": "user", "content": "No, zinc.", "external_id": "2"}])
        running.stored_once(user, records=2)
    segments = [(row["attempts"], row["state"]) for row in running.triggers(user)]
    assert segments == [(1, "stored"), (1, "stored")]


def test_two_daemons(running: BreakableStack, tmp_path: Path) -> None:
    here, user = running.installation, running.user()
    # A memory of its own, in files: it knows nothing of the other daemon's runs.
    shutil.copy(INSTANCE, tmp_path / "dagster.yaml")
    with another_daemon(running.stack, tmp_path / "log", tmp_path):
        with locked(here, "users", "user_id", user.user_id) as lock:
            running.say(user, "Double")
            await_true(lambda: len(orphans(here, [user])) == 4, "a worker of each daemon has written its objects")
            assert waiters(here, lock) == 1, "one is in its commit, the other waits for the lease that it holds"
            assert whole_records(here, user) == 0
        running.stored_once(user)
        # The second daemon is killed after this block, and with it the worker that may still have to remove objects.
        await_true(lambda: orphans(here, [user]) == set(), "who came second has removed its objects")


def test_killed_daemon_code_server_and_worker(running: BreakableStack) -> None:
    here, stack = running.installation, running.stack
    first, second, third = users = [running.user() for _ in range(3)]
    with Reader(here, users, "Who says hello?"):
        with ExitStack() as held:
            locks = [held.enter_context(locked(here, "users", "user_id", user.user_id)) for user in users]
            for user in users:
                running.say(user, "Kept", ALONE)
            await_true(lambda: all(waiters(here, lock) for lock in locks), "three commits wait")
            orphaned, worker = running.run_key(third), running.worker(third)
            os.kill(daemon := stack.pids()[DAEMON], signal.SIGKILL)
            locks[0].rollback()
            running.stored_once(first)
            os.kill(server := stack.pids()[CODE_SERVER], signal.SIGKILL)
            locks[1].rollback()
            running.stored_once(second)
            os.kill(worker, signal.SIGKILL)
        running.stored_once(*users)
        await_true(lambda: run_statuses(stack, orphaned)[-1] == "FAILURE", "the dead run is noticed")
    assert stack.pids()[DAEMON] != daemon
    assert stack.pids()[CODE_SERVER] != server
    assert {key.split("/")[1] for key in orphans(here, users)} == {third.slug}


def test_killed_postgres(running: BreakableStack) -> None:
    here, stack, user = running.installation, running.stack, running.user()
    with Reader(here, [user], "Who says hello?"):
        running.provider.fail_when("Shock", FOR_EVER, SUMMARIES)
        running.say(user, "Shock")
        await_true(lambda: running.provider.held("Shock"), "a run is at work")
        parts = stack.pids()
        os.kill(killed := server_pid(here.home), signal.SIGKILL)
        await_true(lambda: EmbeddedPostgres(here.home).status().pid not in (None, killed), "another server runs")
        running.provider.mend()
        running.stored_once(user)
    assert stack.pids() == parts, "all other parts outlive it"


def test_hits_of_every_kind(running: BreakableStack) -> None:
    """Conversations arrive while their runs are killed, interrupted and terminated at random moments.

    With ``HIT_SECONDS=600`` it takes ten minutes, and is to be healed a minute later.
    """
    here, user = running.installation, running.user()
    seconds = float(os.environ.get("HIT_SECONDS", "30"))
    talks, pause = (100, 3.0) if seconds >= 600 else (20, 1.0)
    hits, said, began = Hits(running.stack, seed=41), 0, time.monotonic()
    with Reader(here, [user], "Who says hello?"):
        while (elapsed := time.monotonic() - began) < seconds or len(hits.count) < len(KINDS):
            assert elapsed < seconds + PATIENCE_SECONDS
            while said < talks * elapsed / seconds:
                running.say(user, f"Hit{said}")
                said += 1
            time.sleep(hits.random.uniform(0, 2 * pause) if hits.strike() else 0.3)
        ended = time.monotonic()
        running.stored_once(user, records=said)
        healed = time.monotonic() - ended
    print(f"{said} conversations, {dict(hits.count)}, healed after {healed:.0f} s")
    assert healed < 60 or seconds < 600
    audit_objects(here.context.using(settings=here.settings.changed(orphan_grace_hours=0.0)))
    assert orphans(here, [user]) == set()
