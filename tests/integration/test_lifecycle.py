"""Compression states of a file: transitions, the state log and the node's shell."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant, sweep_expired
from neurigraph_pipelines.model.errors import LostObjectError
from neurigraph_pipelines.retrieval.open import open_message
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import StoredFile, store_file
from tests.support.memories import new_user, rows
from tests.support.transitions import compress, start_rehydration


@pytest.fixture
def file(shared_installation: Installation) -> StoredFile:
    return store_file(shared_installation)


def sweep_days(file: StoredFile, *, dry_run: bool = False) -> int:
    here, user_id = file.here, file.user.user_id
    return sweep_dormant(here.context, user_id=user_id, dry_run=dry_run).files


def sweep_ttl(file: StoredFile, *, dry_run: bool = False) -> int:
    here, user_id = file.here, file.user.user_id
    return sweep_expired(here.context, user_id=user_id, dry_run=dry_run).files


# The cycle of states


def test_file_compress_and_rehydrate(file: StoredFile) -> None:
    text = file.open().content
    assert (file.state, file.node["compression_state"], file.events) == ("active", "active", ["decompressed"])
    assert (sweep_days(file), sweep_ttl(file)) == (0, 0)
    file.age(31)
    assert sweep_days(file) == 1
    assert (file.state, file.node["compression_state"]) == ("dormant", "dormant")
    assert not file.here.objects.exists(file.copy)
    assert file.open().content == text
    assert (file.state, file.node["compression_state"]) == ("active", "active")
    assert file.here.objects.exists(file.copy)
    assert file.node["next_recompress_at"] == file.row["recompress_after"]
    assert sweep_ttl(file) == 0
    file.age(1)
    assert sweep_ttl(file) == 1
    assert (file.state, file.row["recompress_after"], file.node["next_recompress_at"]) == ("dormant", None, None)
    assert file.events == ["decompressed", "compressed", "rehydrating", "decompressed", "recompressed"]
    causes = rows(
        file.here,
        "SELECT triggered_by AS c FROM neurigraph.compression_state_log WHERE file_id = %s ORDER BY entry",
        file.file_id,
    )
    assert [row["c"] for row in causes] == ["scheduler", "scheduler", "retrieval", "retrieval", "ttl_expiry"]


def test_opening_extends_active_time(file: StoredFile) -> None:
    compress(file)
    file.open()
    due = file.row["recompress_after"]
    file.open()
    assert file.row["recompress_after"] > due
    file.age(1)
    file.open()
    assert sweep_ttl(file) == 0, "the node is due, the file is not"
    assert file.node["next_recompress_at"] == file.row["recompress_after"]


def test_opening_keeps_later_due_time(file: StoredFile) -> None:
    file.open()
    assert file.row["recompress_after"] is None
    file.age(29)
    assert (sweep_ttl(file), sweep_days(file)) == (0, 0)
    file.open()
    file.age(29)
    assert sweep_days(file) == 0


def test_touch_resets_clock(file: StoredFile) -> None:
    here = file.here
    file.age(31)
    state = control.touch(here.acting_for(file.claims), file.file_id)
    assert state.last_accessed_at > datetime.now(UTC) - timedelta(minutes=1)
    assert sweep_days(file) == 0
    compress(file)
    assert control.touch(here.acting_for(file.claims), file.file_id).state == "dormant"
    assert file.events == ["decompressed", "compressed"]


def test_node_in_use_keeps_files_active(file: StoredFile) -> None:
    with file.here.database.pipeline() as tx:
        tx.execute(
            f"UPDATE \"{file.place.schema_name}\".file_manifest SET last_accessed_at = now() - interval '1 year'"
        )
    assert sweep_days(file) == 0


def test_dry_run_changes_nothing(file: StoredFile) -> None:
    file.age(31)
    assert [sweep_days(file, dry_run=True) for _ in range(2)] == [1, 1]
    compress(file)
    file.open()
    file.age(1)
    assert [sweep_ttl(file, dry_run=True) for _ in range(2)] == [1, 1]
    assert file.events == ["decompressed", "compressed", "rehydrating", "decompressed"]


def test_sweeps_are_bounded_and_resume(shared_installation: Installation) -> None:
    here = shared_installation
    user = new_user(here)
    files = [store_file(here, f"#Notes/N{number} words", user=user) for number in range(5)]
    for file in files:
        file.age(31)
    reports = [sweep_dormant(here.context, user_id=user[0].user_id, limit=2) for _ in range(4)]
    assert [(report.files, report.finished) for report in reports] == [(2, False), (2, False), (1, True), (0, True)]
    assert {file.state for file in files} == {"dormant"}


def test_node_state_follows_files(shared_installation: Installation) -> None:
    here = shared_installation
    user = new_user(here)
    first, second = (store_file(here, "#Notes words", text, user=user) for text in ("one", "two"))
    compress(first)
    assert first.node["compression_state"] == "active"
    compress(second)
    assert first.node["compression_state"] == "dormant"
    start_rehydration(first)
    assert first.node["compression_state"] == "rehydrating"
    second.open()
    assert first.node["compression_state"] == "rehydrating"
    third = store_file(here, "#Notes words", "three", user=user)
    assert (third.node["node_id"], third.node["compression_state"]) == (first.node["node_id"], "rehydrating")
    state = control.node_state(here.database, user[1], first.place.node_id)
    assert (state.active_files, state.rehydrating_files, state.dormant_files) == (2, 1, 0)


def test_dormant_node_becomes_active(file: StoredFile) -> None:
    compress(file)
    store_file(file.here, "#Notes one more", user=(file.user, file.claims))
    assert file.node["compression_state"] == "active"


# What the database refuses
STATES = ("active", "dormant", "rehydrating")


POSSIBLE = {
    ("active", "dormant"),
    ("dormant", "rehydrating"),
    ("rehydrating", "active"),
    ("rehydrating", "dormant"),
}


def bring(file: StoredFile, state: str) -> None:
    if state != "active":
        compress(file)
    if state == "rehydrating":
        start_rehydration(file)


@pytest.mark.parametrize(("left", "entered"), list(itertools.permutations(STATES, 2)))
@pytest.mark.parametrize("role", ["pipeline", "owner"])
def test_only_four_transitions(file: StoredFile, left: str, entered: str, role: str) -> None:
    bring(file, left)
    before = file.events

    def step() -> None:
        with getattr(file.here.database, role)() as tx:
            tx.execute("SELECT set_config('neurigraph.compression_cause', 'manual', true)")
            tx.execute(
                f'UPDATE "{file.place.schema_name}".file_manifest SET compression_state = %s, '
                "last_failure = 'why', recompress_after = CASE WHEN %s = 'active' THEN now() END, "
                "lease = CASE WHEN %s = 'rehydrating' THEN tstzrange(now(), NULL) END, "
                "lease_holder = CASE WHEN %s = 'rehydrating' THEN file_id END",
                [entered] * 4,
            )

    if (left, entered) in POSSIBLE:
        step()
        assert (file.state, len(file.events)) == (entered, len(before) + 1)
    else:
        with pytest.raises(psycopg.errors.CheckViolation, match=f"is {left} does not become {entered}"):
            step()
        assert (file.state, file.events) == (left, before)


def test_state_change_needs_cause(file: StoredFile) -> None:
    with pytest.raises(psycopg.errors.NotNullViolation, match="triggered_by"):
        file.set(compression_state="dormant")
    assert file.state == "active"


def test_state_log_is_written_by_triggers_only(file: StoredFile) -> None:
    entry = (
        "INSERT INTO neurigraph.compression_state_log (user_id, file_id, node_id, event_type, triggered_by) "
        "VALUES (%s, %s, %s, 'compressed', 'manual')"
    )
    values = [file.user.user_id, file.file_id, file.place.node_id]
    for transaction in (file.here.database.pipeline(), file.here.database.agent(file.claims)):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), transaction as tx:
            tx.execute(entry, values)


def test_new_file_is_active(file: StoredFile) -> None:
    columns = ("file_name", "file_type", "storage_path", "compression_format", "size_bytes", "stored_bytes")
    names = sql.SQL(", ").join(map(sql.Identifier, ("record_id", *columns, "stored_sha256")))
    statement = sql.SQL(
        "INSERT INTO {table} (file_id, compression_state, {names}) "
        "SELECT gen_random_uuid(), 'dormant', {names} FROM {table}"
    ).format(table=sql.Identifier(file.place.schema_name, "file_manifest"), names=names)
    with (
        pytest.raises(psycopg.errors.CheckViolation, match="new file is active"),
        file.here.database.pipeline() as tx,
    ):
        tx.execute(statement)


@pytest.mark.parametrize(
    ("state", "complaint"), [("dormant", "needs last_failure"), ("active", "needs recompress_after")]
)
def test_rehydration_needs_reason_or_time(file: StoredFile, state: str, complaint: str) -> None:
    bring(file, "rehydrating")
    with pytest.raises(psycopg.errors.CheckViolation, match=complaint):
        file.set(compression_state=state)


@pytest.mark.parametrize("columns", [{"recompress_after": datetime.now(UTC)}, {"lease_holder": uuid4()}])
def test_state_columns_fit_state(file: StoredFile, columns: dict[str, object]) -> None:
    compress(file)
    with pytest.raises(psycopg.errors.CheckViolation):
        file.set(**columns)


# Clocks


@pytest.mark.parametrize("days", [-3_650, -40, -2, 2, 40, 3_650])
def test_wrong_clock_is_harmless(file: StoredFile, days: float) -> None:
    """What was written by a clock that was ahead, or behind, by so many days."""
    text = file.open().content
    file.age(days)
    sweep_days(file)
    assert file.open().content == text
    compress(file)
    file.open()
    file.age(days)
    assert sweep_ttl(file) == 1, "due, or due later than anything can be"
    assert file.open().content == text
    assert file.events[-1] == "decompressed"


def test_node_due_time_with_clock_set_back(file: StoredFile) -> None:
    compress(file)
    file.open()
    file.age(-40)
    assert file.node["next_recompress_at"] > datetime.now(UTC) + timedelta(days=39)
    file.open()
    assert file.node["next_recompress_at"] == file.row["recompress_after"] < datetime.now(UTC) + timedelta(days=1)


# Damage


def damage(file: StoredFile, key: str) -> None:
    file.here.objects.put(key, [b"something else"])


@pytest.mark.parametrize("way", ["gone", "damaged"])
def test_lost_working_copy_is_restored(file: StoredFile, way: str) -> None:
    text = file.open().content
    file.here.objects.delete(file.copy) if way == "gone" else damage(file, file.copy)
    assert file.open().content == text
    assert b"".join(file.here.objects.get(file.copy)) == text
    assert file.events == ["decompressed"]


@pytest.mark.parametrize("way", ["gone", "damaged"])
@pytest.mark.parametrize("state", ["active", "dormant"])
def test_damaged_object_is_not_served(file: StoredFile, way: str, state: str) -> None:
    bring(file, state)
    whole = b"".join(file.here.objects.get(file.key))
    file.here.objects.delete(file.copy)
    file.here.objects.delete(file.key) if way == "gone" else damage(file, file.key)
    for _ in range(2):
        with pytest.raises(LostObjectError, match=f"the object of file {file.file_id} is (missing|damaged)"):
            file.open()
        assert file.state == state
    failures = file.events.count("failed")
    assert failures == (1 if state == "active" else 2), "a file that was read again and again is logged once"
    assert not file.here.objects.exists(file.copy)
    report = control.file_state(file.here.database, file.claims, file.file_id)
    assert report.last_failure is not None
    assert next(change.error for change in report.history if change.event == "failed") == report.last_failure
    file.here.objects.put(file.key, [whole])  # somebody brought it back
    assert file.open().content
    if state == "dormant":
        assert control.file_state(file.here.database, file.claims, file.file_id).last_failure is None


@pytest.mark.parametrize("way", ["gone", "damaged"])
def test_last_copy_is_not_dropped(file: StoredFile, way: str) -> None:
    text = file.open().content
    file.here.objects.delete(file.key) if way == "gone" else damage(file, file.key)
    with pytest.raises(LostObjectError):
        compress(file)
    file.age(31)
    report = sweep_dormant(file.here.context, user_id=file.user.user_id)
    assert (report.files, list(report.failures)) == (0, [file.file_id])
    assert (file.state, file.events) == ("active", ["decompressed", "failed"])
    assert file.open().content == text


# Manual compression and touch


def test_compress_is_idempotent(file: StoredFile) -> None:
    compress(file)
    compress(file)
    assert file.events == ["decompressed", "compressed"]
    state = control.file_state(file.here.database, file.claims, file.file_id)
    assert [(change.event, change.triggered_by) for change in state.history] == [
        ("compressed", "manual"),
        ("decompressed", "scheduler"),
    ]


def test_message_read_keeps_file_dormant(file: StoredFile) -> None:
    compress(file)
    here = file.here
    assert open_message(here.acting_for(file.claims), file.file_id, 1).content == "#Notes Hello."
    assert file.events == ["decompressed", "compressed"]
