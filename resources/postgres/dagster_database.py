"""The database of Dagster's storage, on the same server beside that of the memories.

Dagster lists the tables of its database many times a second, and that takes longer with each relation that the database
has: memories have some eight a node (docs/adr/0037-stock-dagster.md).
"""

from __future__ import annotations

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import Transaction
from resources.postgres.database import url_for_role

ROLE = "neurigraph_dagster"

_SUFFIX = "_dagster"
_LONGEST_NAME = 63 - len("_dagster_being_restored")
"""In bytes: Postgres cuts longer names off, and two databases would be one."""

_QUERIES = statements("dagster_database")


def dagster_database(url: str) -> str:
    """Return the name of Dagster's database beside the database of an address.

    Raises:
        ConfigurationError: The name of the database leaves no room for it.
    """
    parts = conninfo_to_dict(url)
    name = str(parts.get("dbname") or parts["user"])
    if len(name.encode()) > _LONGEST_NAME:
        raise ConfigurationError(
            f"the name of the database {name!r} is too long: Dagster's is called NAME{_SUFFIX}, so give it one of at "
            f"most {_LONGEST_NAME} bytes"
        )
    return name + _SUFFIX


def dagster_address(url: str, secret: Secret) -> str:
    """Return the address of Dagster's database for its role, which owns it."""
    return url_for_role(make_conninfo(url, dbname=dagster_database(url)), ROLE, secret)


def ensure_dagster_database(administrator_url: str, name: str | None = None) -> None:
    """Make Dagster's database unless it exists, and let no other role connect to it.

    Programs may do so at once, and die at any moment: the next call does the rest.

    Args:
        administrator_url: The database of the memories; with ``name`` any database of the server.
        name: Another name for it.

    Raises:
        ConfigurationError: The administrator may not create databases, or the name is taken by one of somebody else.
    """
    name = name or dagster_database(administrator_url)
    names = {"name": sql.Identifier(name)}
    with psycopg.connect(administrator_url, autocommit=True, row_factory=dict_row) as connection:
        connection.execute(_QUERIES["lock"])
        found = found_database(connection, name)
        if found is None:
            try:
                connection.execute(_QUERIES["create"].format(**names))
            except psycopg.errors.InsufficientPrivilege as error:
                raise ConfigurationError(
                    f"{connection.info.user} may not create Dagster's database: run "
                    f"{_QUERIES['create'].format(**names).as_string(connection)} as a user who may"
                ) from error
        if found is None or found["is_open"]:
            with connection.transaction():
                connection.execute(_QUERIES["become_dagster"])
                connection.execute(_QUERIES["close"].format(**names))
                connection.execute(_QUERIES["show_size"].format(**names))


def found_database(connection: Transaction, name: str) -> DictRow | None:
    """Return whether Dagster's database is open to everybody; None if there is none.

    Raises:
        ConfigurationError: A database of this name belongs to somebody else, and nothing may touch it.
    """
    found = connection.execute(_QUERIES["found"], {"name": name}).fetchone()
    if found is not None and found["owner"] != ROLE:
        raise ConfigurationError(
            f"the database {name!r} is not Dagster's, as it belongs to {found['owner']}: rename it, or make {ROLE} its "
            "owner if it was made for Dagster here"
        )
    return found
