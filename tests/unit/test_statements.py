"""The queries as the code reads them: names and placeholders."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter

import pytest

from neurigraph_pipelines.database import statements as module
from neurigraph_pipelines.database.statements import SQL_ROOT, Statements, statements
from neurigraph_pipelines.lifecycle.node_indexes import INDEXES

CONCERNS = sorted(path.stem for path in (SQL_ROOT / "queries").glob("*.sql"))
PACKAGE = Path(module.__file__).parents[1]


@pytest.fixture
def sql_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another folder of SQL, read in place of the project's own."""
    (tmp_path / "queries").mkdir()
    monkeypatch.setattr(module, "SQL_ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("concern", CONCERNS)
def test_all_queries_are_parsed(concern: str) -> None:
    text = (SQL_ROOT / "queries" / f"{concern}.sql").read_text()
    queries = statements(concern)
    assert list(queries) == re.findall(r"-- name: (\S+)", text)
    for name, query in queries.items():
        body = query.as_string()
        assert body, name
        assert not body.endswith(";"), name
        quoted = r"(?s:\$(\w+)\$.*?\$\1\$)|--.*|'[^']*'"
        assert ";" not in re.sub(quoted, "", body), f"{name} holds two statements"


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
    used |= INDEXES.keys()  # by their names
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
