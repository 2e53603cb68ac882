"""Verification: findings, repairs, and removal of leftovers."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.lifecycle.object_keys import active_key, durable_key
from neurigraph_pipelines.lifecycle.orphans import OrphanReport, audit_objects, guard_objects
from neurigraph_pipelines.lifecycle.storage_report import storage_report
from neurigraph_pipelines.lifecycle.verification import Fault, Verification, verify, verify_sample
from neurigraph_pipelines.model.errors import AbsentObjectError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import StoredFile, all_keys, store_file
from tests.support.memories import new_user
from tests.support.segments import segments_of


@pytest.fixture
def file(shared_installation: Installation) -> StoredFile:
    return store_file(shared_installation)


def look(file: StoredFile, *, repair: bool = False, read: bool = True) -> Verification:
    return verify(file.here.context, user_id=file.user.user_id, repair=repair, read=read)


def faults(file: StoredFile, *, repair: bool = False, read: bool = True) -> list[tuple[str, bool]]:
    return [(finding.fault.value, finding.repaired) for finding in look(file, repair=repair, read=read).findings]


def put_to_sleep(file: StoredFile) -> None:
    control.compress(file.here.acting_for(file.claims), file.file_id)


def as_owner(file: StoredFile, statement: str, *values: object) -> None:
    """Damage rows behind the triggers' back."""
    with psycopg.connect(file.here.administrator_url) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(sql.SQL(statement).format(schema=sql.Identifier(file.place.schema_name)), values)


def test_intact_data_has_no_findings(file: StoredFile) -> None:
    for change in (lambda: None, lambda: put_to_sleep(file), lambda: file.open()):
        change()
        found = look(file)
        assert (found.findings, found.files, found.passages) == ([], 1, 17)
        assert found.bytes_read == file.row["size_bytes"]
        assert found.nodes == 2
        assert faults(file, read=False) == []


def _spoil(file: StoredFile, key: str) -> None:
    file.here.objects.put(key, [b"something else"])


OBJECTS: dict[str, tuple[Callable[[StoredFile], None], Fault, bool]] = {
    "working copy gone": (lambda f: f.here.objects.delete(f.copy), Fault.WORKING_COPY, True),
    "working copy damaged": (lambda f: _spoil(f, f.copy), Fault.WORKING_COPY, True),
    "durable object gone": (lambda f: f.here.objects.delete(f.key), Fault.OBJECT, True),
    "durable object damaged": (lambda f: _spoil(f, f.key), Fault.OBJECT, True),
}


@pytest.mark.parametrize("case", OBJECTS)
def test_wrong_object_is_repaired(file: StoredFile, case: str) -> None:
    spoil, fault, mendable = OBJECTS[case]
    text = file.open().content
    stored = b"".join(file.here.objects.get(file.key))
    spoil(file)
    assert faults(file) == [(fault, False)]
    assert faults(file, repair=True) == [(fault, mendable)]
    assert faults(file) == []
    assert b"".join(file.here.objects.get(file.key)) == stored
    assert file.open().content == text
    assert file.events == ["decompressed"] + ["failed"] * (fault is Fault.OBJECT)
    assert file.row["last_failure"] is None


def test_quick_check_reads_no_content(file: StoredFile) -> None:
    _spoil(file, file.key)
    assert faults(file, read=False) == []
    file.here.objects.delete(file.key)
    assert faults(file, read=False) == [(Fault.OBJECT, False)]


def test_lost_object_stays_a_finding(file: StoredFile) -> None:
    put_to_sleep(file)
    _spoil(file, file.key)
    assert faults(file, repair=True) == faults(file) == [(Fault.OBJECT, False)]
    assert file.events == ["decompressed", "compressed", "failed"]


def test_object_that_cannot_be_written_stops_no_other_repair(file: StoredFile) -> None:
    place = file.here.home / "objects" / file.key
    place.unlink()
    (place / "in the way").mkdir(parents=True)
    assert faults(file, repair=True) == [(Fault.OBJECT, False)]
    assert file.open().content, "from the copy"
    (place / "in the way").rmdir()
    place.rmdir()
    assert faults(file, repair=True) == [(Fault.OBJECT, True)]


def test_dormant_working_copy_is_leftover(file: StoredFile) -> None:
    put_to_sleep(file)
    file.here.objects.put(file.copy, [b"left by a crash"])
    assert faults(file, repair=True) == [(Fault.LEFT_OVER_COPY, True)]
    assert not file.here.objects.exists(file.copy)


def test_left_over_copy_is_the_last_one(file: StoredFile) -> None:
    content = b"".join(file.here.objects.get(file.copy))
    put_to_sleep(file)
    file.here.objects.put(file.copy, [b"left by a crash"])
    file.here.objects.delete(file.key)
    assert (Fault.LEFT_OVER_COPY, False) in faults(file, repair=True)
    file.here.objects.put(file.copy, [content])
    assert faults(file, repair=True) == [(Fault.OBJECT, True), (Fault.LEFT_OVER_COPY, True)]
    assert faults(file) == []


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE {schema}.file_manifest SET size_bytes = size_bytes + 1", Fault.MANIFEST),
        ("UPDATE neurigraph.segments SET content = substr(content, 2) WHERE record_id = %s", Fault.PASSAGE),
        ("UPDATE neurigraph.segments SET vectors = substr(vectors, 2) WHERE record_id = %s", Fault.PASSAGE),
        ("UPDATE neurigraph.segments SET words = words - 1 WHERE record_id = %s", Fault.PASSAGE),
        ("UPDATE neurigraph.segments SET passages = passages + 1 WHERE record_id = %s", Fault.PASSAGE),
        ("UPDATE {schema}.metadata_records SET file_pointer = 'nowhere'", Fault.REGISTRY),
        ("UPDATE {schema}.metadata_records SET content_hash = sha256('')", Fault.REGISTRY),
        ("UPDATE {schema}.metadata_records SET kw_topics = '{{other}}'", Fault.REGISTRY),
        ("DELETE FROM {schema}.file_manifest", Fault.REGISTRY),
        ("UPDATE {schema}.file_manifest SET file_id = gen_random_uuid()", Fault.REGISTRY),
        ("UPDATE {schema}.file_manifest SET compression_state = 'dormant'", Fault.LOG),
        ("UPDATE {schema}.metadata_records SET embedding_model = 'other'", Fault.COUNTER),
    ],
)
def test_wrong_rows_are_reported(file: StoredFile, statement: str, fault: Fault) -> None:
    as_owner(file, statement, *[file.row["record_id"]] * statement.count("%s"))
    found = faults(file, repair=True)
    assert (fault.value, False) in found
    assert (fault.value, True) not in found


@pytest.mark.parametrize(("row", "offset"), [(0, -1), (1, 10_000_000)])
def test_passage_elsewhere_is_reported(file: StoredFile, row: int, offset: int) -> None:
    (stored,) = segments_of(file.here, file.user).values()
    moved = stored.segment.rows.copy()
    moved["byte_offset"][row] += offset
    content = stored.segment._replace(rows=moved).content
    as_owner(file, "UPDATE neurigraph.segments SET content = %s WHERE record_id = %s", content, file.row["record_id"])
    assert faults(file, repair=True) == [(Fault.PASSAGE, False)]


def test_content_of_another_digest_is_reported(file: StoredFile) -> None:
    """The object is what was written, and of the right size; its manifest names another content."""
    put_to_sleep(file)
    assert faults(file) == []
    as_owner(file, "UPDATE {schema}.file_manifest SET content_sha256 = sha256('something else')")
    assert faults(file) == [(Fault.MANIFEST, False)]


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        ("UPDATE neurigraph.graph_index SET record_count = 7 WHERE node_id = %s", Fault.COUNTER),
        ("UPDATE neurigraph.graph_index SET compression_state = 'dormant' WHERE node_id = %s", Fault.SHELL_STATE),
        ("UPDATE neurigraph.graph_index SET next_recompress_at = NULL WHERE node_id = %s", Fault.SHELL_STATE),
    ],
)
def test_wrong_shell_is_repaired(file: StoredFile, statement: str, fault: Fault) -> None:
    put_to_sleep(file)
    file.open()
    before = file.node
    as_owner(file, statement, file.place.node_id)
    assert faults(file) == [(fault, False)]
    assert faults(file, repair=True) == [(fault, True)]
    assert faults(file) == []
    assert file.node == before


def test_sample_finds_bad_file(installation: Installation) -> None:
    files = [store_file(installation, f"number {number}") for number in range(3)]
    assert verify_sample(installation.context, 2).files == 2
    _spoil(files[1], files[1].key)
    found = verify_sample(installation.context)
    assert (found.files, [finding.subject for finding in found.findings]) == (3, [files[1].file_id])


def test_verify_during_transitions_finds_nothing(installation: Installation) -> None:
    file = store_file(installation)
    for _ in range(5):
        put_to_sleep(file)
        assert look(file).findings == []
        file.open()


# Objects without a row


def audit(here: Installation, hours: float = 0.0, *, dry_run: bool = False) -> OrphanReport:
    settings = here.settings.changed(orphan_grace_hours=hours)
    return audit_objects(here.context.using(settings=settings), dry_run=dry_run)


def test_orphans_are_removed(installation: Installation) -> None:
    here = installation
    files = [store_file(here, f"number {number}") for number in range(3)]
    put_to_sleep(files[0])
    kept = list(here.objects.keys())
    orphans = [
        durable_key(files[1].user.slug, ("Notes",), uuid4(), uuid4()),
        durable_key(files[1].user.slug, ("Notes",), files[1].row["record_id"], uuid4()),
    ]
    orphans = sorted([*orphans, *map(active_key, orphans), files[0].copy])
    foreign = ["active/a-note", "durable/somebody/put/this.here"]
    for key in (*orphans, *foreign):
        here.objects.put(key, [b"x"])
    report = audit(here, hours=1)
    assert (report.removed, report.young, sorted(report.orphans)) == (0, 5, orphans)
    assert sorted(audit(here, dry_run=True).orphans) == orphans
    assert sorted(here.objects.keys()) == sorted([*kept, *orphans, *foreign])
    report = audit(here)
    assert (report.removed, sorted(report.orphans), sorted(report.foreign)) == (5, orphans, sorted(foreign))
    assert sorted(here.objects.keys()) == sorted([*kept, *foreign])
    assert audit(here).orphans == []
    for file in files:
        assert file.open().content


def test_audit_is_bounded_and_resumes(installation: Installation) -> None:
    for _ in range(3):
        installation.objects.put(durable_key("bob", (), uuid4(), uuid4()), [b"x"])
    settings = installation.settings.changed(orphan_grace_hours=0)
    reports = [audit_objects(installation.context.using(settings=settings), limit=2) for _ in range(2)]
    assert [(report.removed, report.finished) for report in reports] == [(2, False), (1, True)]


def test_new_object_is_not_removed(file: StoredFile) -> None:
    """An audit waits for the transaction that names an object and checks again, independent of clocks."""
    here, record_id = file.here, uuid4()
    key = durable_key(file.user.slug, ("Notes",), record_id, uuid4())
    here.objects.put(key, [b"x"])
    with here.database.pipeline() as tx:
        guard_objects(tx, here.objects, {record_id: [key]})
        with here.database.owner() as other:
            other.execute("SET LOCAL lock_timeout = '200ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(statements("lifecycle")["lock_objects"], {"record_id": record_id})
    assert key in audit(here).orphans
    with pytest.raises(AbsentObjectError, match="writes it again"), here.database.pipeline() as tx:
        guard_objects(tx, here.objects, {record_id: [key]})


# What files occupy


def test_report_adds_up(installation: Installation) -> None:
    user = new_user(installation)
    texts = [f"#Notes/N{number} " + "many words " * 400 for number in range(2)]
    awake, asleep = (store_file(installation, text, user=user) for text in texts)
    other = store_file(installation)
    put_to_sleep(asleep)
    report = {user.slug: user for user in storage_report(installation.database)}
    totals = report[user[0].slug].totals
    assert (totals.files, totals.active_files, totals.dormant_files) == (2, 1, 1)
    sizes = {name: [f.row[f"{name}_bytes"] for f in (awake, asleep)] for name in ("size", "stored")}
    assert totals.content_bytes == sum(sizes["size"])
    assert totals.active_bytes == sizes["stored"][0] + sizes["size"][0]
    assert totals.dormant_bytes == sizes["stored"][1]
    assert totals.saved_bytes == sizes["size"][1] - sum(sizes["stored"])
    assert [node.path for node in report[user[0].slug].nodes] == [f"{user[0].slug}/Notes/N{n}" for n in range(2)]
    occupied = sum(
        len(b"".join(installation.objects.get(key))) for key in all_keys(installation) if user[0].slug in key
    )
    assert occupied == totals.active_bytes + totals.dormant_bytes
    assert [u.slug for u in storage_report(installation.database, user_id=other.user.user_id)] == [other.user.slug]
    state = control.node_state(installation.database, user[1], asleep.place.node_id)
    assert (state.state, state.saved_bytes) == ("dormant", sizes["size"][1] - sizes["stored"][1])
