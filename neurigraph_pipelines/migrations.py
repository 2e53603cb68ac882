"""Brings the shared schema up to date: numbered, forward, idempotent, safe when two run at once.

After the migrations come the functions of ``sql/routines``, each file as a whole whenever it changed: a function has
one text that is edited in place. What holds data, and what such a function needs to be there, is a migration.

Node schemas are upgraded by ``graph.provisioning``, in bounded batches and on first write, because one sweep over
thousands of schemas would hold everything up.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import dict_row

from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.errors import ConfigurationError
from neurigraph_pipelines.ports import Database, Transaction
from neurigraph_pipelines.statements import Migration, Routine, numbered, routines, statements

MINIMUM_POSTGRES = 150_000
MINIMUM_VECTOR = (0, 7)
LOGIN_ROLES = ("neurigraph_pipeline", "neurigraph_agent", "neurigraph_dagster")

_QUERIES = statements("migrations")
_ADMINISTRATOR_MIGRATIONS = 1  # only the first runs before neurigraph_owner exists
_ROLE_ATTEMPTS = 20
_ROLE_CONFLICTS = (
    psycopg.errors.InternalError_,  # "tuple concurrently updated"
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateObject,
)


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """What a run did: numbers and names it applied, files of functions it put in, and where the schema stands now."""

    applied: tuple[str, ...]
    routines: tuple[str, ...]
    version: int


def migrate(
    url: str, secret: Secret, *, on_applied: Callable[[str], None] | None = None, up_to: int | None = None
) -> MigrationReport:
    """Apply what is missing, and set the role logins and the claims key of this installation.

    Args:
        url: A user who may create roles, schemas and the vector extension.
        secret: What passwords and the claims key are derived from.
        on_applied: Told of each migration once it is in.
        up_to: Stop after this number; for tests of upgrades.

    Raises:
        ConfigurationError: The server is too old, has no pgvector, cannot be reached, or was migrated by other files.
    """
    try:
        connection = psycopg.connect(url, autocommit=True, row_factory=dict_row)
    except psycopg.OperationalError as error:
        raise ConfigurationError(f"cannot connect to Postgres: {str(error).strip()}") from error
    with connection:
        connection.execute(_QUERIES["lock"])
        try:
            _check_server(connection)
            applied = _apply_missing(connection, on_applied, up_to)
            _set_logins(connection, secret)
            inner, outer = secret.claims_pads()
            replaced: list[str] = []
            if len(numbered("shared")) == (up_to or len(numbered("shared"))):
                with connection.transaction():
                    connection.execute(_QUERIES["become_owner"])
                    replaced = _replace_routines(connection)
                    connection.execute(_QUERIES["store_claims_key"], {"inner_pad": inner, "outer_pad": outer})
            version = max((row["number"] for row in connection.execute(_QUERIES["applied"])), default=0)
        finally:
            connection.execute(_QUERIES["unlock"])
    return MigrationReport(applied=tuple(applied), routines=tuple(replaced), version=version)


def require_current(database: Database) -> None:
    """Make sure that the shared schema is the one this version works with.

    Raises:
        ConfigurationError: It is missing, older or newer; or the roles are, or the server cannot be reached.
    """
    with database.owner() as tx:
        journal = tx.execute(_QUERIES["has_journal"]).fetchone()
        assert journal is not None
        version = (
            max((row["number"] for row in tx.execute(_QUERIES["applied"])), default=0) if journal["present"] else 0
        )
        outdated = journal["knows_routines"] and _outdated_routines(tx)
    wanted = len(numbered("shared"))
    if version < wanted:
        raise ConfigurationError(
            f"the database is at migration {version} of {wanted}: run `neurigraph migrate` to bring it up to date"
        )
    if version > wanted:
        raise _newer_database(version)
    if outdated or not journal["knows_routines"]:
        raise ConfigurationError(
            "the functions of the database are not those of this version: run `neurigraph migrate` to replace them"
        )


def _newer_database(version: int) -> ConfigurationError:
    return ConfigurationError(
        f"this database is at migration {version}, newer than this Neurigraph ({len(numbered('shared'))}): "
        "install the newer version"
    )


def _check_server(connection: Connection[dict[str, Any]]) -> None:
    server = connection.execute(_QUERIES["server"]).fetchone()
    assert server is not None
    if server["version"] < MINIMUM_POSTGRES:
        raise ConfigurationError(
            f"Postgres {server['version_text']} is too old: Neurigraph needs 15 or newer. "
            "Unset NEURIGRAPH_DATABASE_URL to use the embedded server."
        )
    vector = server["vector_installed"] or server["vector_available"]
    if vector is None:
        raise ConfigurationError(
            "this Postgres has no pgvector: install the extension 'vector' 0.7 or newer on the server, "
            "or unset NEURIGRAPH_DATABASE_URL to use the embedded server."
        )
    if tuple(int(part) for part in vector.split(".")[:2]) < MINIMUM_VECTOR:
        raise ConfigurationError(
            f"pgvector {vector} is too old: Neurigraph needs 0.7 or newer. Install it on the server, then run "
            "ALTER EXTENSION vector UPDATE."
        )


def _apply_missing(
    connection: Connection[dict[str, Any]], on_applied: Callable[[str], None] | None, up_to: int | None
) -> list[str]:
    journal = connection.execute(_QUERIES["has_journal"]).fetchone()
    assert journal is not None
    known: dict[int, dict[str, Any]] = {}
    if journal["present"]:
        known = {row["number"]: row for row in connection.execute(_QUERIES["applied"])}
    files = numbered("shared")
    if known and max(known) > len(files):
        raise _newer_database(max(known))
    applied: list[str] = []
    for migration in files[:up_to]:
        before = known.get(migration.number)
        if before is None:
            _taking_turns(partial(_apply, connection, migration))
            applied.append(f"{migration.number:04d}_{migration.name}")
            if on_applied is not None:
                on_applied(applied[-1])
        elif before["checksum"] != migration.checksum:
            raise ConfigurationError(
                f"migration {migration.number:04d}_{migration.name} was changed after it was applied here: "
                "restore the file and add a new migration instead"
            )
    return applied


def _apply(connection: Connection[dict[str, Any]], migration: Migration) -> None:
    with connection.transaction():
        if migration.number > _ADMINISTRATOR_MIGRATIONS:
            connection.execute(_QUERIES["become_owner"])
        connection.execute(migration.statement)
        if migration.number == _ADMINISTRATOR_MIGRATIONS:
            connection.execute(_QUERIES["become_owner"])
            connection.execute(_QUERIES["create_journal"])
        connection.execute(
            _QUERIES["note_applied"],
            {"number": migration.number, "name": migration.name, "checksum": migration.checksum},
        )


def _outdated_routines(tx: Transaction) -> list[Routine]:
    present = {row["name"]: row["checksum"] for row in tx.execute(_QUERIES["routines"])}
    return [routine for routine in routines() if present.get(routine.name) != routine.checksum]


def _replace_routines(connection: Transaction) -> list[str]:
    """All in the transaction of the caller: nobody meets functions of two versions."""
    connection.execute(_QUERIES["create_routines_journal"])
    outdated = _outdated_routines(connection)
    for routine in outdated:
        connection.execute(routine.statement)
        connection.execute(_QUERIES["note_routine"], {"name": routine.name, "checksum": routine.checksum})
    return [routine.name for routine in outdated]


def _set_logins(connection: Connection[dict[str, Any]], secret: Secret) -> None:
    for role in LOGIN_ROLES:
        statement = _QUERIES["set_login"].format(
            role=sql.Identifier(role), password=sql.Literal(secret.role_password(role))
        )
        _taking_turns(partial(connection.execute, statement))
    database = sql.Identifier(connection.info.dbname)
    _taking_turns(partial(connection.execute, _QUERIES["reset_agent"]))
    for query in (_QUERIES["reset_agent_here"], _QUERIES["set_dagster_search_path"]):
        connection.execute(query.format(database=database))


def _taking_turns(change_roles: Callable[[], object]) -> None:
    """Roles belong to the whole server: another database's migration may change them at the same moment."""
    for attempt in range(1, _ROLE_ATTEMPTS + 1):
        try:
            change_roles()
            return
        except _ROLE_CONFLICTS:
            if attempt == _ROLE_ATTEMPTS:
                raise
            time.sleep(0.05 * attempt)
