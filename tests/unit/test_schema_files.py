"""The files of the schema as the runner reads them: their order, parts, digest and migrations."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from neurigraph_pipelines.database.schema import FIRST, SHIPPED, Migration, Schema, Script
from neurigraph_pipelines.database.statements import SQL_ROOT

FROM = f"-- from: {'0' * 64}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the project's files."""
    return Path(shutil.copytree(SQL_ROOT, tmp_path / "sql"))


def edit(folder: Path, path: str, old: str, new: str) -> str:
    """Change one file of the folder, and return the digest of the schema that it makes then."""
    text = (folder / path).read_text()
    assert text.count(old) == 1
    (folder / path).write_text(text.replace(old, new))
    return Schema(folder).digest


def test_each_table_has_a_file_with_its_name() -> None:
    made = {script.name: re.findall(r"^CREATE TABLE \w+\.(\w+)", script.text, re.M) for script in SHIPPED.base[1:]}
    assert made == {f"tables/{name}": [name] for name in SHIPPED.tables}
    assert all(SHIPPED.tables.values())


def test_what_can_be_replaced_stands_in_the_second_part() -> None:
    first = r"^(CREATE (OR REPLACE )?(FUNCTION|TRIGGER|CONSTRAINT TRIGGER|POLICY))"
    assert [one.name for one in SHIPPED.base if one.name != "types" and re.search(first, one.text, re.M)] == []
    second = r"^(CREATE (TABLE|INDEX|UNIQUE|TYPE|FUNCTION|TRIGGER)|INSERT|UPDATE|DELETE|GRANT (?!EXECUTE))"
    assert [one.name for one in SHIPPED.routines if re.search(second, one.text, re.M)] == []


def test_every_guarded_table_has_the_policies_of_pipeline_and_owner() -> None:
    guarded = {one.name for one in SHIPPED.base if "ENABLE ROW LEVEL SECURITY" in one.text}
    seen_with_records = {"tables/segments"}
    policies = {"pipeline_all": guarded, "own_rows": guarded - seen_with_records, "of_record": seen_with_records}
    for policy, tables in policies.items():
        assert {one.name for one in SHIPPED.routines if f"CREATE POLICY {policy} ON" in one.text} == tables


def test_table_with_triggers_says_what_a_write_sets_off() -> None:
    parts = [one for one in SHIPPED.routines if one.name.startswith("tables/")]
    said = {one.name for one in parts if one.text.startswith("\n-- A write sets off ")}
    assert said == {one.name for one in parts if re.search(r"^CREATE .*TRIGGER ", one.text, re.M)}


def test_table_without_a_place_in_the_order_is_refused(folder: Path) -> None:
    (folder / "tables" / "more.sql").write_text("CREATE TABLE neurigraph.more (\n);\n")
    with pytest.raises(ValueError, match=r"order\.txt names other tables"):
        _ = Schema(folder).base


def test_digest_follows_tables_alone(folder: Path) -> None:
    assert edit(folder, "tables/users.sql", "-- The owners of graphs", "-- Those who own graphs") == SHIPPED.digest
    assert edit(folder, "tables/users.sql", "    slug text NOT NULL", "  slug  text NOT NULL") == SHIPPED.digest
    policy = "CREATE POLICY pipeline_all ON neurigraph.users TO neurigraph_pipeline USING (true) WITH CHECK (true);"
    assert edit(folder, "tables/users.sql", policy, "") == SHIPPED.digest
    assert [one.name for one in Schema(folder).routines if one not in SHIPPED.routines] == ["tables/users"]
    assert edit(folder, "tables/users.sql", "text NOT NULL UNIQUE", "text UNIQUE") != SHIPPED.digest
    assert edit(folder, "tables/users.sql", "text UNIQUE", "text NOT NULL UNIQUE") == SHIPPED.digest
    assert edit(folder, "node.sql", "    title text,", "    title text UNIQUE,") != SHIPPED.digest


def test_migration_starts_at_the_schema_before(folder: Path) -> None:
    assert (SHIPPED.newest, SHIPPED.digest_at(SHIPPED.newest)) == (FIRST + len(SHIPPED.migrations), SHIPPED.digest)
    (folder / "migrations" / f"{SHIPPED.newest + 1:04d}_one.sql").write_text(FROM + "SELECT 1;")
    (folder / "migrations" / f"{SHIPPED.newest + 2:04d}_two.sql").write_text(
        FROM + "ALTER TABLE {schema}.file_manifest;"
    )
    later = Schema(folder)
    one, two = later.migrations[-2:]
    assert (one.number, one.starts_at, one.is_of_nodes) == (SHIPPED.newest + 1, "0" * 64, False)
    assert two.is_of_nodes
    assert (later.newest, later.digest_at(two.number)) == (two.number, later.digest)
    assert (later.digest_at(SHIPPED.newest), later.digest_at(21)) == ("0" * 64, None)


@pytest.mark.parametrize(
    ("names", "start", "complaint"),
    [
        ([f"{FIRST + 1:04d}_one.sql", f"{FIRST + 3:04d}_three.sql"], FROM, "count up"),
        ([f"{FIRST + 2:04d}_two.sql"], FROM, "count up"),
        ([f"{FIRST + 1:04d}_one.sql", f"{FIRST + 1:04d}_uno.sql"], FROM, "count up"),
        (["74_one.sql"], FROM, "is not named"),
        ([f"{FIRST + 1:04d}_One.sql"], FROM, "is not named"),
        ([f"{FIRST + 1:04d}_one.sql"], "-- from: there\n", "does not begin with"),
        ([f"{FIRST + 1:04d}_one.sql"], "", "does not begin with"),
    ],
)
def test_wrong_migrations_are_refused(folder: Path, names: list[str], start: str, complaint: str) -> None:
    for name in names:
        (folder / "migrations" / name).write_text(f"{start}SELECT 1;")
    with pytest.raises(ValueError, match=complaint):
        _ = Schema(folder).migrations


def test_checksum_detects_changes() -> None:
    assert Migration("one", "SELECT 1", 1, "").checksum == Script("two", "SELECT 1").checksum
    assert Migration("one", "SELECT 1", 1, "").checksum != Migration("one", "SELECT 1 ", 1, "").checksum


def test_there_are_few_trigger_functions() -> None:
    """Triggers do only what holds for every writer: a new one needs a reason, and an old one to give way."""
    found = [name for one in SHIPPED.routines for name in re.findall(r"FUNCTION (\S+)\(\) RETURNS trigger", one.text)]
    assert 10 < len(found) <= 25
