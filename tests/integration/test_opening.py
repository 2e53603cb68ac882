"""Opening files and messages: verbatim content, or an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import LostObjectError, NotFoundError
from neurigraph_pipelines.retrieval.open import (
    file_of_record,
    open_file,
    open_in_files,
    open_message,
    open_messages,
    speaker_lines,
)
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, new_user, node_rows, plain_context, schemas_of, stored

CONTENTS = (
    "plain",
    "",
    'quotes " and \\ backslashes \\u0041',
    "line\nbreaks\r\nand\ttabs \x01\x7f",
    "\u2028\u2029\ufeff\u200d\u202e",
    "🦊👩‍👩‍👧 漢字 é e\u0301",
    "'; DROP TABLE neurigraph.users; -- {schema} %s",
    "A sentence of some words. " * 1_000,
    "x" * 40_000,
    '"' * 20_000,
    "last",
)


class Opened:
    """A stored conversation of hostile messages."""

    def __init__(self, here: Installation, *contents: str) -> None:
        self.here = here
        self.user, self.claims = new_user(here)
        converse(here, self.claims, *contents)
        (record,) = stored(ingest(plain_context(here), self.user))
        self.record_id = record.record_id
        self.file_id = file_of_record(here.database, self.claims, record.record_id)
        (row,) = node_rows(
            here, schemas_of(here, self.user)["Notes"], "SELECT storage_path AS p FROM {schema}.file_manifest"
        )
        self.key: str = row["p"]

    @property
    def path(self) -> Path:
        return self.here.home / "objects" / self.key

    def whole(self) -> bytes:
        return open_file(self.here.acting_for(self.claims), self.file_id).content

    def message(self, number: int) -> str:
        here = self.here
        return open_message(here.acting_for(self.claims), self.file_id, number).content


@pytest.fixture
def opened(shared_installation: Installation) -> Opened:
    return Opened(shared_installation, *CONTENTS)


@pytest.mark.parametrize("working_copy", [True, False])
def test_opened_file_equals_input(opened: Opened, working_copy: bool) -> None:
    if not working_copy:
        opened.here.objects.delete(active_key(opened.key))
    lines = speaker_lines(opened.whole())
    assert [line["content"] for line in lines] == list(CONTENTS)
    assert [line["seq"] for line in lines] == list(range(1, len(CONTENTS) + 1))
    for number, content in enumerate(CONTENTS, start=1):
        assert opened.message(number) == content


def test_message_reads_only_its_bytes(opened: Opened) -> None:
    opened.here.objects.delete(active_key(opened.key))
    notes = schemas_of(opened.here, opened.user)["Notes"]
    (row,) = node_rows(opened.here, notes, "SELECT member_offsets AS starts FROM {schema}.file_manifest")
    assert len(row["starts"]) > 2
    data = bytearray(opened.path.read_bytes())
    data[row["starts"][1] : row["starts"][1] + 20] = bytes(20)
    opened.path.write_bytes(data)
    assert opened.message(1) == CONTENTS[0]
    assert opened.message(len(CONTENTS)) == CONTENTS[-1]
    with pytest.raises(LostObjectError, match="damaged: it is not served"):
        opened.whole()


@pytest.mark.parametrize(
    ("numbers", "reads"), [(None, 1), (range(1, 11), 1), ((1, 2, 3, 5, 6, 10), 2), ((1, 3, 5), 1), ((7, 9, 11), 3)]
)
def test_messages_near_each_other_are_read_at_once(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, numbers: Sequence[int] | None, reads: int
) -> None:
    objects, ranges = opened.here.objects, []
    read = objects.get_range

    def counted(key: str, offset: int, length: int) -> bytes:
        ranges.append((offset, length))
        return read(key, offset, length)

    monkeypatch.setattr(objects, "get_range", counted)
    found = open_messages(opened.here.acting_for(opened.claims), opened.file_id, numbers)
    wanted = range(1, len(CONTENTS) + 1) if numbers is None else numbers
    assert [(one.seq, one.content) for one in found] == [(number, CONTENTS[number - 1]) for number in wanted]
    assert len(ranges) == reads


def test_opening_updates_access_times(opened: Opened) -> None:
    schema = schemas_of(opened.here, opened.user)["Notes"]
    for read in (opened.whole, lambda: opened.message(1)):
        with opened.here.database.pipeline() as tx:
            for table in ("metadata_records", "file_manifest"):
                tx.execute(f"UPDATE \"{schema}\".{table} SET last_accessed_at = now() - interval '40 days'")
        read()
        for table in ("metadata_records", "file_manifest"):
            (row,) = node_rows(
                opened.here,
                schema,
                f"SELECT last_accessed_at > now() - interval '1 minute' AS new FROM {{schema}}.{table}",
            )
            assert row["new"], table


def test_message_of_locked_file(opened: Opened) -> None:
    here, schema = opened.here, schemas_of(opened.here, opened.user)["Notes"]
    with here.database.pipeline() as tx:
        tx.execute(f"UPDATE \"{schema}\".file_manifest SET last_accessed_at = now() - interval '40 days'")
    with here.database.pipeline() as sweep:
        lock = f'SELECT FROM "{schema}".file_manifest WHERE file_id = %s FOR NO KEY UPDATE'
        assert sweep.execute(lock, [opened.file_id]).rowcount == 1
        assert opened.message(1) == CONTENTS[0]


def test_messages_of_several_files_and_nodes(opened: Opened) -> None:
    here, claims = opened.here, opened.claims
    files = {opened.file_id: [1, 4]}
    for name in ("Harbour", "Harbour", "Garden", "Attic"):
        converse(here, claims, f"#{name} first", f"second of {name}", "third")
        (record,) = stored(ingest(plain_context(here), opened.user))
        files[file_of_record(here.database, claims, record.record_id)] = [2]
    strange = Opened(here, "not yours").file_id
    *_, untouched = files
    del files[untouched]
    without = list(files)[2]
    schemas = schemas_of(here, opened.user)
    with here.database.pipeline() as tx:
        for schema in schemas.values():
            tx.execute(f"UPDATE \"{schema}\".file_manifest SET last_accessed_at = now() - interval '40 days'")
    asked = {**files, without: [9], strange: [1]}
    found = open_in_files(here.acting_for(claims), asked)
    texts = {
        file_id: [one.content for one in each] for file_id, each in found.items() if not isinstance(each, Exception)
    }
    harbour, _, garden = list(files)[1:]
    assert texts == {
        opened.file_id: [CONTENTS[0], CONTENTS[3]],
        harbour: ["second of Harbour"],
        garden: ["second of Garden"],
        without: [],
        strange: [],
    }
    old = "SELECT file_id FROM {schema}.file_manifest WHERE last_accessed_at < now() - interval '39 days'"
    assert [row["file_id"] for schema in schemas.values() for row in node_rows(here, schema, old)] == [untouched]


def test_quarantined_file_beside_an_open_one_stays_closed(opened: Opened) -> None:
    here, claims = opened.here, opened.claims
    source_id = converse(here, claims, "poison")
    (record,) = stored(ingest(plain_context(here), opened.user))
    held = file_of_record(here.database, claims, record.record_id)
    quarantine(here.acting_for(claims), QuarantineRule(source_id=source_id), "a test")
    found = open_in_files(here.acting_for(claims), {held: [1], opened.file_id: [1]})
    texts = {
        file_id: [one.content for one in each] for file_id, each in found.items() if not isinstance(each, Exception)
    }
    assert texts == {held: [], opened.file_id: [CONTENTS[0]]}


def test_sql_alone_opens_nothing(opened: Opened) -> None:
    here, schema = opened.here, schemas_of(opened.here, opened.user)["Notes"]
    with here.database.pipeline() as tx:
        tx.execute(f"UPDATE \"{schema}\".file_manifest SET last_accessed_at = now() - interval '40 days'")
    _, stranger = new_user(here)
    statement = sql.SQL("SELECT * FROM neurigraph.open_transcripts(ARRAY[%(file_id)s]::uuid [], 900)")
    for claims in (None, stranger):
        assert here.database.ask(claims, statement, {"file_id": opened.file_id}) == []
    clock = "SELECT last_accessed_at < now() - interval '39 days' AS old FROM {schema}.file_manifest"
    assert node_rows(here, schema, clock) == [{"old": True}]
    assert len(here.database.ask(opened.claims, statement, {"file_id": opened.file_id})) == 1
    assert node_rows(here, schema, clock) == [{"old": False}]


def test_failed_open_changes_nothing(opened: Opened) -> None:
    """The connection returns to its pool without the caller's claims."""
    database = opened.here.database
    with pytest.raises(psycopg.errors.DivisionByZero):
        database.ask(opened.claims, sql.SQL("SELECT 1 / %(zero)s::integer"), {"zero": 0})
    assert database.ask(None, sql.SQL("SELECT neurigraph.asking_user_id() AS who"), {}) == [{"who": None}]


# What is not served


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[60] ^= 0x10
    path.write_bytes(data)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _replace(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, _replace, Path.unlink])
def test_damaged_or_missing_object_is_not_served(
    shared_installation: Installation, damage: Callable[[Path], None]
) -> None:
    opened = Opened(shared_installation, "a message of some length that is all there is in the only member of it")
    opened.here.objects.delete(active_key(opened.key))
    damage(opened.path)
    with pytest.raises(LostObjectError):
        opened.whole()
    with pytest.raises(LostObjectError):
        opened.message(1)


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, _replace, Path.unlink])
def test_damaged_working_copy_is_replaced(shared_installation: Installation, damage: Callable[[Path], None]) -> None:
    opened = Opened(shared_installation, "first", "the last message, at the end of the copy")
    damage(opened.here.home / "objects" / active_key(opened.key))
    assert opened.message(2) == "the last message, at the end of the copy"


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, _replace, Path.unlink])
def test_intact_working_copy_serves_and_repairs(
    shared_installation: Installation, damage: Callable[[Path], None]
) -> None:
    opened = Opened(shared_installation, *CONTENTS)
    whole = opened.path.read_bytes()
    damage(opened.path)
    assert [opened.message(number) for number in (1, len(CONTENTS))] == [CONTENTS[0], CONTENTS[-1]]
    assert opened.path.read_bytes() == whole


def test_errors_of_lost_objects_name_the_file_alone(shared_installation: Installation) -> None:
    """No face shows the owner's name or a place in the graph, which the key of an object holds."""
    here = shared_installation
    opened = Opened(here, "what nobody reads again")
    here.objects.delete(active_key(opened.key))
    opened.path.unlink()
    reached = here.acting_for(opened.claims)
    headers = {"Authorization": f"Bearer {issue_api_key(here.database, opened.user.user_id)}"}
    with serving(here) as base:
        place = f"{base}/v1/files/{opened.file_id}"
        calls = [("POST", f"{place}/open"), ("POST", f"{place}/open?message=1"), ("GET", place)]
        answers = [httpx.request(method, address, headers=headers).text for method, address in calls]
    with pytest.raises(LostObjectError) as lost:
        open_message(reached, opened.file_id, 1)
    for text in (*answers, str(lost.value)):
        assert f"the object of file {opened.file_id} is missing" in text, text
        assert not any(word in text for word in ("durable/", opened.user.slug, "/notes/")), text


def test_absent_equals_foreign(opened: Opened) -> None:
    here = opened.here
    _, stranger = new_user(here)
    refusals = set()
    for claims, file_id, record_id in (
        (stranger, opened.file_id, opened.record_id),
        (stranger, uuid4(), uuid4()),
        (opened.claims, uuid4(), uuid4()),
    ):
        for ask in (
            lambda c=claims, f=file_id: open_file(here.acting_for(c), f),
            lambda c=claims, f=file_id: open_message(here.acting_for(c), f, 1),
            lambda c=claims, r=record_id: file_of_record(here.database, c, r),
        ):
            with pytest.raises(NotFoundError) as caught:
                ask()
            refusals.add(str(caught.value))
    assert len(refusals) == 1


@pytest.mark.parametrize("number", [0, -1, 12, 2_147_483_647])
def test_absent_message_is_not_found(opened: Opened, number: int) -> None:
    with pytest.raises(NotFoundError):
        opened.message(number)


@pytest.mark.parametrize("role", ["persona", "third_party"])
def test_other_roles_open_nothing(opened: Opened, role: str) -> None:
    claims = Claims("someone", role, opened.user.user_id)
    with pytest.raises(NotFoundError):
        open_file(opened.here.acting_for(claims), opened.file_id)
