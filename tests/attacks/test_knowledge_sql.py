"""Every table of what is known and decided, attacked by direct SQL by callers of each kind.

What they read of a node is tested in ``test_node_isolation_sql``. Here strangers read nothing, and nobody writes past
the functions, the owner of the graph included.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.governance.proposals import Doubt, propose
from neurigraph_pipelines.knowledge.deciding import actions
from neurigraph_pipelines.knowledge.deciding.standards import set_standard
from neurigraph_pipelines.knowledge.reading import wait_for_reading
from neurigraph_pipelines.lifecycle import retention
from neurigraph_pipelines.model import Tier
from neurigraph_pipelines.views.actions import NewStandard
from neurigraph_pipelines.views.kinds import ActionKind, Rule
from tests.conftest import SECRET
from tests.support.callers import CallerGraph
from tests.support.known_callers import share_with_knowledge
from tests.support.memories import plain_context
from tests.support.two_users import World

pytestmark = pytest.mark.attack

TABLES = (
    "facts", "fact_deltas", "forgotten_facts", "pending_facts", "read_windows", "fact_verdicts", "pending_verdicts",
    "links", "signing_keys", "node_standards", "actions", "action_votes", "record_retention", "digests",
    "digest_records", "digest_failures", "profiles", "mentions", "edge_evidence", "node_aliases",
)  # fmt: skip
OWNERS_MAY = {
    ("node_standards", "INSERT"),
    ("node_standards", "UPDATE"),
    ("node_standards", "DELETE"),
    ("digests", "DELETE"),
}
"""What a policy leaves to the owner."""
STRANGERS = ("bob", "nothing", "revoked", "expired", None)
"""Callers to whom nothing of Alice's graph is shown; None has no claims."""
REFUSED = (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)
"""The latter: nothing is copied into a table with row-level security."""
ANYBODY = (*STRANGERS, "persona", "granted", "above", "alice")

ATTACKS = {
    "UPDATE": "UPDATE {table} SET user_id = user_id WHERE user_id = {alice}",
    "STEAL": "UPDATE {table} SET user_id = {bob} WHERE user_id = {alice}",
    "DELETE": "DELETE FROM {table} WHERE user_id = {alice}",
    "INSERT": "INSERT INTO {table} ({columns}) SELECT {columns} FROM jsonb_populate_record(NULL::{table}, {row})",
    "UPSERT": "INSERT INTO {table} ({columns}) SELECT {columns} FROM jsonb_populate_record(NULL::{table}, {row}) "
    "ON CONFLICT DO NOTHING",
    "COPY": "COPY {table} ({columns}) FROM STDIN",
    "TRUNCATE": "TRUNCATE {table} CASCADE",
    "LOCK": "LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE",
    "ALTER": "ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
    "TRIGGER": "CREATE TRIGGER mine BEFORE INSERT ON {table} EXECUTE FUNCTION neurigraph.follow_note()",
    "DROP": "DROP TABLE {table} CASCADE",
}


@pytest.fixture(scope="module")
def graph(world: World) -> CallerGraph:
    """Alice's graph, in which each of the tables has rows of hers."""
    made, here, alice = share_with_knowledge(world), world.installation, world.alices
    context, ids = plain_context(here).acting_for(alice), made.nodes["Family/Ana"]
    set_standard(context, ids.node, NewStandard(write=Rule.APPROVE, approver="consensus:2"))
    retention.set_tier(context, ids.record, Tier.MID)
    doubt = Doubt(ActionKind.ARCHIVE, world.alice.user_id, "planted", "tests", record_id=ids.record)
    with here.database.pipeline() as tx:
        action_id = propose(tx, doubt).action_id
        wait_for_reading(tx, [ids.record])
        tx.execute(
            "INSERT INTO neurigraph.pending_verdicts (record_id, user_id) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            [ids.record, world.alice.user_id],
        )
    actions.vote(context, action_id, approves=False)
    with here.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.forgotten_facts (record_id, statement_key, user_id) VALUES (%s, 1, %s)",
            [ids.record, world.alice.user_id],
        )
    return made


def kept(world: World, table: str) -> list[dict[str, Any]]:
    """The rows of Alice, as the administrator sees them."""
    with psycopg.connect(world.installation.administrator_url) as connection:
        found = connection.execute(
            sql.SQL("SELECT to_jsonb(t) FROM {} AS t WHERE t.user_id = %s ORDER BY to_jsonb(t)::text").format(
                named(table)
            ),
            [world.alice.user_id],
        ).fetchall()
    return [row for (row,) in found]


def columns_of(world: World, table: str) -> sql.Composed:
    """The columns of a table that can be written."""
    with psycopg.connect(world.installation.administrator_url) as connection:
        found = connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
            "AND attgenerated = ''",
            [f"neurigraph.{table}"],
        ).fetchall()
    return sql.SQL(", ").join(sql.Identifier(name) for (name,) in found)


def named(table: str) -> sql.Identifier:
    return sql.Identifier("neurigraph", table)


def signed(graph: CallerGraph, asker: str | None) -> tuple[str | None, str | None]:
    return Secret(SECRET).sign(graph.askers[asker].claims) if asker is not None else (None, None)


@pytest.mark.parametrize("table", TABLES)
def test_strangers_read_no_row(world: World, graph: CallerGraph, table: str) -> None:
    assert kept(world, table), "there is something to hide"
    count = sql.SQL("SELECT FROM {} WHERE user_id = %s").format(named(table))
    for asker in STRANGERS:
        with world.agent(*signed(graph, asker)) as connection:
            try:
                assert connection.execute(count, [world.alice.user_id]).rowcount == 0, asker
            except psycopg.errors.InsufficientPrivilege:
                connection.rollback()


@pytest.mark.parametrize("table", TABLES)
def test_nobody_writes_past_the_functions(world: World, graph: CallerGraph, table: str) -> None:
    before = kept(world, table)
    values = {
        "table": named(table), "columns": columns_of(world, table), "alice": sql.Literal(world.alice.user_id),
        "bob": sql.Literal(world.bob.user_id), "row": sql.Literal(Jsonb(before[0])),
    }  # fmt: skip
    for asker in ANYBODY:
        with world.agent(*signed(graph, asker)) as connection:
            for attack, statement in ATTACKS.items():
                if asker == "alice" and (table, attack) in OWNERS_MAY:
                    continue
                done = 0
                with suppress(*REFUSED), connection.transaction():
                    done = connection.execute(sql.SQL(statement).format(**values)).rowcount
                assert done <= 0, f"{asker} did {attack} with {done} rows"
    assert kept(world, table) == before


def test_every_table_of_the_second_half_is_attacked(world: World, graph: CallerGraph) -> None:
    """A table that has the user of a memory, and that a migration after facts made, is in the list."""
    assert graph.nodes
    with psycopg.connect(world.installation.administrator_url) as connection:
        found = connection.execute(
            "SELECT DISTINCT c.relname FROM pg_constraint AS f INNER JOIN pg_class AS c ON f.conrelid = c.oid "
            "WHERE f.contype = 'f' AND f.confrelid IN ('neurigraph.facts'::regclass, 'neurigraph.actions'::regclass, "
            "'neurigraph.digests'::regclass, 'neurigraph.signing_keys'::regclass)"
        ).fetchall()
    assert {name for (name,) in found} - set(TABLES) == {"notes"}
