"""Databases of every released version become those of this one, and what was released is never edited.

``tests/data/released`` has a dump of each, which ``tests.support.released_schema`` writes.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.migrations import migrate, require_current
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import newest
from neurigraph_pipelines.graph.history import record_at
from neurigraph_pipelines.graph.provisioning import create_user, find_user
from neurigraph_pipelines.graph.upgrades import upgrade_nodes
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase
from tests.conftest import ADMIN_KEY, SECRET
from tests.support.catalog import differences
from tests.support.memories import WordEmbedder, converse, ingest, plain_context, rows
from tests.support.released_schema import CHECKSUMS, DUMPS, FOLDERS, checksums

RELEASES = sorted(dump.name.removesuffix(".sql.gz") for dump in DUMPS.glob("*.sql.gz"))


@pytest.fixture(params=RELEASES)
def released(request: pytest.FixtureRequest, empty_database_url: str, template_database: str) -> str:
    """A database as a released version left it: a user, three nodes and two records."""
    assert template_database  # so the roles exist
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute(gzip.decompress((DUMPS / f"{request.param}.sql.gz").read_bytes()))
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        name = sql.Identifier(connection.info.dbname)
        connection.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO neurigraph_owner").format(name))
        connection.execute("CREATE SCHEMA IF NOT EXISTS dagster AUTHORIZATION neurigraph_dagster")
    return empty_database_url


@pytest.fixture
def upgraded(released: str, tmp_path: Path) -> Iterator[Installation]:
    """That database, migrated, as an installation."""
    migrate(released, Secret(SECRET))
    settings: dict[str, Any] = {
        "home": tmp_path / "home",
        "database_url": released,
        "secret": SECRET,
        "role_secret": SECRET,
    }
    with Installation(
        Settings.model_validate({**settings, "admin_key": ADMIN_KEY, "language_model": "offline", "embedder": "minilm"})
    ) as installation:
        yield installation


def test_released_schema_becomes_this_one(released: str, database_url: str) -> None:
    report = migrate(released, Secret(SECRET))
    assert report.version == newest("shared")
    database = PostgresDatabase(released, Secret(SECRET))
    upgrade_nodes(database)
    require_current(database)
    database.close()
    create_user(PostgresDatabase(database_url, Secret(SECRET)), "bob")
    assert differences(released, database_url) == []
    again = migrate(released, Secret(SECRET))
    assert (again.applied, again.routines) == ((), ())


def test_released_memories_are_read_searched_and_written(upgraded: Installation) -> None:
    user = find_user(upgraded.database, "bob")
    claims = Claims.of_user(user.user_id)
    upgrade_nodes(upgraded.database)
    versions = rows(upgraded, "SELECT DISTINCT node_ddl_version AS version FROM neurigraph.graph_index")
    assert versions == [{"version": newest("node")}]
    asking = upgraded.acting_for(claims).using(embedder=WordEmbedder())
    hits = list(search(asking, Question("Who sails?")).hits)
    assert hits[0]["title"].startswith("#Family/Dave Dave sails a boat.")
    assert record_at(upgraded.database, claims, hits[0]["record_id"])["title"] == hits[0]["title"]
    converse(upgraded, claims, "#Family/Dave He sails on Sundays.")
    ingest(plain_context(upgraded), user)
    found = search(asking, Question("Who sails on Sundays?")).hits
    assert "#Family/Dave He sails on Sundays." in {hit["title"] for hit in found}
    findings = verify(upgraded.context, read=False).findings
    # The dump holds no objects; all else is whole.
    assert {finding.fault.value for finding in findings} <= {"object", "working_copy"}


def test_released_migrations_are_not_edited() -> None:
    """A database that has applied a file refuses every other text of it."""
    released: dict[str, dict[str, str]] = json.loads(CHECKSUMS.read_text())
    present = checksums()
    assert RELEASES
    for folder in FOLDERS:
        assert released[folder]
        assert {name: present[folder].get(name) for name in released[folder]} == released[folder]
