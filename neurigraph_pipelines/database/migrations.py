"""The migration runner: brings the shared schema up to date with numbered, forward-only files.

Every file is applied in a transaction of its own, and an advisory lock lets concurrent runs take turns. The files of
``sql/routines`` follow: functions, triggers and policies, which have one text each and are replaced when it changes.
Tables and data belong in a migration.

Node schemas are upgraded by ``graph.provisioning``, in batches and on first write: one pass over thousands of schemas
would block writers.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.rows import dict_row

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import (
    BASELINE,
    Migration,
    Routine,
    newest,
    numbered,
    routines,
    statements,
)
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import Database, Transaction

MINIMUM_POSTGRES = 150_000
MINIMUM_VECTOR = (0, 7)
LOGIN_ROLES = ("neurigraph_pipeline", "neurigraph_agent", "neurigraph_dagster")

_QUERIES = statements("migrations")
_FIRST = BASELINE["shared"]
"""Number of the only migration that runs before neurigraph_owner exists, as the connecting administrator."""

_LAST_BEFORE_BASELINE = 29
_JOURNAL_BEFORE_BASELINE = "732c8d327e1d4e66b29765f8e3888b03c34f8c4721e79c67c680e149fd3cdb3f"
"""SHA-256 of the checksums of all migrations and routines of the last version before the baseline."""
_VERSION_BEFORE_BASELINE = "the version before the baseline (commit e5c5ece)"

_FINGERPRINT = "secret of the passwords: "
"""Comment on a role: unlike a table, it belongs to the whole server, as the roles do."""

_ROLE_ATTEMPTS = 20
_ROLE_CONFLICTS = (
    psycopg.errors.InternalError_,  # "tuple concurrently updated"
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateObject,
)


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The result of a run: names of applied migrations and replaced routine files, and the version of the schema."""

    applied: tuple[str, ...]
    routines: tuple[str, ...]
    version: int


def migrate(
    url: str,
    secret: Secret,
    *,
    on_applied: Callable[[str], None] | None = None,
    up_to: int | None = None,
    replace_claims_key: bool = False,
    replace_passwords: bool = False,
) -> MigrationReport:
    """Apply missing migrations, replace outdated routines, and set role logins and the claims key.

    Args:
        url: A user who may create roles, schemas and the vector extension.
        secret: Passwords and the claims key are derived from it. Another one than before is refused, since it would
            lock out every running process.
        on_applied: Called with the name of each migration after its commit.
        up_to: Stop after this number; for tests of upgrades.
        replace_claims_key: Accept another secret of the claims than before.
        replace_passwords: Accept another secret of the passwords than before.

    Raises:
        ConfigurationError: The server is too old, has no pgvector or cannot be reached, the database was migrated by
            other files or is too old to upgrade, or the secret is another one.
    """
    with _connect(url) as connection:
        connection.execute(_QUERIES["lock"])
        try:
            _check_server(connection)
            if not replace_passwords:
                _require_passwords(connection, secret)
            if not replace_claims_key:
                _require_same_secret(connection, secret)
            applied = _apply_missing(connection, on_applied, up_to)
            _set_logins(connection, secret)
            inner, outer = secret.claims_pads()
            replaced: list[str] = []
            if up_to is None or up_to >= newest("shared"):
                with connection.transaction():
                    connection.execute(_QUERIES["become_owner"])
                    replaced = _replace_routines(connection)
                    connection.execute(_QUERIES["store_claims_key"], {"inner_pad": inner, "outer_pad": outer})
            version = max((row["number"] for row in connection.execute(_QUERIES["applied"])), default=0)
        finally:
            connection.execute(_QUERIES["unlock"])
    return MigrationReport(applied=tuple(applied), routines=tuple(replaced), version=version)


@dataclass(frozen=True, slots=True)
class MigrationsAhead:
    """What ``migrate`` has to do: names of migrations and routine files, and the version that the database has."""

    missing: tuple[str, ...]
    routines: tuple[str, ...]
    version: int


def migrations_ahead(url: str) -> MigrationsAhead:
    """Return what ``migrate`` has to do. Changes nothing.

    Args:
        url: As for ``migrate``.

    Raises:
        ConfigurationError: The server cannot be reached, or the database is newer than this version.
    """
    with _connect(url) as connection:
        known = _known(connection)
        version = max(known, default=0)
        if version > newest("shared"):
            raise _newer_database(version)
        missing = tuple(f"{m.number:04d}_{m.name}" for m in numbered("shared") if m.number not in known)
        # A migration makes all routines again.
        outdated = routines() if missing else _outdated_routines(connection)
        return MigrationsAhead(missing, tuple(routine.name for routine in outdated), version)


def require_current(database: Database) -> None:
    """Check that the shared schema is the one that this version works with.

    Raises:
        ConfigurationError: The schema is missing, older or newer, the roles are missing, or the server cannot be
            reached.
    """
    with database.owner() as tx:
        known = _known(tx)
        version = max(known, default=0)
        is_before_baseline = min(known, default=_FIRST) < _FIRST
        outdated = version == newest("shared") and not is_before_baseline and _outdated_routines(tx)
    if is_before_baseline:
        raise ConfigurationError(
            f"the database is at migration {version} of the schema before the baseline: "
            "run `neurigraph migrate` to bring it up to date"
        )
    if version < newest("shared"):
        raise ConfigurationError(
            f"the database is at migration {version} of {newest('shared')}: "
            "run `neurigraph migrate` to bring it up to date"
        )
    if version > newest("shared"):
        raise _newer_database(version)
    if outdated:
        raise ConfigurationError(
            "the functions of the database are not those of this version: run `neurigraph migrate` to replace them"
        )


def require_secret(database: Database, secret: Secret) -> None:
    """Check that a migrated database knows the secret.

    Raises:
        ConfigurationError: It was set up with another one.
    """
    with database.owner() as tx:
        _require_claims_key(tx, secret)


def _connect(url: str) -> Connection[dict[str, Any]]:
    try:
        return psycopg.connect(url, autocommit=True, row_factory=dict_row)
    except psycopg.OperationalError as error:
        raise ConfigurationError(f"cannot connect to Postgres: {str(error).strip()}") from error


def _require_passwords(connection: Connection[dict[str, Any]], secret: Secret) -> None:
    """Check that the passwords of the server's roles follow from no other secret."""
    row = connection.execute(_QUERIES["roles_fingerprint"]).fetchone()
    known = (row["description"] or "").removeprefix(_FINGERPRINT) if row else ""
    if known and known != secret.roles_fingerprint():
        raise ConfigurationError(
            "the passwords of this server's roles follow from another secret: set NEURIGRAPH_ROLE_SECRET, or the file "
            "role_secret in the home folder, to the one in use, or replace it by `neurigraph rotate-secret`"
        )


def _require_same_secret(connection: Connection[dict[str, Any]], secret: Secret) -> None:
    """Check that the database, which may be new, knows no other secret of the claims."""
    with connection.transaction():
        present = connection.execute(_QUERIES["has_claims_key"]).fetchone()
        if present is not None and present["present"]:
            connection.execute(_QUERIES["become_owner"])
            _require_claims_key(connection, secret)


def _require_claims_key(tx: Transaction, secret: Secret) -> None:
    row = tx.execute(_QUERIES["claims_key"]).fetchone()
    if row is not None and not hmac.compare_digest(bytes(row["inner_pad"]), secret.claims_pads()[0]):
        raise ConfigurationError(
            "this database was set up with another secret: set NEURIGRAPH_SECRET, or the file secret in the home "
            "folder, to the one in use, or replace it by `neurigraph rotate-secret`"
        )


def _newer_database(version: int) -> ConfigurationError:
    return ConfigurationError(
        f"this database is at migration {version}, newer than this Neurigraph ({newest('shared')}): "
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
    known = _known(connection)
    if known and min(known) < _FIRST:
        _adopt_baseline(connection, max(known))
        known = _known(connection)
    if known and max(known) > newest("shared"):
        raise _newer_database(max(known))
    applied: list[str] = []
    for migration in numbered("shared"):
        before = known.get(migration.number)
        if up_to is not None and migration.number > up_to:
            break
        if before is None:
            _retry_role_changes(partial(_apply, connection, migration))
            applied.append(f"{migration.number:04d}_{migration.name}")
            if on_applied is not None:
                on_applied(applied[-1])
        elif before != migration.checksum:
            raise ConfigurationError(
                f"migration {migration.number:04d}_{migration.name} was changed after it was applied here: "
                "restore the file and add a new migration instead"
            )
    return applied


def _known(tx: Transaction) -> dict[int, str]:
    """Return the checksum of each applied migration by its number; empty without a journal."""
    journal = tx.execute(_QUERIES["has_journal"]).fetchone()
    assert journal is not None
    if not journal["present"]:
        return {}
    return {row["number"]: row["checksum"] for row in tx.execute(_QUERIES["applied"])}


def _apply(connection: Connection[dict[str, Any]], migration: Migration) -> None:
    """Apply a migration. All routines are replaced after it, since policies are made for the tables that exist."""
    with connection.transaction():
        if migration.number > _FIRST:
            connection.execute(_QUERIES["become_owner"])
        connection.execute(migration.statement)
        if migration.number == _FIRST:
            connection.execute(_QUERIES["become_owner"])
            connection.execute(_QUERIES["create_journal"])
            connection.execute(_QUERIES["create_routines_journal"])
        _note_applied(connection, migration)
        connection.execute(_QUERIES["clear_routines_journal"])


def _note_applied(connection: Transaction, migration: Migration) -> None:
    connection.execute(
        _QUERIES["note_applied"],
        {"number": migration.number, "name": migration.name, "checksum": migration.checksum},
    )


def _adopt_baseline(connection: Connection[dict[str, Any]], version: int) -> None:
    """Rewrite the journal of a database at the last migration before the baseline, whose tables are the baseline's.

    Nodes keep their number: the baseline of ``sql/node`` has the number of the last file before it.

    Raises:
        ConfigurationError: The database, or one of its nodes, is older, or was migrated by other files.
    """
    remedy = f"run `neurigraph migrate` of {_VERSION_BEFORE_BASELINE} first, then run it again with this one"
    if version < _LAST_BEFORE_BASELINE:
        raise ConfigurationError(f"this database is at migration {version} of the schema before the baseline: {remedy}")
    with connection.transaction():
        connection.execute(_QUERIES["become_owner"])
        connection.execute(_QUERIES["create_routines_journal"])
        if version > _LAST_BEFORE_BASELINE or _journal_checksum(connection) != _JOURNAL_BEFORE_BASELINE:
            raise ConfigurationError(
                "the migrations or functions of this database are not those of the last version before the baseline: "
                f"{remedy}"
            )
        older = connection.execute(_QUERIES["count_older_nodes"], {"version": BASELINE["node"]}).fetchone()
        assert older is not None
        if older["nodes"]:
            raise ConfigurationError(f"{older['nodes']} nodes of this database have older tables: {remedy}")
        connection.execute(_QUERIES["drop_unused_functions"])
        connection.execute(_QUERIES["clear_journal"])
        connection.execute(_QUERIES["clear_routines_journal"])
        for migration in numbered("shared"):
            if migration.number <= _LAST_BEFORE_BASELINE:
                _note_applied(connection, migration)


def _journal_checksum(tx: Transaction) -> str:
    lines = [f"{number} {checksum}" for number, checksum in sorted(_known(tx).items())]
    lines += sorted(f"{row['name']} {row['checksum']}" for row in tx.execute(_QUERIES["routines"]))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _outdated_routines(tx: Transaction) -> list[Routine]:
    present = {row["name"]: row["checksum"] for row in tx.execute(_QUERIES["routines"])}
    return [routine for routine in routines() if present.get(routine.name) != routine.checksum]


def _replace_routines(connection: Transaction) -> list[str]:
    """Replace outdated routines in the caller's transaction, so that no session sees functions of two versions."""
    outdated = _outdated_routines(connection)
    for routine in outdated:
        connection.execute(routine.statement)
        connection.execute(_QUERIES["note_routine"], {"name": routine.name, "checksum": routine.checksum})
    return [routine.name for routine in outdated]


def _set_logins(connection: Connection[dict[str, Any]], secret: Secret) -> None:
    def set_passwords() -> None:
        with connection.transaction():
            for role in LOGIN_ROLES:
                password = sql.Literal(secret.role_password(role))
                connection.execute(_QUERIES["set_login"].format(role=sql.Identifier(role), password=password))
            fingerprint = sql.Literal(_FINGERPRINT + secret.roles_fingerprint())
            connection.execute(_QUERIES["note_roles_fingerprint"].format(fingerprint=fingerprint))

    _retry_role_changes(set_passwords)
    database = sql.Identifier(connection.info.dbname)
    _retry_role_changes(partial(connection.execute, _QUERIES["reset_agent"]))
    for query in (_QUERIES["reset_agent_here"], _QUERIES["set_dagster_search_path"]):
        connection.execute(query.format(database=database))


def _retry_role_changes(change_roles: Callable[[], object]) -> None:
    """Retry on conflicts: roles belong to the whole server, and another database's migration may change them too."""
    for attempt in range(1, _ROLE_ATTEMPTS + 1):
        try:
            change_roles()
            return
        except _ROLE_CONFLICTS:
            if attempt == _ROLE_ATTEMPTS:
                raise
            time.sleep(0.05 * attempt)
