"""Fixtures for all tests: a Postgres server, new databases in it, and whole installations."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from uuid import uuid4

import hypothesis
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.database.migrations import migrate
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.minilm.embedder import LocalEmbedder, NeurigraphEmbedder
from resources.postgres.dagster_database import dagster_database
from resources.postgres.embedded import EmbeddedPostgres, ServerLease
from tests.support.browser import Browser, find_chromium

# CI may start the tests in the background, where SIGINT is ignored. Processes that a test starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Containers often forbid compiled files. The tests start hundreds of processes; each would compile the project again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Temporary files go to memory where there is room. A copy of a database takes 0.03 s there and up to 0.4 s on ext4
# without a journal, which steps over all files deleted in the last seconds for each file it creates.
MEMORY, ROOM_BYTES = Path("/dev/shm"), 6 << 30
if "TMPDIR" not in os.environ and MEMORY.is_dir():
    memory = os.statvfs(MEMORY)
    runs_programs = not memory.f_flag & os.ST_NOEXEC  # root's server runs a copy of its programs from there
    if runs_programs and memory.f_bavail * memory.f_frsize > ROOM_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None

# Imported modules are some 500,000 objects. Looking through them less often saves 3 % of the time of the suite.
gc.set_threshold(100_000, 20, 50)

# The machine is shared, so an example may take any time.
hypothesis.settings.register_profile("shared machine", deadline=None)
hypothesis.settings.load_profile("shared machine")

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT.parent / "shared" / "data"
SECRET = "a secret of the tests, long enough to be taken"
ADMIN_KEY = "the administrator's key of the tests"
os.environ["NEURIGRAPH_FIRST_DAY"] = "2026-01-01"  # of the definitions, which tests load before an installation
TEMPLATE = os.environ.pop("NEURIGRAPH_TEST_TEMPLATE", "neurigraph_template")
WARM_HOME = os.environ.pop("NEURIGRAPH_TEST_HOME", None)
"""A home whose server runs and has the template, for many short runs of tests; None for a new one."""
# The files that take longest, longest first: each runs on one worker, and the short ones fill the gaps at the end.
LONGEST = (
    "end_to_end/test_docs.py",
    "attacks/test_openapi.py",
    "end_to_end/test_reliability.py",
    "end_to_end/test_run_starts.py",
    "end_to_end/test_workers.py",
    "integration/test_benchmarks.py",
    "integration/test_webhook_delivery.py",
    "attacks/test_node_isolation.py",
    "end_to_end/test_up.py",
    "integration/test_worker_memory.py",
    "integration/test_lifecycle_concurrency.py",
    "end_to_end/test_daemon.py",
    "integration/test_evidence.py",
    "integration/test_dagster_metadata.py",
    "integration/test_graph_growth.py",
    "end_to_end/test_compose.py",
    "integration/test_backup_elsewhere.py",
    "integration/test_move_user.py",
    "integration/test_poison.py",
    "integration/test_search.py",
    "end_to_end/test_wheel.py",
    "integration/test_graph_changes_concurrency.py",
    "integration/test_cli.py",
    "attacks/test_dagster_ui.py",
    "unit/test_linear_time.py",
    "integration/test_belief_invariants.py",
    "integration/test_answer_quality.py",
    "integration/test_layer_cache.py",
    "integration/test_mcp_app.py",
    "integration/test_resummarize_interfaces.py",
    "integration/test_s3_workflow.py",
    "integration/test_history_sequences.py",
    "integration/test_cli_processes.py",
    "integration/test_uploads.py",
    "integration/test_object_store_s3.py",
    "integration/test_api.py",
    "integration/test_embedding_assets.py",
    "integration/test_object_stores.py",
    "integration/test_cli_lifecycle.py",
    "integration/test_lifecycle.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-rankings", action="store_true", help="Write the stored rankings of questions again.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, and the others in their usual order."""
    place = {f"tests/{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.nodeid.partition("::")[0], len(place)))


@pytest.fixture(scope="session")
def session_home() -> Iterator[Path]:
    """A home folder that an unprivileged server can reach, for the whole session."""
    if WARM_HOME:
        yield Path(WARM_HOME)
        return
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
        # These databases need not survive a power cut, and creating and dropping one is then five times faster.
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("ALTER SYSTEM SET full_page_writes = off")
        connection.execute("SELECT pg_reload_conf()")
        yield connection


@pytest.fixture(scope="session")
def template_database(server: ServerLease, administrator: psycopg.Connection) -> str:
    """A migrated database to copy from: a copy takes a tenth of the time."""
    if administrator.execute("SELECT 1 FROM pg_database WHERE datname = %s", [TEMPLATE]).fetchone():
        return TEMPLATE  # of a warm home
    administrator.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
    migrate(server.url(server.superuser, server.superuser_password, TEMPLATE), Secret(SECRET))
    return TEMPLATE


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
    """Settings of an installation with its own home and database, independent of the environment."""
    return _settings(tmp_path, database_url)


@pytest.fixture(scope="session")
def local_embedder() -> LocalEmbedder:
    """The local embedder, loaded once for the whole session."""
    return NeurigraphEmbedder()


@pytest.fixture
def installation(settings: Settings, session_home: Path, local_embedder: LocalEmbedder) -> Iterator[Installation]:
    """An installation, migrated and empty; its home links to the local model of the session."""
    yield from _installation(settings, session_home, local_embedder)


@pytest.fixture(scope="module")
def new_installation(
    tmp_path_factory: pytest.TempPathFactory,
    session_home: Path,
    local_embedder: LocalEmbedder,
    server: ServerLease,
    administrator: psycopg.Connection,
    template_database: str,
) -> Callable[[], AbstractContextManager[Installation]]:
    """Makes installations of which a module needs one."""

    @contextmanager
    def make() -> Iterator[Installation]:
        for url in _database(server, administrator, template_database):
            settings = _settings(tmp_path_factory.mktemp("installation"), url)
            yield from _installation(settings, session_home, local_embedder)

    return make


@pytest.fixture(scope="module")
def shared_installation(
    new_installation: Callable[[], AbstractContextManager[Installation]],
) -> Iterator[Installation]:
    """An installation for a whole module. Its tests change nothing, or only what belongs to users of their own."""
    with new_installation() as made:
        yield made


@pytest.fixture
def home_env(session_home: Path) -> dict[str, str]:
    """Environment of a subprocess on the session's embedded server, with default settings as a new user has."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NEURIGRAPH_", "OPENAI_"))}
    return {
        **kept,
        "NEURIGRAPH_HOME": str(session_home),
        "NEURIGRAPH_SECRET": SECRET,
        "NEURIGRAPH_ROLE_SECRET": SECRET,
        "NEURIGRAPH_LANGUAGE_MODEL": "offline",
    }


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for the session; each of its pages has cookies and storage of its own."""
    chromium = find_chromium()
    if chromium is None:
        pytest.skip("there is no chromium")
    with Browser(chromium, tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder with real conversations and meetings, beside the project; the test is skipped without it."""
    if not DATA.is_dir():
        pytest.skip(f"the data folder {DATA} is absent")
    return DATA


def _settings(folder: Path, database_url: str) -> Settings:
    return Settings.model_validate(
        {
            "home": folder / "home",
            "database_url": database_url,
            "secret": SECRET,
            "role_secret": SECRET,
            "admin_key": ADMIN_KEY,
            "language_model": "offline",
            "embedder": "neurigraph",
            "ocr_seconds": 0,  # reading words in pictures takes seconds; its tests set it
        }
    )


def _installation(settings: Settings, session_home: Path, embedder: LocalEmbedder) -> Iterator[Installation]:
    settings.home.mkdir(parents=True)
    (settings.home / "models").symlink_to(session_home / "models")
    with Installation(settings) as made:
        made.embedder = embedder
        yield made


def _database(server: ServerLease, administrator: psycopg.Connection, template: str) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    identifier = sql.Identifier(name)
    # Copying the files takes half of the time of copying each page through the log.
    copy = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
    administrator.execute(copy.format(identifier, sql.Identifier(template)))
    if template == TEMPLATE:  # a copy lacks only the privileges on the database itself
        administrator.execute(sql.SQL("GRANT CREATE ON DATABASE {} TO neurigraph_owner").format(identifier))
    yield server.url(server.superuser, server.superuser_password, name)
    administrator.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
    dagsters = sql.Identifier(dagster_database(server.url(server.superuser, server.superuser_password, name)))
    administrator.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(dagsters))
