"""The step from the last version before the baseline, whose database is stored as a dump, to the baseline."""

from __future__ import annotations

import gzip
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.migrations import migrate, require_current
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import BASELINE, newest, numbered, routines
from neurigraph_pipelines.graph.history import record_at
from neurigraph_pipelines.graph.provisioning import create_user, find_user, provision_node
from neurigraph_pipelines.graph.upgrades import upgrade_nodes
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import AbsentObjectError, ConfigurationError
from neurigraph_pipelines.retrieval.open import open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import ADMIN_KEY, ROOT, SECRET
from tests.support.catalog import describe, differences
from tests.support.memories import WordEmbedder, converse, ingest, plain_context, rows

NEWEST_OF_BASELINE = 29
DUMP = ROOT / "tests" / "data" / "schema_before_baseline.sql.gz"
KILLED = """
import os, signal, sys
from neurigraph_pipelines.database import migrations
from neurigraph_pipelines.database.secret import Secret
noted = migrations._note_applied
def note(connection, migration):
    if migration.number == 25:
        os.kill(os.getpid(), signal.SIGKILL)
    noted(connection, migration)
migrations._note_applied = note
migrations.migrate(sys.argv[1], Secret(sys.argv[2]))
"""


@pytest.fixture
def older(empty_database_url: str, template_database: str) -> str:
    """A database as the last version before the baseline left it: a user, three nodes and two records."""
    assert template_database  # so the roles exist
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(gzip.decompress(DUMP.read_bytes()))
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO neurigraph_owner").format(name))
    return empty_database_url


@pytest.fixture
def opened(older: str, tmp_path: Path) -> Iterator[Installation]:
    """That database, migrated, as an installation."""
    migrate(older, Secret(SECRET))
    settings = Settings.model_validate(
        {
            "home": tmp_path / "home",
            "database_url": older,
            "secret": SECRET,
            "role_secret": SECRET,
            "admin_key": ADMIN_KEY,
            "language_model": "offline",
            "embedder": "minilm",
        }
    )
    with Installation(settings) as installation:
        yield installation


def journal(url: str) -> list[tuple[int, str]]:
    with psycopg.connect(url) as connection:
        return connection.execute(
            "SELECT number, checksum FROM neurigraph.schema_migrations ORDER BY number"
        ).fetchall()


def find(here: Installation, claims: Claims, query: str) -> list[dict[str, Any]]:
    return list(search(here.acting_for(claims).using(embedder=WordEmbedder()), Question(query)).hits)


def execute(url: str, statement: LiteralString) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


def test_database_before_the_baseline_becomes_the_baseline(older: str, database_url: str) -> None:
    create_user(PostgresDatabase(database_url, Secret(SECRET)), "bob")
    before = PostgresDatabase(older, Secret(SECRET))
    with pytest.raises(ConfigurationError, match="29 of the schema before the baseline: run `neurigraph migrate`"):
        require_current(before)
    report = migrate(older, Secret(SECRET))
    later = tuple(f"{m.number:04d}_{m.name}" for m in numbered("shared") if m.number > NEWEST_OF_BASELINE)
    assert (report.applied, report.version) == (later, newest("shared"))
    assert report.routines == tuple(routine.name for routine in routines())
    assert journal(older) == [(m.number, m.checksum) for m in numbered("shared")]
    assert upgrade_nodes(before) == 4
    assert differences(older, database_url) == []
    require_current(before)
    again = migrate(older, Secret(SECRET))
    assert (again.applied, again.routines) == ((), ())
    before.close()


def test_nodes_before_the_baseline_are_read_searched_and_written(opened: Installation) -> None:
    user = find_user(opened.database, "bob")
    claims = Claims.of_user(user.user_id)
    versions = rows(opened, "SELECT DISTINCT node_ddl_version AS version FROM neurigraph.graph_index")
    assert versions == [{"version": BASELINE["node"]}], "nodes are upgraded later"
    (found,) = rows(
        opened,
        "SELECT record_id FROM neurigraph.record_index AS r INNER JOIN neurigraph.graph_index AS g USING (node_id) "
        "WHERE g.node_name = 'Dave'",
    )
    hits = find(opened, claims, "Who sails?")
    assert hits[0]["record_id"] == str(found["record_id"])
    assert hits[0]["origin"]["voices"] == {"owner": 1}, "by its role"
    assert record_at(opened.database, claims, found["record_id"])["title"] == "#Family/Dave Dave sails a boat."
    # The dump has no objects: that the line is found is all there is to see.
    with pytest.raises(AbsentObjectError):
        open_message(opened.acting_for(claims), UUID(hits[0]["file_id"]), 1)
    assert upgrade_nodes(opened.database) == 3, "the failure was noted in one, which upgraded it"
    assert find(opened, claims, "Who sails?")[0] == hits[0]
    converse(opened, claims, "#Family/Dave He sails on Sundays.")
    ingest(plain_context(opened), user)
    assert {hit["title"] for hit in find(opened, claims, "Who sails on Sundays?")} >= {
        "#Family/Dave He sails on Sundays."
    }
    provision_node(opened.database, claims, user.root_node_id, "New")


def test_kill_during_the_step_leaves_the_database_before_the_baseline(older: str) -> None:
    before = (journal(older), describe(older))
    done = subprocess.run([sys.executable, "-c", KILLED, older, SECRET], cwd=ROOT, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert (journal(older), describe(older)) == before
    assert migrate(older, Secret(SECRET)).version == newest("shared")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            "DELETE FROM neurigraph.schema_migrations WHERE number > 17",
            "migration 17 of the schema before the baseline",
        ),
        ("UPDATE neurigraph.schema_migrations SET checksum = 'other' WHERE number = 9", "are not those of the last"),
        ("UPDATE neurigraph.schema_routines SET checksum = 'other' WHERE name = 'layers'", "are not those of the last"),
        ("DROP TABLE neurigraph.schema_routines", "are not those of the last"),
        ("INSERT INTO neurigraph.schema_migrations VALUES (30, 'later', '')", "are not those of the last"),
        ("UPDATE neurigraph.graph_index SET node_ddl_version = 3 WHERE layer_depth = 1", "2 nodes of this database"),
    ],
)
def test_other_databases_before_the_baseline_are_refused(older: str, change: LiteralString, complaint: str) -> None:
    execute(older, change)
    before = (journal(older), describe(older))
    remedy = "run `neurigraph migrate` of the version before the baseline .* first, then run it again with this one$"
    with pytest.raises(ConfigurationError, match=f"{complaint}.*: {remedy}") as caught:
        migrate(older, Secret(SECRET))
    assert "\n" not in str(caught.value)
    assert (journal(older), describe(older)) == before
