"""Two users with memories, and connections as the agent's role with chosen claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from neurigraph_pipelines.database.schema import SHIPPED
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import url_for_role
from tests.conftest import SECRET
from tests.support.memories import converse, ingest, new_user, plain_context, schemas_of

NODE_TABLES = ("metadata_records", "file_manifest")
# The journal of migrations: nobody but the owner has any right on it.
OWNERS_OWN = {"schema_migrations", "schema_routines"}
# Tables about no user, which have no policies: no interface has any right on them.
ABOUT_NO_USER = {
    *OWNERS_OWN,
    *(
        "databases",
        "embedding_models",
        "heartbeats",
        "pipeline_totals",
        "queue_hold",
        "relation_types",
        "resident_keys",
    ),
    *("residents", "sign_in_attempts"),
}


@dataclass(frozen=True, slots=True)
class World:
    """Two users, each with stored memories and an unfinished conversation."""

    installation: Installation
    alice: User
    alices: Claims
    alices_source: UUID
    bob: User
    bobs: Claims
    bobs_source: UUID

    @contextmanager
    def agent(self, payload: str | None = None, signature: str | None = None) -> Iterator[Transaction]:
        """Connect as the agent role with the given claims."""
        url = url_for_role(self.installation.administrator_url, "neurigraph_agent", Secret(SECRET))
        with psycopg.connect(url, row_factory=dict_row) as connection:
            if payload is not None:
                connection.execute("SELECT set_config('request.jwt.claims', %s, false)", [payload])
            if signature is not None:
                connection.execute("SELECT set_config('neurigraph.claims_signature', %s, false)", [signature])
            yield connection

    def tables(self) -> list[sql.Identifier]:
        """Return every table of the project, those of node schemas included."""
        schemas = [
            *schemas_of(self.installation, self.alice).values(),
            *schemas_of(self.installation, self.bob).values(),
        ]
        with psycopg.connect(self.installation.administrator_url) as connection:
            found = connection.execute(
                "SELECT schemaname, tablename FROM pg_tables WHERE schemaname = 'neurigraph' OR schemaname = ANY(%s)",
                [schemas],
            ).fetchall()
        shared = {*SHIPPED.tables, *OWNERS_OWN} - {"claims_key"}  # which is in neurigraph_private
        assert len(found) == len(shared) + len(NODE_TABLES) * len(schemas)
        return [sql.Identifier(schema, table) for schema, table in found if table not in ABOUT_NO_USER]


def new_world(installation: Installation) -> World:
    """Create both users in an empty installation."""
    users = []
    for slug, friend in (("alice", "Ana"), ("bob", "Dave")):
        user, claims = new_user(installation, slug)
        converse(installation, claims, f"#Family/{friend} I met {friend}.", "How nice.", "@Ana:sister @Dave:friend")
        users.append((user, claims))
    ingest(plain_context(installation))
    (alice, alices), (bob, bobs) = users
    return World(
        installation,
        alice,
        alices,
        converse(installation, alices, "Alice has not finished.", external_id="unfinished", ended=False),
        bob,
        bobs,
        converse(installation, bobs, "Bob has not finished.", external_id="unfinished", ended=False),
    )
