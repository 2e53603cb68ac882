"""The SQL folder as the code reads it: query names, placeholders, migration numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from neurigraph_pipelines.database import statements as module
from neurigraph_pipelines.database.statements import (
    BASELINE,
    SQL_ROOT,
    Migration,
    Statements,
    newest,
    numbered,
    statements,
)

CONCERNS = sorted(path.stem for path in (SQL_ROOT / "queries").glob("*.sql"))
PACKAGE = Path(module.__file__).parents[1]


@pytest.fixture
def sql_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Another folder of SQL, read in place of the project's own."""
    (tmp_path / "queries").mkdir()
    (tmp_path / "shared").mkdir()
    monkeypatch.setattr(module, "SQL_ROOT", tmp_path)
    numbered.cache_clear()
    yield tmp_path
    numbered.cache_clear()


@pytest.mark.parametrize("concern", CONCERNS)
def test_all_queries_are_parsed(concern: str) -> None:
    text = (SQL_ROOT / "queries" / f"{concern}.sql").read_text()
    queries = statements(concern)
    assert list(queries) == re.findall(r"-- name: (\S+)", text)
    for name, query in queries.items():
        body = query.as_string()
        assert body, name
        assert not body.endswith(";"), name
        assert ";" not in re.sub(r"--.*|'[^']*'", "", body), f"{name} holds two statements"


@pytest.mark.parametrize("concern", CONCERNS)
def test_placeholders_are_named(concern: str) -> None:
    for name, query in statements(concern).items():
        body = re.sub(r"--.*|%%", "", query.as_string())  # two are one percent sign
        identifiers = [field for _, field, _, _ in Formatter().parse(body) if field is not None]
        assert all(re.fullmatch(r"[a-z_]+", field) for field in identifiers), name
        # %(name)b is the same in the binary format, for values that are large as text.
        assert not re.search(r"%(?!\(\w+\)[sb])", body), f"{name} has a placeholder that is not %(name)s"


def test_queries_match_their_uses() -> None:
    sources = [path.read_text() for root in (PACKAGE, PACKAGE.parent / "resources") for path in root.rglob("*.py")]
    assigned = {name for source in sources for name in re.findall(r"^(\w+) = statements\(", source, re.MULTILINE)}
    of_queries = rf"\b(?:{'|'.join(assigned)})\[\"(\w+)\"\]"
    used = {name for source in sources for name in re.findall(of_queries, source)}
    existing = {name for concern in CONCERNS for name in statements(concern)}
    assert used - existing == set()
    assert existing - used == set()


def test_duplicate_names_are_refused(sql_root: Path) -> None:
    (sql_root / "queries" / "twice.sql").write_text("-- name: one\nSELECT 1;\n\n-- name: one\nSELECT 2;\n")
    with pytest.raises(ValueError, match="two queries of one name"):
        Statements("twice")


def test_leading_comment_is_no_query(sql_root: Path) -> None:
    (sql_root / "queries" / "some.sql").write_text("-- What this file is for.\n\n-- name: one\n-- Why.\nSELECT 1;\n")
    queries = Statements("some")
    assert dict(queries.items()).keys() == {"one"}
    assert queries["one"].as_string() == "-- Why.\nSELECT 1"
    with pytest.raises(KeyError):
        queries["What"]


@pytest.mark.parametrize("folder", ["shared", "node"])
def test_migrations_count_up_from_the_baseline(folder: str) -> None:
    found = numbered(folder)
    assert [migration.number for migration in found] == list(range(BASELINE[folder], newest(folder) + 1))
    assert len({migration.name for migration in found}) == len(found)
    assert len({migration.checksum for migration in found}) == len(found)


@pytest.mark.parametrize(
    ("names", "complaint"),
    [
        (["0021_one.sql", "0023_three.sql"], "count up"),
        (["0022_two.sql"], "count up"),
        (["0001_one.sql", "0021_two.sql"], "count up"),
        (["0021_one.sql", "0021_uno.sql"], "count up"),
        (["21_one.sql"], "is not named"),
        (["0021_One.sql"], "is not named"),
    ],
)
def test_misnumbered_migrations_are_refused(sql_root: Path, names: list[str], complaint: str) -> None:
    for name in names:
        (sql_root / "shared" / name).write_text("SELECT 1;")
    with pytest.raises(ValueError, match=complaint):
        numbered("shared")


def test_checksum_detects_changes() -> None:
    assert Migration("one", "SELECT 1", 1).checksum == Migration("two", "SELECT 1", 2).checksum
    assert Migration("one", "SELECT 1", 1).checksum != Migration("one", "SELECT 1 ", 1).checksum
