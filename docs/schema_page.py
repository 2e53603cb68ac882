"""The page ``schema.md``: tables, columns, policies and functions of a freshly migrated database, with their comments.

Names, types, policies and rights come from the catalog. Descriptions come from the comments of the SQL files: of a
table and a function the comment before it, of a column the comment above it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

import psycopg

from neurigraph_pipelines.database.migrations import migrate
from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import SQL_ROOT
from neurigraph_pipelines.graph.provisioning import create_user
from resources.postgres.database import PostgresDatabase
from resources.postgres.embedded import EmbeddedPostgres

_SECRET = Secret("the page is the same with every secret")
_NODE = "node"
_SHOWN_SCHEMAS = ("neurigraph", "neurigraph_private", _NODE)
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(?:\{schema\}|\w+)\.(\w+) \($")
_COLUMN = re.compile(r"    (\w+) [a-z]\w*")
_FUNCTION = re.compile(r"CREATE (?:OR REPLACE )?FUNCTION \w+\.(\w+)")
_JOURNALS = "Journals of the migration runner"
_INTRODUCTION = """
Neurigraph keeps its data in the Postgres schemas `neurigraph`, which all users share, and `neurigraph_private`, which
only functions read, and in one schema for each node, shown here as `node`. Each table of all users has a file in
`sql/tables`, with its triggers and policies. The tables of a node are in `sql/node.sql`, and functions that belong to
no single table in `sql/functions`.

Four roles use them. `neurigraph_owner` owns everything and runs migrations. `neurigraph_pipeline` runs the pipeline
for all users. `neurigraph_agent` serves interfaces, and sees what the signed claims of its transaction allow.
`neurigraph_analyst` reads the columns of some tables that hold no words of users ([figures](metrics.md)).
""".strip()


@dataclass
class Comments:
    """Comments of SQL files: of files by stem, of tables, of columns by ``table.column``, of functions by name."""

    files: dict[str, str] = field(default_factory=dict)
    tables: dict[str, str] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    sections: dict[str, str] = field(default_factory=dict)
    """The file of each table and function."""

    def read(self, path: Path) -> None:
        """Add the comments of one file."""
        comment: list[str] = []
        table: str | None = None
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if line.strip().startswith("-- "):
                comment.append(line.strip()[3:])
                continue
            if number and path.stem not in self.files:
                self.files[path.stem] = " ".join(comment)
            if found := _TABLE.match(line):
                table = found[1]
                self.tables[table] = " ".join(comment)
                self.sections[table] = path.stem
            elif line.startswith(")"):
                table = None
            elif table is not None and (found := _COLUMN.match(line)):
                self.columns[f"{table}.{found[1]}"] = " ".join(comment)
            elif found := _FUNCTION.search(line):
                self.functions.setdefault(found[1], " ".join(comment))
                self.sections.setdefault(found[1], path.stem)
            if not line.startswith("DROP FUNCTION"):
                comment = []


def schema_page(written: str) -> str:
    """Return the page, from a database made for it on an embedded server.

    Args:
        written: A line that says how the page is written.
    """
    with tempfile.TemporaryDirectory() as home:
        server = EmbeddedPostgres(Path(home) / "home")
        try:
            with server.lease() as lease:
                url = lease.url(lease.superuser, lease.superuser_password, "postgres")
                return page_of(url, written, _SECRET)
        finally:
            server.delete()


def page_of(url: str, written: str, secret: Secret) -> str:
    """Return the page from a database of a server, in which a user is created.

    Args:
        url: A database without a user named ``node``, as a superuser.
        written: A line that says how the page is written.
        secret: The secret of the installation; roles get passwords derived from it.
    """
    migrate(url, secret)
    database = PostgresDatabase(url, secret)
    create_user(database, _NODE)
    database.close()
    comments = Comments()
    for path in [SQL_ROOT / "types.sql", *sorted(SQL_ROOT.glob("[ft]*/*.sql")), SQL_ROOT / "node.sql"]:
        comments.read(path)
    with psycopg.connect(url) as connection:
        catalog = _Catalog(connection, comments)
        lines = ["# Schema", "", written, "", _INTRODUCTION, "", *catalog.diagram()]
        for title, tables in catalog.rooms():
            lines += ["", f"## {title}"]
            for schema, table in tables:
                lines += ["", *catalog.table(schema, table)]
        lines += ["", *catalog.functions()]
    return "\n".join(lines) + "\n"


class _Catalog:
    """Reads the parts of the page."""

    def __init__(self, connection: psycopg.Connection, comments: Comments) -> None:
        self._connection = connection
        self._comments = comments
        node = connection.execute("SELECT node_id::text, user_id::text FROM neurigraph.graph_index").fetchone()
        assert node is not None
        self._masked = dict(zip(node, ("<node_id>", "<user_id>"), strict=True))

    def _rows(self, query: LiteralString, *values: object) -> list[tuple[str, ...]]:
        found = self._connection.execute(query, values).fetchall()
        return [tuple("" if value is None else self._mask(str(value)) for value in row) for row in found]

    def _mask(self, text: str) -> str:
        for value, name in self._masked.items():
            text = text.replace(value, name)
        return text

    def rooms(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Give each heading of the order of tables, up to its colon, with its tables."""
        tables = self._rows(
            "SELECT n.nspname, c.relname FROM pg_class AS c INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid "
            "WHERE n.nspname = ANY(%s) AND c.relkind = 'r' ORDER BY c.oid",
            list(_SHOWN_SCHEMAS),
        )
        rooms: dict[str, list[tuple[str, str]]] = {}
        for schema, table in tables:
            other = "Tables of a node" if schema == _NODE else _JOURNALS
            rooms.setdefault(SHIPPED.tables.get(table, other).partition(":")[0], []).append((schema, table))
        journals = rooms.pop(_JOURNALS)
        yield from rooms.items()
        yield _JOURNALS, journals

    def diagram(self) -> Iterator[str]:
        """Give the foreign keys as an entity diagram of Mermaid."""
        references = self._rows(
            "SELECT DISTINCT p.relname, c.relname, bool_or(f.confdeltype = 'c') FROM pg_constraint AS f "
            "INNER JOIN pg_class AS c ON f.conrelid = c.oid INNER JOIN pg_class AS p ON f.confrelid = p.oid "
            "INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid "
            "WHERE f.contype = 'f' AND n.nspname = ANY(%s) GROUP BY 1, 2 ORDER BY 1, 2",
            list(_SHOWN_SCHEMAS),
        )
        yield from ["Foreign keys, from the parent to the rows that reference it:", "", "```mermaid", "erDiagram"]
        for parent, child, _ in references:
            yield f"    {parent} ||--o{{ {child} : has"
        yield "    graph_index ||..|| metadata_records : schema_name"
        yield "```"

    def table(self, schema: str, table: str) -> Iterator[str]:
        """Give the description, the columns and the policies of a table."""
        yield from [f"### {schema}.{table}", ""]
        if text := self._comments.tables.get(table):
            yield from [text, ""]
        yield from ["| column | type | null | default | description |", "| --- | --- | --- | --- | --- |"]
        for name, kind, null, default in self._rows(
            "SELECT a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN '' ELSE 'yes' END, "
            "CASE WHEN a.attidentity <> '' THEN 'identity' WHEN a.attgenerated <> '' THEN 'generated' "
            "ELSE pg_get_expr(d.adbin, d.adrelid) END FROM pg_attribute AS a "
            "LEFT JOIN pg_attrdef AS d ON a.attrelid = d.adrelid AND a.attnum = d.adnum "
            "WHERE a.attrelid = format('%%I.%%I', %s::text, %s::text)::regclass AND a.attnum > 0 ORDER BY a.attnum",
            schema,
            table,
        ):
            shown = re.sub(r"::[\w.\" \[\]]+", "", default)
            description = _cell(self._comments.columns.get(f"{table}.{name}", ""))
            yield f"| `{name}` | {_cell(kind)} | {null} | {f'`{_cell(shown)}`' if shown else ''} | {description} |"
        policies = self._rows(
            "SELECT p.policyname, array_to_string(p.roles, ', '), p.cmd, p.permissive, p.qual, p.with_check "
            "FROM pg_policies AS p WHERE p.schemaname = %s AND p.tablename = %s ORDER BY p.policyname",
            schema,
            table,
        )
        if policies:
            yield from ["", "| policy | role | for | rows | new rows |", "| --- | --- | --- | --- | --- |"]
        for name, roles, command, kind, rows, check in policies:
            restrictive = " (restrictive)" if kind == "RESTRICTIVE" else ""
            shown = "the same" if check == rows and check else _code(check)
            yield f"| `{name}` | {roles} | {command.lower()}{restrictive} | {_code(rows)} | {shown} |"

    def functions(self) -> Iterator[str]:
        """Give the functions by file, with the roles that may call them."""
        found = self._rows(
            "SELECT n.nspname || '.' || p.proname, p.proname, pg_get_function_identity_arguments(p.oid), "
            "CASE WHEN p.prosecdef THEN 'owner' ELSE 'caller' END, "
            "(SELECT CASE WHEN bool_or(a.grantee = 0) THEN 'all roles' "
            "ELSE string_agg(a.grantee::regrole::text, ', ' ORDER BY a.grantee::regrole::text) END "
            "FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a WHERE a.grantee <> p.proowner) "
            "FROM pg_proc AS p INNER JOIN pg_namespace AS n ON p.pronamespace = n.oid "
            "WHERE n.nspname = ANY(%s) ORDER BY 2, 3, 1",
            list(_SHOWN_SCHEMAS),
        )
        yield from ["## Functions", "", "Each runs with the rights of its owner or of its caller."]
        sections = {row[0]: self._comments.sections.get(row[1], "") for row in found}
        for section in sorted(set(sections.values())):
            yield from ["", f"### {section}", "", self._comments.files.get(section, ""), ""]
            yield from ["| function | rights | callable by | description |", "| --- | --- | --- | --- |"]
            for name, short, arguments, rights, callers in found:
                if sections[name] == section:
                    description = _cell(self._comments.functions.get(short, ""))
                    yield f"| `{name}({_cell(arguments)})` | {rights} | {callers or 'owner'} | {description} |"


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
