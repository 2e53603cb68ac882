"""Dagster's storage, with the database's address from a file and with connections that are used again.

Run configuration can quote the environment of Dagster's processes (``{"env": NAME}``), and Dagster passes the
configuration of its storage on in command lines. So neither holds the address, which contains a password.

Dagster opens a connection for every query, and looks for its tables whenever it makes an instance, which it does for
every tick of a sensor. An idle daemon spent 40 % of its time on that, and Postgres as much again.
``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy
from dagster import DagsterInvariantViolationError
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage

DATABASE_FILE = "database_url"
"""The file in ``DAGSTER_HOME`` with the address; ``runtime.stack.dagster_home`` writes it."""


_IDLE_CONNECTIONS = 2
"""Connections that a process keeps."""

_BURST_CONNECTIONS = 30
"""Connections that a process may open besides; Dagster itself sets no limit."""

_OLDEST_SECONDS = 300

_engines: dict[str, sqlalchemy.Engine] = {}
"""The pool of each address that this process has used."""


class HomeStorage(DagsterPostgresStorage):
    """Dagster's storage in Postgres, at the address in ``DAGSTER_HOME/database_url``.

    Its three parts, and all instances in a process, share one pool of connections.

    Args:
        url: The address.
        inst_data: How Dagster makes it again in another process.
    """

    def __init__(self, url: str, inst_data: ConfigurableClassData | None) -> None:
        super().__init__(url, should_autocreate_tables=url not in _engines, inst_data=inst_data)
        engine = _engines.setdefault(url, _engine(url))
        for part in (self.run_storage, self.event_log_storage, self.schedule_storage):
            vars(part)["_engine"] = engine

    @classmethod
    def config_type(cls) -> dict[str, object]:
        """Return the configuration's schema: nothing can be configured."""
        return {}

    @classmethod
    def from_config_value(
        cls,
        inst_data: ConfigurableClassData | None,
        config_value: Mapping[str, object],  # noqa: ARG003
    ) -> HomeStorage:
        """Make the storage; ``config_value`` is empty.

        Raises:
            DagsterInvariantViolationError: The file is missing.
        """
        return cls(home_file(DATABASE_FILE), inst_data)


def home_file(name: str) -> str:
    """Return the content of a file in ``DAGSTER_HOME``.

    Raises:
        DagsterInvariantViolationError: It is missing.
    """
    path = Path(os.environ["DAGSTER_HOME"]) / name
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError as error:
        raise DagsterInvariantViolationError(
            f"{path} cannot be read ({error.strerror}): start Dagster by `neurigraph up`, `neurigraph ui` or "
            "`neurigraph daemon`, which write it"
        ) from error


def home_engine() -> sqlalchemy.Engine:
    """Return this process's pool of connections to Dagster's storage."""
    url = home_file(DATABASE_FILE)
    return _engines.setdefault(url, _engine(url))


def _engine(url: str) -> sqlalchemy.Engine:
    """Return a pool that tries a connection before use, because the server may have been restarted."""
    return sqlalchemy.create_engine(
        url,
        isolation_level="AUTOCOMMIT",
        pool_size=_IDLE_CONNECTIONS,
        max_overflow=_BURST_CONNECTIONS,
        pool_pre_ping=True,
        pool_recycle=_OLDEST_SECONDS,
    )
