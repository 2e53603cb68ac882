"""The migration runner: makes the schema in an empty database, and brings one of an earlier version up to date.

An empty database gets all of ``schema`` in one transaction, and each migration runs in a transaction of its own.
Functions, triggers and policies have one text each and are replaced when it changes. An advisory lock lets concurrent
runs take turns. A database that no migration leads from is refused: its users are exported and restored.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from neurigraph_pipelines.database.schema import SHIPPED, Migration, Schema, Script, node_statement
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.model.ports import Database, Transaction

MINIMUM_POSTGRES = 150_000
MINIMUM_VECTOR = (0, 7)
LOGIN_ROLES = ("neurigraph_pipeline", "neurigraph_agent", "neurigraph_dagster", "neurigraph_analyst")

_QUERIES = statements("migrations")
_MADE = "schema"
"""Name in the journal of the step that made the schema; its checksum is the digest of the schema."""

_FINGERPRINT = "secret of the passwords: "
"""Comment on a role: unlike a table, it belongs to the whole server, as the roles do."""

_ROLE_ATTEMPTS = 20
_ROLE_CONFLICTS = (
    psycopg.errors.InternalError_,  # "tuple concurrently updated"
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateObject,
)

_NO_WAY = (
    "no migration leads from the schema of this database to this version: run `neurigraph user export` (earlier "
    "`neurigraph export`) for each user with the version that made it, and `neurigraph import --format neurigraph` "
    "into a new one with this version"
)


@dataclass(frozen=True, slots=True)
class MigrationReport:
    """The result of a run: names of applied steps and replaced scripts, and the number of the schema."""

    applied: tuple[str, ...]
    routines: tuple[str, ...]
    version: int


def migrate(
    url: str,
    secret: Secret,
    *,
    on_applied: Callable[[str], None] | None = None,
    replace_claims_key: bool = False,
    replace_passwords: bool = False,
    schema: Schema = SHIPPED,
) -> MigrationReport:
    """Make the schema or bring it up to date, and set role logins and the claims key.

    Args:
        url: A user who may create roles, schemas and the vector extension.
        secret: Passwords and the claims key are derived from it. Another one than before is refused, since it would
            lock out every running process.
        on_applied: Called with the name of each step after its commit.
        replace_claims_key: Accept another secret of the claims than before.
        replace_passwords: Accept another secret of the passwords than before.
        schema: The files; others than those of this version are for tests.

    Raises:
        ConfigurationError: The server is too old, has no pgvector or cannot be reached, no migration leads from the
            schema of the database to this one, or the secret is another one.
    """
    applied: list[str] = []
    with _connect(url) as connection:
        connection.execute(_QUERIES["lock"])
        try:
            _check_server(connection)
            if not replace_passwords:
                _require_passwords(connection, secret)
            if not replace_claims_key:
                _require_same_secret(connection, secret)
            for name in _bring_up_to_date(connection, schema):
                applied.append(name)
                if on_applied is not None:
                    on_applied(name)
            _set_logins(connection, secret)
            inner, outer = secret.claims_pads()
            with connection.transaction():
                connection.execute(_QUERIES["become_owner"])
                replaced = _replace_routines(connection, schema)
                connection.execute(_QUERIES["store_claims_key"], {"inner_pad": inner, "outer_pad": outer})
        finally:
            connection.execute(_QUERIES["unlock"])
    return MigrationReport(applied=tuple(applied), routines=tuple(replaced), version=schema.newest)


def _bring_up_to_date(connection: Transaction, schema: Schema) -> Iterator[str]:
    """Make the schema of an empty database, or apply the migrations that it lacks; yield a name after each commit."""
    known = _known(connection)
    if not known:
        _make(connection, schema)
        yield _MADE
        return
    _require_ours(known, schema)
    for migration in schema.migrations:
        if migration.number > max(known):
            _apply(connection, migration)
            yield migration.name.removeprefix("migrations/")


def require_current(database: Database, schema: Schema = SHIPPED) -> None:
    """Check that the schema is the one that this version works with.

    Raises:
        ConfigurationError: The schema is missing or another one, the roles are missing, or the server cannot be
            reached.
    """
    with database.owner() as tx:
        known = _known(tx)
        is_outdated = bool(known) and max(known) == schema.newest and bool(_outdated_routines(tx, schema))
    if not known:
        raise ConfigurationError("the database has no schema: run `neurigraph admin migrate` to make it")
    _require_ours(known, schema)
    if max(known) < schema.newest:
        raise ConfigurationError(
            f"the database is at migration {max(known)} of {schema.newest}: "
            "run `neurigraph admin migrate` to bring it up to date"
        )
    if is_outdated:
        raise ConfigurationError(
            "the functions of the database are not those of this version: `neurigraph admin migrate` replaces them"
        )


def require_secret(database: Database, secret: Secret) -> None:
    """Check that a migrated database knows the secret.

    Raises:
        ConfigurationError: It was set up with another one.
    """
    with database.owner() as tx:
        _require_claims_key(tx, secret)


def _connect(url: str) -> Transaction:
    try:
        return psycopg.connect(url, autocommit=True, row_factory=dict_row)
    except psycopg.OperationalError as error:
        raise ConfigurationError(f"cannot connect to Postgres: {str(error).strip()}") from error


def _require_passwords(connection: Transaction, secret: Secret) -> None:
    """Check that the passwords of the server's roles follow from no other secret."""
    row = connection.execute(_QUERIES["roles_fingerprint"]).fetchone()
    known = (row["description"] or "").removeprefix(_FINGERPRINT) if row else ""
    if known and known != secret.roles_fingerprint():
        raise ConfigurationError(
            "the passwords of this server's roles follow from another secret: set NEURIGRAPH_ROLE_SECRET, or the file "
            "role_secret in the home folder, to the one in use, or replace it by `neurigraph admin rotate-secret`"
        )


def _require_same_secret(connection: Transaction, secret: Secret) -> None:
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
            "folder, to the one in use, or replace it by `neurigraph admin rotate-secret`"
        )


def _check_server(connection: Transaction) -> None:
    (server,) = connection.execute(_QUERIES["server"])
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


def _known(tx: Transaction) -> dict[int, str]:
    """Return the checksum of each applied step by its number, the first of which made the schema."""
    (journal,) = tx.execute(_QUERIES["has_journal"])
    if not journal["present"]:
        return {}
    return {row["number"]: row["checksum"] for row in tx.execute(_QUERIES["applied"])}


def _require_ours(known: Mapping[int, str], schema: Schema) -> None:
    """Check that a database was made by a schema that leads to this one, and that its migrations are ours."""
    if max(known) > schema.newest:
        raise ConfigurationError(
            f"this database is at migration {max(known)}, newer than this Neurigraph ({schema.newest}): "
            "install the newer version"
        )
    made = min(known)
    if known[made] != schema.digest_at(made):
        raise ConfigurationError(_NO_WAY)
    for migration in schema.migrations:
        if made < migration.number <= max(known) and known.get(migration.number) != migration.checksum:
            raise ConfigurationError(
                f"migration {migration.name} was changed after it was applied here: "
                "restore the file and add a new migration instead"
            )


def _make(connection: Transaction, schema: Schema) -> None:
    """Make the schema in an empty database."""

    def make_roles() -> None:
        with connection.transaction():
            connection.execute(schema.roles.statement)

    _retry_role_changes(make_roles)
    with connection.transaction():
        connection.execute(_QUERIES["become_owner"])
        connection.execute(_QUERIES["create_journal"])
        connection.execute(_QUERIES["create_routines_journal"])
        for script in schema.base:
            connection.execute(script.statement)
        _replace_routines(connection, schema)
        _note_applied(connection, schema.newest, _MADE, schema.digest)


def _apply(connection: Transaction, migration: Migration) -> None:
    """Apply a migration: one of nodes to each node in a transaction of its own, so that none waits for all."""
    while migration.is_of_nodes:
        with connection.transaction():
            connection.execute(_QUERIES["become_owner"])
            node = connection.execute(_QUERIES["node_before"], {"number": migration.number}).fetchone()
            if node is None:
                break
            connection.execute(node_statement(migration, node["schema_name"], node["node_id"], node["user_id"]))
            connection.execute(_QUERIES["set_node_version"], {"node_id": node["node_id"], "number": migration.number})
    with connection.transaction():
        connection.execute(_QUERIES["become_owner"])
        if not migration.is_of_nodes:
            connection.execute(migration.statement)
        _note_applied(connection, migration.number, migration.name, migration.checksum)


def _note_applied(connection: Transaction, number: int, name: str, checksum: str) -> None:
    connection.execute(_QUERIES["note_applied"], {"number": number, "name": name, "checksum": checksum})


def _outdated_routines(tx: Transaction, schema: Schema) -> list[Script]:
    present = {row["name"]: row["checksum"] for row in tx.execute(_QUERIES["routines"])}
    return [routine for routine in schema.routines if present.get(routine.name) != routine.checksum]


def _replace_routines(connection: Transaction, schema: Schema) -> list[str]:
    """Replace outdated routines in the caller's transaction, so that no session sees functions of two versions."""
    outdated = _outdated_routines(connection, schema)
    for routine in outdated:
        folder, _, name = routine.name.partition("/")
        if folder == "tables":
            for policy in connection.execute(_QUERIES["policies"], {"table": name}).fetchall():
                names = {key: sql.Identifier(policy[key]) for key in ("policy", "table_name")}
                connection.execute(_QUERIES["drop_policy"].format(**names))
        try:
            connection.execute(routine.statement)
        except psycopg.errors.InvalidFunctionDefinition as error:  # a function has another result since
            raise ConfigurationError(_NO_WAY) from error
        connection.execute(_QUERIES["note_routine"], {"name": routine.name, "checksum": routine.checksum})
    if outdated:
        connection.execute(_QUERIES["close_private_functions"])
    return [routine.name for routine in outdated]


def _set_logins(connection: Transaction, secret: Secret) -> None:
    def set_passwords() -> None:
        with connection.transaction():
            connection.execute(_QUERIES["hash_passwords_once"])
            for role in LOGIN_ROLES:
                password = sql.Literal(secret.role_password(role))
                connection.execute(_QUERIES["set_login"].format(role=sql.Identifier(role), password=password))
            fingerprint = sql.Literal(_FINGERPRINT + secret.roles_fingerprint())
            connection.execute(_QUERIES["note_roles_fingerprint"].format(fingerprint=fingerprint))

    _retry_role_changes(set_passwords)
    database = sql.Identifier(connection.info.dbname)
    for role in (sql.Identifier("neurigraph_agent"), sql.Identifier("neurigraph_analyst")):
        _retry_role_changes(partial(connection.execute, _QUERIES["reset_role"].format(role=role)))
        connection.execute(_QUERIES["reset_role_here"].format(role=role, database=database))


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
