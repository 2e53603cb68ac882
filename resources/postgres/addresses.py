"""Forms of the address of a Postgres database."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from neurigraph_pipelines.model.errors import ConfigurationError


def checked_url(url: str, setting: str) -> str:
    """Return the address that a setting holds.

    Raises:
        ConfigurationError: It is not the address of a Postgres database.
    """
    try:
        conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ConfigurationError(f"{setting} is not the address of a Postgres database") from error
    return url


def as_sqlalchemy_url(url: str) -> str:
    """Return a psycopg connection string without a password as a URL of Dagster's storage."""
    parts = conninfo_to_dict(url)
    user = quote(str(parts.pop("user")), safe="")
    host, port, database = (parts.pop(name, None) for name in ("host", "port", "dbname"))
    options = {name: str(value) for name, value in parts.items()}
    address = str(host or "localhost")
    if address.startswith("/"):
        options["host"], address = address, ""
    return f"postgresql+psycopg2://{user}@{address}:{port or 5432}/{quote(str(database), safe='')}" + (
        f"?{urlencode(options)}" if options else ""
    )
