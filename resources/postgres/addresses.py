"""Forms of the address of a Postgres database."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from psycopg.conninfo import conninfo_to_dict


def as_sqlalchemy_url(url: str) -> str:
    """Return a psycopg connection string as a SQLAlchemy URL that names the driver of Dagster's storage."""
    parts = conninfo_to_dict(url)
    credentials = f"{quote(str(parts.pop('user')), safe='')}:{quote(str(parts.pop('password')), safe='')}"
    host, port, database = (parts.pop(name, None) for name in ("host", "port", "dbname"))
    options = {name: str(value) for name, value in parts.items()}
    address = str(host or "localhost")
    if address.startswith("/"):
        options["host"], address = address, ""
    return f"postgresql+psycopg2://{credentials}@{address}:{port or 5432}/{quote(str(database), safe='')}" + (
        f"?{urlencode(options)}" if options else ""
    )
