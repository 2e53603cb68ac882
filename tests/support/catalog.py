"""The definition of a database as comparable lines: everything in the shared schemas and in the schema of one node.

``python -m tests.support.catalog BEFORE AFTER``, two URLs, prints what differs between two databases, each with a node.
Function bodies are compared without comments and runs of whitespace. A policy's missing check is its condition, which
is what Postgres applies.
"""

from __future__ import annotations

import difflib
import re
import sys

import psycopg

SHARED = ("neurigraph", "neurigraph_private")

_QUERIES = {
    "schema": """
        SELECT n.nspname, pg_get_userbyid(n.nspowner), coalesce(n.nspacl, acldefault('n', n.nspowner))::text[]
        FROM pg_namespace AS n WHERE n.nspname = ANY(%(schemas)s)""",
    "type": """
        SELECT n.nspname, t.typname, t.typtype,
            ARRAY(SELECT e.enumlabel::text FROM pg_enum AS e WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder)
        FROM pg_type AS t INNER JOIN pg_namespace AS n ON t.typnamespace = n.oid
        WHERE n.nspname = ANY(%(schemas)s) AND t.typtype IN ('e', 'd')""",
    "relation": """
        SELECT n.nspname, c.relname, c.relkind, c.relpersistence, pg_get_userbyid(c.relowner), c.relrowsecurity,
            c.relforcerowsecurity, c.reloptions, c.relreplident,
            coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))::text[]
        FROM pg_class AS c INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
        WHERE n.nspname = ANY(%(schemas)s)""",
    "column": """
        SELECT n.nspname, c.relname, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
            pg_get_expr(d.adbin, d.adrelid), a.attgenerated, a.attidentity, a.attstorage, a.attcompression,
            a.attcollation::regcollation::text, a.attstattarget, a.attacl::text[]
        FROM pg_attribute AS a
        INNER JOIN pg_class AS c ON a.attrelid = c.oid
        INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
        LEFT JOIN pg_attrdef AS d ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE n.nspname = ANY(%(schemas)s) AND c.relkind = 'r' AND a.attnum > 0""",
    "constraint": """
        SELECT n.nspname, c.conrelid::regclass::text, c.conname, pg_get_constraintdef(c.oid), c.convalidated
        FROM pg_constraint AS c INNER JOIN pg_namespace AS n ON c.connamespace = n.oid
        WHERE n.nspname = ANY(%(schemas)s)""",
    "index": """
        SELECT i.schemaname, i.tablename, i.indexname, i.indexdef FROM pg_indexes AS i
        WHERE i.schemaname = ANY(%(schemas)s)""",
    "trigger": """
        SELECT n.nspname, c.relname, t.tgname, pg_get_triggerdef(t.oid), t.tgenabled
        FROM pg_trigger AS t
        INNER JOIN pg_class AS c ON t.tgrelid = c.oid
        INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid
        WHERE n.nspname = ANY(%(schemas)s) AND NOT t.tgisinternal""",
    "policy": """
        SELECT p.schemaname, p.tablename, p.policyname, p.permissive, p.roles::text[], p.cmd, p.qual,
            CASE WHEN p.cmd IN ('ALL', 'UPDATE') THEN coalesce(p.with_check, p.qual) ELSE p.with_check END
        FROM pg_policies AS p WHERE p.schemaname = ANY(%(schemas)s)""",
    "function": """
        SELECT n.nspname, p.proname, pg_get_userbyid(p.proowner), pg_get_functiondef(p.oid),
            coalesce(p.proacl, acldefault('f', p.proowner))::text[]
        FROM pg_proc AS p INNER JOIN pg_namespace AS n ON p.pronamespace = n.oid
        WHERE n.nspname = ANY(%(schemas)s)""",
    "default privilege": "SELECT pg_get_userbyid(d.defaclrole), d.defaclacl::text[] FROM pg_default_acl AS d",
    "role": """
        SELECT r.rolname, r.rolinherit, r.rolsuper, r.rolbypassrls, r.rolcreaterole, r.rolconfig
        FROM pg_roles AS r WHERE r.rolname LIKE 'neurigraph_%%' AND r.rolname <> 'neurigraph_superuser'""",
    "comment": """
        SELECT d.classoid::regclass::text, d.objoid::regclass::text, d.objsubid, d.description
        FROM pg_description AS d INNER JOIN pg_class AS c ON d.objoid = c.oid
        INNER JOIN pg_namespace AS n ON c.relnamespace = n.oid WHERE n.nspname = ANY(%(schemas)s)""",
}


def describe(url: str, schema_name: str | None = None) -> list[str]:
    """Return one line for each object of the shared schemas and of one node, sorted; ids and the schema are masked.

    Args:
        url: A database of Neurigraph, as a user who sees the whole catalog.
        schema_name: The schema of the node; without it, one of the highest nodes is taken.
    """
    with psycopg.connect(url) as connection:
        masked = {}
        node = None
        if connection.execute("SELECT to_regclass('neurigraph.graph_index')").fetchone() != (None,):
            node = connection.execute(
                "SELECT schema_name, node_id::text, user_id::text FROM neurigraph.graph_index "
                "ORDER BY schema_name <> coalesce(%s, schema_name), layer_depth LIMIT 1",
                [schema_name],
            ).fetchone()
        if node is not None:
            masked = dict(zip(node, ("<schema>", "<node>", "<user>"), strict=True))
        schemas = [*SHARED, *([node[0]] if node is not None else [])]
        lines = []
        for kind, query in _QUERIES.items():
            for row in connection.execute(query, {"schemas": schemas}):
                lines.append(f"{kind}: " + " | ".join(_shown(value) for value in row))
    if masked:
        names = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in masked))
        lines = [names.sub(lambda found: masked[found[0]], line) for line in lines]
    return sorted(lines)


def _shown(value: object) -> str:
    """Return a value as text; privileges in an order of their own, and SQL without comments and layout."""
    if isinstance(value, list):
        return "{" + ", ".join(sorted(map(str, value)) if _is_acl(value) else map(str, value)) + "}"
    return " ".join(re.sub(r"--.*", "", str(value)).split())


def _is_acl(value: list[object]) -> bool:
    return all("=" in str(item) and "/" in str(item) for item in value)


def differences(before: str, after: str) -> list[str]:
    """Return the lines that only one of two databases has, ``-`` for the first and ``+`` for the second."""
    found = difflib.ndiff(describe(before), describe(after))
    return [line for line in found if line.startswith(("- ", "+ "))]


def main() -> int:
    """Print a count by kind and all differences."""
    before, after = sys.argv[1:3]
    lines = describe(after)
    for kind in _QUERIES:
        print(f"{kind}: {sum(line.startswith(f'{kind}: ') for line in lines)}")
    found = differences(before, after)
    print(f"{len(found)} lines differ")
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
