"""Fixtures that every test may use: a real Postgres, fresh databases in it, and whole installations."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import hypothesis
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.migrations import migrate
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring import Installation
from resources.postgres.embedded import EmbeddedPostgres, ServerLease

# Where CI starts us in the background it is ignored, and so it would be in every process that a test starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# An example that waits its turn on a shared machine is no slow one.
hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
SECRET = "a secret of the tests, long enough to be taken"
ADMIN_KEY = "the administrator's key of the tests"
_TEMPLATE = "neurigraph_template"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-rankings", action="store_true", help="Write the stored rankings of questions anew.")


@pytest.fixture(scope="session")
def session_home() -> Iterator[Path]:
    """A home folder that an unprivileged server can reach, for the whole session."""
    home = Path(tempfile.mkdtemp(prefix="neurigraph-test-"))
    home.chmod(0o711)
    (home / "models").mkdir()  # the local model is built once and linked into every other home
    yield home
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def server(session_home: Path) -> Iterator[ServerLease]:
    """One embedded Postgres server for the whole session."""
    with EmbeddedPostgres(session_home).lease() as lease:
        yield lease


@pytest.fixture(scope="session")
def administrator(server: ServerLease) -> Iterator[psycopg.Connection]:
    """A connection that may create databases."""
    url = server.url(server.superuser, server.superuser_password, "postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        # Nobody needs these databases after a power cut, and making and dropping one is then five times faster.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")
        yield connection


@pytest.fixture(scope="session")
def template_database(server: ServerLease, administrator: psycopg.Connection) -> str:
    """A migrated database to copy from: a copy takes a tenth of the time."""
    administrator.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(_TEMPLATE)))
    migrate(server.url(server.superuser, server.superuser_password, _TEMPLATE), Secret(SECRET))
    return _TEMPLATE


@pytest.fixture
def empty_database_url(server: ServerLease, administrator: psycopg.Connection) -> Iterator[str]:
    """A new database with nothing in it."""
    yield from _database(server, administrator, "template1")


@pytest.fixture
def database_url(server: ServerLease, administrator: psycopg.Connection, template_database: str) -> Iterator[str]:
    """A new, migrated database."""
    yield from _database(server, administrator, template_database)


@pytest.fixture
def settings(tmp_path: Path, database_url: str) -> Settings:
    """Settings of an installation with a home and a database of its own, whatever the environment says."""
    return _settings(tmp_path, database_url)


@pytest.fixture
def installation(settings: Settings, session_home: Path) -> Iterator[Installation]:
    """An installation, migrated and empty; the local model is built once a session and linked into its home."""
    yield from _installation(settings, session_home)


@pytest.fixture(scope="module")
def shared_installation(
    tmp_path_factory: pytest.TempPathFactory,
    session_home: Path,
    server: ServerLease,
    administrator: psycopg.Connection,
    template_database: str,
) -> Iterator[Installation]:
    """The same for a whole module, whose tests leave what they find or keep to users of their own."""
    for url in _database(server, administrator, template_database):
        yield from _installation(_settings(tmp_path_factory.mktemp("installation"), url), session_home)


@pytest.fixture
def home_env(session_home: Path) -> dict[str, str]:
    """Environment of a subprocess that uses the embedded server of the session, as a newcomer's would."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    return {
        **kept,
        "NEURIGRAPH_HOME": str(session_home),
        "NEURIGRAPH_SECRET": SECRET,
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
    }


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Real conversations and meetings, which lie beside the project."""
    if not DATA.is_dir():
        pytest.skip(f"the data folder {DATA} is absent")
    return DATA


def _settings(folder: Path, database_url: str) -> Settings:
    return Settings.model_validate(
        {
            "home": folder / "home",
            "database_url": database_url,
            "secret": SECRET,
            "admin_key": ADMIN_KEY,
            "language_model": "offline",
            "embedder": "minilm",
        }
    )


def _installation(settings: Settings, session_home: Path) -> Iterator[Installation]:
    settings.home.mkdir(parents=True)
    (settings.home / "models").symlink_to(session_home / "models")
    with Installation(settings) as made:
        yield made


def _database(server: ServerLease, administrator: psycopg.Connection, template: str) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    identifier = sql.Identifier(name)
    administrator.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(identifier, sql.Identifier(template)))
    if template == _TEMPLATE:  # a copy has everything but the rights on the database itself
        administrator.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO neurigraph_owner").format(identifier))
    yield server.url(server.superuser, server.superuser_password, name)
    administrator.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
