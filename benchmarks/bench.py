"""The environment of a benchmark: a real server, new installations in it, a folder, and the requested size."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self
from uuid import uuid4

import psycopg

from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import ensure_database
from resources.postgres.embedded import EmbeddedPostgres, ServerLease

PROJECT_ROOT = Path(__file__).resolve().parent.parent
_FOREIGN_SETTINGS = ("NEURIGRAPH_", "OPENAI_", "VOYAGE_", "DAGSTER_")
_OF_MODEL = ("NEURIGRAPH_LANGUAGE_MODEL", "NEURIGRAPH_MODEL_", "NEURIGRAPH_OPENAI_MODEL", "OPENAI_")
_SECRET = "what signs the claims of benchmarks, long enough"


class SkippedError(Exception):
    """A benchmark cannot run here; the message says why, and its section stays unchanged."""


class Bench:
    """One run of benchmarks; a context manager that leaves no process and no file behind.

    Args:
        quick: Only check that everything works: few repetitions, small inputs.
        large: Also use the biggest inputs, which need an hour.
        own: The caller's settings by variable. Only those of a language model are used, and only if they choose one
            by name: a key alone spends nobody's money.
    """

    def __init__(self, *, quick: bool, large: bool = False, own: Mapping[str, str] | None = None) -> None:
        self.quick = quick
        self.large = large
        self._own_model = {name: value for name, value in (own or {}).items() if name.startswith(_OF_MODEL)}
        if not {"NEURIGRAPH_LANGUAGE_MODEL", "NEURIGRAPH_LANGUAGE_MODEL_URL"} & self._own_model.keys():
            self._own_model.clear()
        self._open = ExitStack()

    def __enter__(self) -> Self:
        self.folder = Path(tempfile.mkdtemp(prefix="neurigraph-bench-"))
        self._open.callback(shutil.rmtree, self.folder)
        self.folder.chmod(0o711)  # the unprivileged account of a server that root starts passes through
        (self.folder / "models").mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def say(self, text: str) -> None:
        """Print progress to stderr."""
        print(f"  {text}", file=sys.stderr, flush=True)

    @cached_property
    def server(self) -> ServerLease:
        """The embedded server that all benchmarks share."""
        return self._open.enter_context(EmbeddedPostgres(self.folder).lease())

    def database(self, name: str) -> str:
        """Return a superuser's address of the database ``name``, which is created if it does not exist."""
        ensure_database(self._url("postgres"), name)
        return self._url(name)

    @contextmanager
    def installation(self, *, own_model: bool = False, embedder: str = "neurigraph") -> Iterator[Installation]:
        """Yield an empty migrated installation with its own database and home, and offline models.

        Args:
            own_model: Use the language model that the caller's settings choose, if they do.
            embedder: The setting of that name.
        """
        name = f"bench_{uuid4().hex}"
        home = self.folder / name
        home.mkdir()
        (home / "models").symlink_to(self.folder / "models")
        settings = Settings.model_validate(
            {
                "home": home,
                "database_url": self.database(name),
                "secret": _SECRET,
                "role_secret": _SECRET,
                "embedder": embedder,
                "ui_port": 0,
                **((self._own_model if own_model else None) or {"NEURIGRAPH_LANGUAGE_MODEL": "offline"}),
            }
        )
        with Installation(settings) as installation:
            installation.migrate()
            yield installation

    def environment(self, installation: Installation) -> dict[str, str]:
        """Return the environment variables with which another process opens the same installation."""
        return {
            **os.environ,
            "NEURIGRAPH_HOME": str(installation.home),
            "NEURIGRAPH_DATABASE_URL": installation.administrator_url,
            "NEURIGRAPH_SECRET": _SECRET,
            "NEURIGRAPH_ROLE_SECRET": _SECRET,
            "NEURIGRAPH_LANGUAGE_MODEL": "offline",
            "NEURIGRAPH_EMBEDDER": "neurigraph",
        }

    def circumstances(self) -> str:
        """Describe date, machine, versions and load."""
        with psycopg.connect(self._url("postgres"), autocommit=True) as connection:
            row = connection.execute(
                "SELECT current_setting('server_version'), "
                "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector')"
            ).fetchone()
        assert row is not None
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        return (
            f"{datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} "
            f"{platform.machine()}, Python {platform.python_version()}, Postgres {row[0]}, pgvector {row[1]}; "
            f"load over the last minute {os.getloadavg()[0]:.1f}"
        )

    def _url(self, database: str) -> str:
        return self.server.url(self.server.superuser, self.server.superuser_password, database)


def forget_own_settings() -> dict[str, str]:
    """Remove the caller's settings from the environment, so that they do not affect the figures, and return them."""
    own = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith(_FOREIGN_SETTINGS)}
    os.environ["DAGSTER_DISABLE_TELEMETRY"] = "1"
    return own


@contextmanager
def exported(environment: Mapping[str, str]) -> Iterator[None]:
    """Give ``environment`` to child processes while the block runs."""
    before = dict(os.environ)
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def in_turns(
    works: Sequence[Callable[[], object]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> list[list[float]]:
    """Return the seconds of each, alternating, so that a busy moment affects all. The first of each is dropped."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(repeats + 1):
        for taken, work in zip(seconds, works, strict=True):
            started = clock()
            work()
            taken.append(clock() - started)
    return [taken[1:] for taken in seconds]
