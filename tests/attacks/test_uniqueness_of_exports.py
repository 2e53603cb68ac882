"""Attacks by exports with two rows where one may be: a restore asks every uniqueness that a normal write asks.

The unique indexes come from the catalog, so a new one is attacked as well.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from psycopg import sql

from neurigraph_pipelines.exchange.portability.tables import SHARED, Table, shared_tables, tables_of
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.exported_user import Source, exported_user, restore, seal
from tests.support.memories import rows

pytestmark = pytest.mark.attack

NOT_OF_EXPORTS = {
    *("users_slug_key", "graph_index_schema_name_key", "uploads_staging_key_key"),  # a restore chooses these values
    "fact_verdicts_link_id",  # generated
    "organizations_pkey",  # the id of the user, who is no organisation here
}
"""Unique indexes of values that never come from an export."""
TYPES = {"uuid", "text", "bytea", "smallint", "integer", "bigint", "timestamp with time zone"}
"""Types of columns in which a twin may differ."""

_UNIQUE_INDEXES = """
SELECT
    c.relname AS name,
    t.relname AS table_name,
    pg_get_expr(i.indpred, i.indrelid) AS predicate,
    ARRAY(
        SELECT a.attname FROM pg_attribute AS a WHERE a.attrelid = t.oid AND a.attnum = ANY(i.indkey)
    )::text [] AS keys,
    ARRAY(
        SELECT DISTINCT a.attname FROM pg_attribute AS a
        LEFT JOIN pg_depend AS d ON a.attrelid = d.refobjid AND a.attnum = d.refobjsubid AND d.objid = c.oid
        WHERE a.attrelid = t.oid AND (a.attnum = ANY(i.indkey) OR d.objid IS NOT NULL)
    )::text [] AS columns,
    i.indnullsnotdistinct AS nulls_are_equal
FROM pg_index AS i
INNER JOIN pg_class AS c ON i.indexrelid = c.oid
INNER JOIN pg_class AS t ON i.indrelid = t.oid
WHERE i.indisunique AND t.relnamespace = to_regnamespace(%s) AND t.relname = ANY(%s)
ORDER BY t.relname, c.relname
"""


@dataclass(frozen=True)
class Unique:
    """A unique index of a table that a restore writes.

    Attributes:
        keys: Its columns; of an expression none.
        columns: All columns that it depends on, those of expressions and of its predicate too.
    """

    name: str
    table: Table
    predicate: str | None
    keys: tuple[str, ...]
    columns: frozenset[str]
    nulls_are_equal: bool


@pytest.fixture(scope="module")
def source(shared_installation: Installation, tmp_path_factory: pytest.TempPathFactory) -> Source:
    return exported_user(shared_installation, tmp_path_factory.mktemp("exports"))


def unique_indexes(here: Installation) -> list[Unique]:
    (node,) = rows(here, "SELECT schema_name FROM neurigraph.graph_index WHERE layer_depth = 0")
    with here.database.owner() as tx:
        tables = [*shared_tables(tx), *tables_of(tx, node["schema_name"])]
    return [
        Unique(
            row["name"],
            table,
            row["predicate"],
            tuple(row["keys"]),
            frozenset(row["columns"]),
            row["nulls_are_equal"],
        )
        for table in tables
        for row in rows(here, _UNIQUE_INDEXES, table.schema, [table.name])
    ]


def lines_within(here: Installation, index: Unique, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows that the index has an entry of, which another row may equal."""
    null = sql.SQL("false") if index.nulls_are_equal else sql.SQL("num_nulls({}) > 0")
    query = sql.SQL(
        "SELECT l.line FROM unnest(%s::text []) AS l (line), json_populate_record(NULL::{}, l.line::json) AS r"
        " WHERE ({}) AND NOT ({})"
    ).format(
        index.table.identifier,
        sql.SQL(index.predicate or "true"),
        null.format(sql.SQL(", ").join(sql.Identifier("r", key) for key in (*index.keys, index.table.columns[0]))),
    )
    with here.database.owner() as tx:
        yield from (json.loads(row["line"]) for row in tx.execute(query, [list(lines)]).fetchall())


def other(value: Any, kind: str) -> Any:
    """Return another value of a type."""
    if kind == "uuid":
        return str(uuid4())
    if kind == "timestamp with time zone":
        return "2001-02-03T04:05:06+00:00"
    if isinstance(value, int):
        return value + 1_000
    if isinstance(value, str) and value.startswith("\\x"):
        return value[:-2] + ("00" if value[-2:] != "00" else "01")
    return f"{value}x"


def twin(row: dict[str, Any], index: Unique, indexes: Sequence[Unique], *, other_ids: bool) -> dict[str, Any]:
    """Return a row that equals another in one index, and differs in every other of its table that allows it.

    Args:
        other_ids: It differs in ids rather than in other values, where there is a choice.
    """
    kinds = dict(zip(index.table.columns, index.table.types, strict=True))
    changed = dict(row)
    for also in indexes:
        fixed = {"user_id", *index.columns, *(column for column, kind in kinds.items() if kind not in TYPES)}
        free = [key for key in also.keys if key in row.keys() - fixed]
        if also.table == index.table and free and all(changed[key] == row[key] for key in free):
            key = max(free, key=lambda key: (kinds[key] == "uuid") == other_ids)
            changed[key] = other(row[key], kinds[key])
    if index.table.name == "file_manifest":
        changed["storage_path"] += ".original"  # a second file of the same kind is refused before
    return changed


def attacks(source: Source, index: Unique, indexes: Sequence[Unique]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield files of the export with a row to add, which equals another one in an index."""
    folder = "tables" if index.table.schema == SHARED else "nodes/*"
    for path in source.folder.glob(f"{folder}/{index.table.name}.jsonl"):
        for row in lines_within(source.here, index, path.read_text().splitlines()):
            yield path, twin(row, index, indexes, other_ids=False)
            yield path, twin(row, index, indexes, other_ids=True)


def refusal(here: Installation, export: Path) -> str:
    try:
        restore(here, export, "exporter")
    except (ConflictError, InvalidInputError) as error:
        return str(error)
    return "restored"


@pytest.mark.slow
def test_two_rows_where_one_may_be(source: Source, installation: Installation, tmp_path: Path) -> None:
    indexes = unique_indexes(source.here)
    assert {index.name for index in indexes} >= NOT_OF_EXPORTS
    not_refused = {}
    for index in (index for index in indexes if index.name not in NOT_OF_EXPORTS):
        # Where an index has all columns of another one, nothing is equal in the first alone.
        within = [i.name for i in indexes if i.table == index.table and i.columns <= index.columns]
        said: list[str] = []
        for path, row in attacks(source, index, indexes):  # checks of the table refuse some before the index
            export = Path(shutil.copytree(source.folder, tmp_path / "export"))
            with (export / path.relative_to(source.folder)).open("a") as file:
                file.write(json.dumps(row) + "\n")
            seal(export)
            said.append(refusal(installation, export))
            shutil.rmtree(export)
            if any(f'unique constraint "{name}"' in said[-1] for name in within):
                break
        else:
            not_refused[index.name] = said
    assert not_refused == {}
    assert rows(installation, "SELECT FROM neurigraph.users") == []
    assert list(installation.objects.keys()) == []
