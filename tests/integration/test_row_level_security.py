"""Row-level security for the agent's role, with arbitrary SQL."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.access.authentication import api_key_hash, authenticate, issue_api_key, unguarded_tables
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import UnauthenticatedError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import SECRET
from tests.support.memories import schemas_of
from tests.support.two_users import NODE_TABLES, World, new_world

UNGUARDED = statements("access")["unguarded_tables"]


@pytest.fixture(scope="module")
def world(shared_installation: Installation) -> World:
    return new_world(shared_installation)


def count(connection: Transaction, table: sql.Identifier) -> int:
    """How many rows are visible; a table without rights shows none."""
    try:
        with connection.transaction():
            row = connection.execute(sql.SQL("SELECT count(*) AS n FROM {}").format(table)).fetchone()
    except psycopg.errors.InsufficientPrivilege:
        return 0
    assert row is not None
    return int(row["n"])


def visible(world: World, payload: str | None, signature: str | None) -> int:
    """How many rows of all tables together."""
    with world.agent(payload, signature) as connection:
        return sum(count(connection, table) for table in world.tables())


# Default deny


def test_every_table_has_policies(world: World) -> None:
    with psycopg.connect(world.installation.administrator_url) as connection:
        for table in world.tables():
            schema, name = table._obj
            row = connection.execute(
                "SELECT relrowsecurity FROM pg_class WHERE oid = %s::regclass", [table.as_string()]
            ).fetchone()
            assert row == (True,), f"{schema}.{name} has no row-level security"
            roles = connection.execute(
                "SELECT roles::text[] FROM pg_policies WHERE schemaname = %s AND tablename = %s "
                "AND permissive = 'PERMISSIVE'",  # a restrictive one only takes away
                [schema, name],
            ).fetchall()
            named = {role for (found,) in roles for role in found} - {"neurigraph_analyst"}  # test_analyst.py
            assert named == {"neurigraph_agent", "neurigraph_pipeline"}


def test_unguarded_table_is_found(world: World) -> None:
    database = world.installation.database
    assert unguarded_tables(database) == []
    schema, found_records = (
        schemas_of(world.installation, world.bob)[""],
        f"node {world.bob.root_node_id}: metadata_records",
    )
    records, gate = sql.Identifier(schema, "metadata_records"), world.alice.root_node_id
    for statement, found in (
        (sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(records), found_records),
        (sql.SQL("DROP POLICY agent_node ON {}").format(records), found_records),
        (sql.SQL("ALTER POLICY agent_node ON {} USING (true)").format(records), found_records),
        (
            sql.SQL("ALTER POLICY agent_node ON {} USING (neurigraph.may_read_node({}))").format(
                records, sql.Literal(str(gate))
            ),
            found_records,
        ),
        (
            sql.SQL("CREATE POLICY beside ON {} TO neurigraph_agent USING (true)").format(records),
            found_records,
        ),
        (sql.SQL("CREATE POLICY beside ON {} USING (true)").format(records), found_records),
        (sql.SQL("ALTER TABLE neurigraph.messages DISABLE ROW LEVEL SECURITY"), "neurigraph: messages"),
        (sql.SQL("DROP POLICY of_record ON neurigraph.segments"), "neurigraph: segments"),
        (
            sql.SQL(
                "CREATE TABLE neurigraph.forgotten (user_id uuid);"
                "GRANT SELECT ON neurigraph.forgotten TO neurigraph_agent"
            ),
            "neurigraph: forgotten",
        ),
        (
            sql.SQL(
                "CREATE VIEW neurigraph.around AS SELECT * FROM neurigraph.messages;"
                "GRANT SELECT ON neurigraph.around TO neurigraph_agent"
            ),
            "neurigraph: around",
        ),
    ):
        with database.owner() as tx:
            tx.execute(statement)
            names = [f"{row['place']}: {row['table_name']}" for row in tx.execute(UNGUARDED)]
            tx.rollback()
        assert names == [found], statement
    assert unguarded_tables(database) == []


def test_tables_are_empty_without_claims(world: World) -> None:
    assert visible(world, None, None) == 0
    with world.installation.database.agent(None) as tx:
        assert tx.execute("SELECT count(*) AS n FROM neurigraph.graph_index").fetchone() == {"n": 0}


def test_owner_sees_own_graph_only(world: World) -> None:
    for user, claims, other in ((world.alice, world.alices, world.bob), (world.bob, world.bobs, world.alice)):
        with world.installation.database.agent(claims) as tx:
            for table in (
                "users",
                "graph_index",
                "node_edges",
                "record_index",
                "segments",
                "file_index",
                "delta_log",
                "compression_state_log",
                "sources",
                "messages",
                "storage_triggers",
            ):
                query = sql.SQL("SELECT DISTINCT user_id FROM neurigraph.{}").format(sql.Identifier(table))
                assert tx.execute(query).fetchall() == [{"user_id": user.user_id}], table
            own, others = (
                sum(
                    count(tx, sql.Identifier(schema, table))
                    for schema in schemas_of(world.installation, whose).values()
                    for table in NODE_TABLES
                )
                for whose in (user, other)
            )
            assert own == len(NODE_TABLES)
            assert others == 0


# Claims


def sign(payload: str, secret: str = SECRET) -> str:
    """As our own signer does it."""
    key = hmac.new(secret.encode(), b"claims", hashlib.sha256).digest()
    return hmac.new(key, payload.encode(), hashlib.sha256).hexdigest()


def claim(world: World, **changes: object) -> str:
    user_id = str(world.alice.user_id)
    return json.dumps({"sub": user_id, "role": "user", "user_id": user_id, "exp": time.time() + 60, **changes})


def test_signed_claims_open_their_rows(world: World) -> None:
    payload = claim(world)
    assert visible(world, payload, sign(payload)) > 10


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"exp": 0}, "expired"),
        ({"exp": time.time() - 1}, "expired a second ago"),
        ({"exp": None}, "never expires"),
        ({"role": "persona"}, "a persona has no grants yet"),
        ({"role": "third_party"}, "a third party has no grants yet"),
        ({"role": "neurigraph_owner"}, "no such role"),
        ({"role": ["user"]}, "not a role"),
        ({"role": None}, "no role"),
        ({"user_id": None}, "nobody"),
        ({"user_id": str(uuid4())}, "somebody who does not exist"),
    ],
)
def test_signed_claims_without_access(world: World, changes: dict[str, object], why: str) -> None:
    payload = claim(world, **changes)
    assert visible(world, payload, sign(payload)) == 0, why


def test_unsigned_claims_open_nothing(world: World) -> None:
    payload = claim(world)
    good = sign(payload)
    others = claim(world, user_id=str(world.bob.user_id))
    for said, signature in [
        (payload, None),
        (payload, ""),
        (payload, good.upper()),
        (payload, good[:-1]),
        (payload, good[:-1] + ("0" if good[-1] != "0" else "1")),
        (payload, sign(payload, "a secret that somebody guessed, long enough")),
        (payload, hashlib.sha256(payload.encode()).hexdigest()),
        (payload + " ", good),
        (others, good),
        ("", sign("")),
        (None, good),
    ]:
        assert visible(world, said, signature) == 0, (said, signature)


@pytest.mark.parametrize("payload", ["not json", "[]", "null", '"text"', "{}", '{"exp": "soon"}', '{"exp": 1e400}'])
def test_signed_nonsense(world: World, payload: str) -> None:
    """Only a face that is broken signs this; it gets an error or nothing."""
    with world.agent(payload, sign(payload)) as connection:
        try:
            row = connection.execute("SELECT count(*) AS n FROM neurigraph.graph_index").fetchone()
        except psycopg.DataError:
            return
        assert row == {"n": 0}


def test_claims_end_with_their_transaction(world: World) -> None:
    database, count = world.installation.database, sql.SQL("SELECT count(*) AS n FROM neurigraph.graph_index")
    for _ in range(world.installation.settings.database.pool_size + 1):
        with database.agent(world.alices) as tx:
            (seen,) = tx.execute(count).fetchall()
        assert seen["n"] > 0
        assert database.ask(None, count, {}) == [{"n": 0}]
        assert database.ask(world.alices, count, {}) == [seen]
        with database.agent(None) as tx:
            assert tx.execute(count).fetchone() == {"n": 0}
        assert database.ask(None, count, {}) == [{"n": 0}]


def test_revoked_or_expired_key(world: World) -> None:
    database = world.installation.database
    key = issue_api_key(database, world.alice.user_id)
    assert authenticate(database, key) == world.alices
    for column in ("revoked_at", "expires_at"):
        with database.owner() as tx:
            tx.execute(
                sql.SQL("UPDATE neurigraph.api_keys SET {} = now() WHERE key_hash = %s").format(sql.Identifier(column)),
                [api_key_hash(key)],
            )
        with pytest.raises(UnauthenticatedError):
            authenticate(database, key)
    for wrong in ("", "ng_", key[:-1], key + "x", "\ud800", "x" * 100_000):
        with pytest.raises(UnauthenticatedError):
            authenticate(database, wrong)


# Writing


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO neurigraph.sources (user_id, kind, external_id) VALUES (%(bob)s, 'conversation', 'planted')",
        """INSERT INTO neurigraph.messages
        (source_id, user_id, seq, role, token_count, content_hash, occurred_at, external_id)
        VALUES (%(source)s, %(bob)s, 99, 'user', 1, sha256(''), now(), 'planted')""",
        """INSERT INTO neurigraph.messages
        (source_id, user_id, seq, role, token_count, content_hash, occurred_at, external_id)
        VALUES (%(source)s, %(alice)s, 99, 'user', 1, sha256(''), now(), 'planted')""",
        "INSERT INTO neurigraph.warm_nodes (user_id, node_id, expires_at) VALUES (%(bob)s, %(root)s, now())",
        "INSERT INTO neurigraph.warm_nodes (user_id, node_id, expires_at) VALUES (%(alice)s, %(root)s, now())",
    ],
)
def test_foreign_rows_are_refused(world: World, statement: str) -> None:
    values = {
        "alice": world.alice.user_id,
        "bob": world.bob.user_id,
        "source": world.bobs_source,
        "root": world.bob.root_node_id,
    }
    with (
        pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation)),
        world.installation.database.agent(world.alices) as tx,
    ):
        tx.execute(sql.SQL(statement), values)
