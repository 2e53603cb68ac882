"""Dagster's storage, with the database's address from a file instead of the environment.

Run configuration can quote the environment of Dagster's processes (``{"env": NAME}``), and Dagster passes the
configuration of its storage on in command lines. So neither holds the address, which contains a password.
``tests/unit/test_dagster_internals.py`` pins the internal names used here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dagster import DagsterInvariantViolationError
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage

DATABASE_FILE = "database_url"
"""The file in ``DAGSTER_HOME`` with the address; ``stack.dagster_home`` writes it."""


class HomeStorage(DagsterPostgresStorage):
    """Dagster's storage in Postgres, at the address in ``DAGSTER_HOME/database_url``."""

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        """Return the configuration's schema: nothing can be configured."""
        return {}

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]) -> HomeStorage:
        """Make the storage; ``config_value`` is empty.

        Raises:
            DagsterInvariantViolationError: The file is missing.
        """
        path = Path(os.environ["DAGSTER_HOME"]) / DATABASE_FILE
        try:
            url = path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise DagsterInvariantViolationError(
                f"{path} cannot be read ({error.strerror}): start Dagster by `neurigraph up`, `neurigraph ui` or "
                "`neurigraph daemon`, which write it"
            ) from error
        return cls(url, inst_data=inst_data, **config_value)
