"""The first day of the partitions: the day on which the installation was made, or stored its oldest memory."""

from datetime import UTC, date, datetime
from pathlib import Path

import psycopg
from pydantic import SecretStr

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.settings import Settings

EARLIEST = date(2026, 1, 1)
"""No installation is older."""

_QUERIES = statements("reports")


def first_day(settings: Settings) -> date:
    """Return the first day (UTC): that of the settings or of the database, and today before there is one."""
    url = settings.database.url
    return settings.runs.first_day or max(_of_home(settings.home) if url is None else _of_database(url), EARLIEST)


def _of_home(home: Path) -> date:
    """Return the day on which the embedded server of a home folder was made: its file of the version never changes."""
    made = home.expanduser() / "postgres" / "data" / "PG_VERSION"
    return datetime.fromtimestamp(made.stat().st_mtime, UTC).date() if made.exists() else datetime.now(UTC).date()


def _of_database(url: SecretStr) -> date:
    try:
        with psycopg.connect(url.get_secret_value(), connect_timeout=5) as connection:
            row = connection.execute(_QUERIES["first_day"]).fetchone()
    except psycopg.errors.UndefinedTable:
        return datetime.now(UTC).date()
    except psycopg.OperationalError:  # days must not vanish while the database is away
        return EARLIEST
    assert row is not None
    found: date = row[0]
    return found
