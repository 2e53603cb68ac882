"""Provisioning of nodes: atomic, once, and only where the database allows it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.naming import schema_name
from neurigraph_pipelines.graph.provisioning import (
    NodeRef,
    User,
    create_user,
    ensure_user,
    find_user,
    list_users,
    resolve_path,
)
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import SECRET
from tests.support.concurrent_processes import run_side_by_side
from tests.support.memories import new_user, rows
from tests.support.waiting import wait_until

PROVISION = """
import sys
from uuid import UUID
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.provisioning import resolve_path
from neurigraph_pipelines.model import ConceptKind, PlannedNode
from resources.postgres.database import PostgresDatabase
url, secret, user_id, slug = sys.argv[1:]
database = PostgresDatabase(url, Secret(secret))
path = ("Family", "Dave")
plans = [PlannedNode(path[:depth], ConceptKind.TOPIC, 1.0) for depth in (1, 2)]
sys.stdin.readline()
with database.pipeline() as tx:
    print(resolve_path(tx, UUID(user_id), slug, path, plans).node_id)
database.close()
"""


@pytest.fixture
def user(here: Installation) -> User:
    return new_user(here)[0]


def plan(*path: str) -> list[PlannedNode]:
    return [PlannedNode(path[:depth], ConceptKind.TOPIC, 1.0) for depth in range(1, len(path) + 1)]


def provision(here: Installation, user: User, *path: str) -> NodeRef:
    with here.database.pipeline() as tx:
        return resolve_path(tx, user.user_id, user.slug, path, plan(*path))


def schema_exists(here: Installation, name: str) -> bool:
    return bool(rows(here, "SELECT FROM pg_namespace WHERE nspname = %s", name))


def test_node_is_row_and_schema(here: Installation, user: User) -> None:
    node = provision(here, user, "Family", "Dave")
    assert (node.layer_depth, node.names) == (2, ("Family", "Dave"))
    (row,) = rows(here, "SELECT * FROM neurigraph.graph_index WHERE node_id = %s", node.node_id)
    assert row["schema_name"] == node.schema_name
    assert row["node_ddl_version"] == SHIPPED.newest
    assert row["path"][0] == user.root_node_id
    assert row["path"][-1] == node.node_id
    assert len(row["path"]) == 3
    tables = rows(here, "SELECT tablename FROM pg_tables WHERE schemaname = %s ORDER BY 1", node.schema_name)
    assert [table["tablename"] for table in tables] == ["file_manifest", "metadata_records"]


def test_rollback_leaves_nothing(here: Installation, user: User) -> None:
    with here.database.pipeline() as tx:
        made = resolve_path(tx, user.user_id, user.slug, ("Gone", "Below"), plan("Gone", "Below"))
        assert tx.execute("SELECT FROM pg_namespace WHERE nspname = %s", [made.schema_name]).fetchone() is not None
        tx.rollback()
    assert not schema_exists(here, made.schema_name)
    assert rows(here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth > 0", user.user_id) == []


def test_failed_ddl_leaves_no_row(here: Installation, user: User) -> None:
    schema = schema_name(user.slug, ("Taken",))
    with here.database.owner() as tx:
        tx.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    with pytest.raises(psycopg.errors.DuplicateSchema):
        provision(here, user, "Taken")
    assert rows(here, "SELECT FROM neurigraph.graph_index WHERE schema_name = %s", schema) == []


def test_threads_create_one_node(here: Installation) -> None:
    user, _ = new_user(here)
    database = PostgresDatabase(here.administrator_url, Secret(SECRET), pool_size=8)
    together = threading.Barrier(8)

    def run(_: int) -> list[UUID]:
        found = []
        for number in range(6):
            names = (f"Round {number}", "Below")
            with database.pipeline() as tx:
                together.wait(timeout=30)
                found.append(resolve_path(tx, user.user_id, user.slug, names, plan(*names)).node_id)
        return found

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(run, range(8)))
    database.close()
    assert answers == [answers[0]] * 8
    assert len(set(answers[0])) == 6
    made = rows(here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth > 0", user.user_id)
    assert len(made) == 12


def test_processes_create_one_node(here: Installation, user: User) -> None:
    answers = set(run_side_by_side(PROVISION, here.administrator_url, SECRET, str(user.user_id), user.slug))
    assert len(answers) == 1
    made = rows(here, "SELECT FROM neurigraph.graph_index WHERE user_id = %s AND layer_depth > 0", user.user_id)
    assert len(made) == 2


def test_waiter_creates_node_after_rollback(here: Installation, user: User) -> None:
    with ThreadPoolExecutor(1) as pool:
        with here.database.pipeline() as tx:
            resolve_path(tx, user.user_id, user.slug, ("Family",), plan("Family"))
            second = pool.submit(provision, here, user, "family")
            wait_until(lambda: rows(here, "SELECT FROM pg_locks WHERE NOT granted"))
            tx.rollback()
        node = second.result(timeout=10)
    assert node.names == ("family",)
    assert schema_exists(here, node.schema_name)


def test_layer_five_is_the_deepest(here: Installation, user: User) -> None:
    names = ("One", "Two", "Three", "Four", "Five", "Six")
    node = provision(here, user, *names)
    assert (node.layer_depth, node.names) == (5, names[:5])
    insert = """INSERT INTO neurigraph.graph_index
        (user_id, node_name, name_key, layer_depth, parent_node_id, schema_name, node_ddl_version)
        VALUES (%s, 'Six', 'six', %s, %s, %s, 1)"""
    for depth in (6, 5, 0, -1):
        with pytest.raises(psycopg.errors.CheckViolation), here.database.owner() as tx:
            tx.execute(insert, [user.user_id, depth, node.node_id, f"six-{uuid4()}"])


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_cycle_is_refused(here: Installation, user: User, depth: int) -> None:
    top, below = provision(here, user, "Top"), provision(here, user, "Top", "Below")
    move = "UPDATE neurigraph.graph_index SET parent_node_id = %s, layer_depth = %s WHERE node_id = %s"
    for child, parent in ((top, below), (top, top), (below, below)):
        with pytest.raises(psycopg.errors.CheckViolation), here.database.owner() as tx:
            tx.execute(move, [parent.node_id, depth, child.node_id])


def test_moved_leaf_has_correct_path(here: Installation, user: User) -> None:
    other, leaf = provision(here, user, "Other"), provision(here, user, "Top", "Leaf")
    with here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.graph_index SET parent_node_id = %s WHERE node_id = %s", [other.node_id, leaf.node_id]
        )
    (row,) = rows(here, "SELECT path FROM neurigraph.graph_index WHERE node_id = %s", leaf.node_id)
    assert row["path"] == [user.root_node_id, other.node_id, leaf.node_id]
    # The name it left is free again, and its schema is not given to another.
    again = provision(here, user, "Top", "Leaf")
    assert again.node_id != leaf.node_id
    assert again.schema_name != leaf.schema_name


def test_path_cannot_be_forged(here: Installation, user: User) -> None:
    node = provision(here, user, "Node")
    with here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.graph_index SET path = %s WHERE node_id = %s", [[uuid4()], node.node_id])
    (row,) = rows(here, "SELECT path FROM neurigraph.graph_index WHERE node_id = %s", node.node_id)
    assert row["path"] == [user.root_node_id, node.node_id]


def test_user_has_one_root(here: Installation, user: User) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation, match="one_root_per_user"), here.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.graph_index
            (user_id, node_name, name_key, layer_depth, schema_name, node_ddl_version)
            VALUES (%s, 'second', 'second', 0, %s, 1)""",
            [user.user_id, f"second-{uuid4()}"],
        )


def test_foreign_node_is_no_parent(here: Installation, user: User) -> None:
    other, _ = new_user(here)
    with pytest.raises(psycopg.errors.ForeignKeyViolation), here.database.owner() as tx:
        tx.execute(
            """INSERT INTO neurigraph.graph_index
            (user_id, node_name, name_key, layer_depth, parent_node_id, schema_name, node_ddl_version)
            VALUES (%s, 'x', 'x', 1, %s, %s, 1)""",
            [user.user_id, other.root_node_id, f"x-{uuid4()}"],
        )
    node = provision(here, user, "Mine")
    with pytest.raises(psycopg.errors.ForeignKeyViolation), here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.graph_index SET parent_node_id = %s WHERE node_id = %s",
            [other.root_node_id, node.node_id],
        )


def test_invisible_names_are_refused(here: Installation, user: User) -> None:
    for name in ("", "\x00", " \t ", "\u202e"):
        with pytest.raises(InvalidInputError, match="no visible character"):
            provision(here, user, name)


def test_long_paths_have_distinct_schemas(here: Installation, user: User) -> None:
    long = "x" * 300
    nodes = [provision(here, user, long, *["y" * 119 + str(number)] * 4) for number in range(3)]
    assert {node.layer_depth for node in nodes} == {5}
    assert {len(node.names[0]) for node in nodes} == {120}
    assert len({node.schema_name for node in nodes}) == 3
    assert all(len(node.schema_name) <= 63 for node in nodes)


def test_unplanned_step_ends_path(here: Installation, user: User) -> None:
    provision(here, user, "Family")
    with here.database.pipeline() as tx:
        reached = resolve_path(tx, user.user_id, user.slug, ("Family", "Unplanned", "Below"))
        assert reached.names == ("Family",)
        assert resolve_path(tx, user.user_id, user.slug, ()).node_id == user.root_node_id


def test_unknown_user_has_no_graph(here: Installation) -> None:
    with pytest.raises(NotFoundError), here.database.pipeline() as tx:
        resolve_path(tx, uuid4(), "nobody", ("Family",))
    with pytest.raises(NotFoundError, match="nobody-at-all"):
        find_user(here.database, "nobody-at-all")


@pytest.mark.parametrize("slug", ["", "-", "Bob", "bob ", "bob\n", "b" * 64, "b/c", "ü", "a'b", "a\x00b", "_a"])
def test_bad_slugs_are_refused(here: Installation, slug: str) -> None:
    with pytest.raises(InvalidInputError):
        create_user(here.database, slug)


def test_slug_is_unique(here: Installation) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = [future.result() for future in [pool.submit(ensure_user, here.database, "once") for _ in range(4)]]
    assert len({user.user_id for user, _ in made}) == 1
    assert [new for _, new in made].count(True) == 1
    with pytest.raises(ConflictError, match="'once'"):
        create_user(here.database, "once")
    assert made[0][0] in list_users(here.database)


@pytest.mark.parametrize("slugs", [("a-b", "a_b"), ("x", "x_family"), ("b" * 63, "b" * 62)])
def test_users_with_similar_slugs_share_no_schema(here: Installation, slugs: tuple[str, str]) -> None:
    one, other = (create_user(here.database, slug)[0] for slug in slugs)
    schemas = {provision(here, one, *path).schema_name for path in ((), ("Family",))}
    assert schemas.isdisjoint(provision(here, other, *path).schema_name for path in ((), ("Family",)))
