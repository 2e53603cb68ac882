"""Implements ``ports.Database`` on psycopg 3: one connection pool per role, and signed claims per agent transaction.

The wiring chooses the server and derives the passwords. The domain decides what runs in a transaction.
"""

from __future__ import annotations

import logging
import select
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import Any, Self
from urllib.parse import quote, urlencode
from weakref import WeakKeyDictionary

import psycopg
from pgvector.psycopg import register_vector
from psycopg import Cursor, sql
from psycopg.abc import Params
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from neurigraph_pipelines.database.pipelined import pipelined
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import is_planned_once, name_of, statements
from neurigraph_pipelines.database.waits import Wait
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import (
    ClockError,
    ConfigurationError,
    ConflictError,
    ForgettingError,
    NeurigraphError,
    NodeGoneError,
    TransientError,
)
from neurigraph_pipelines.model.measuring import done, is_heard
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.views.scalars import ValuesByName
from resources.postgres import signed_statements

# The vector extension is in public if we created it, in extensions if Supabase did.
_SEARCH_PATH = "neurigraph,public,extensions"
_SHARED_TABLE = '"neurigraph.'
_AGENT = "neurigraph_agent"
_ANALYST_OPTIONS = "-c search_path=neurigraph -c timezone=UTC -c default_transaction_read_only=on"
_NO_CONNECTION_LEFT = ("too many clients", "too many connections", "connection slots")
_ATTEMPTS = 3
_KEEPALIVES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""Seconds and probes after which a server that the network lost is noticed; the system's default is two hours."""

_WRONG_CLOCK, _CLOCK_RETRY_SECONDS = "NG001", 60.0  # raised by neurigraph.claims
_CONFLICTS = {"NG004": ConflictError, "NG005": ForgettingError}  # where a mirror would change; for who is forgotten
_MOST_WAITING = 100
_log = logging.getLogger(__name__)
_QUERIES = statements("session")
STATEMENT = "database.statement"


def url_for_role(url: str, role: str, secret: Secret) -> str:
    """Return the address of the same server and database for one of the roles that ``migrate`` gave a login."""
    parts = conninfo_to_dict(url)
    return make_conninfo("", **{**parts, "user": role, "password": secret.role_password(role)})


def analyst_address(url: str, secret: Secret) -> str:
    """Return the same for the role that reads counts and metadata, as one ``postgresql://`` address."""
    parts = {
        key: str(value) for key, value in conninfo_to_dict(url_for_role(url, "neurigraph_analyst", secret)).items()
    }
    parts["options"] = f"{parts.get('options', '')} {_ANALYST_OPTIONS}".strip()
    user, password, name = (quote(parts.pop(key, ""), safe="") for key in ("user", "password", "dbname"))
    return f"postgresql://{user}:{password}@/{name}?{urlencode(parts, quote_via=quote)}"


class PostgresDatabase:
    """Implements ``ports.Database``. Pools open on first use, so creating an object costs nothing.

    Args:
        url: Any user's connection string; only its server and database are used.
        secret: Derives the roles' passwords and signs claims.
        pool_size: Maximum number of connections per role.
        statement_timeout: Seconds after which an agent's statement is cancelled.
        pool_wait: Seconds to wait for a connection while all are in use.
        action_hours: How long actions wait for a decision unless their proposal says otherwise.
    """

    def __init__(
        self,
        url: str,
        secret: Secret,
        *,
        pool_size: int = 4,
        statement_timeout: float = 30.0,
        pool_wait: float = 30.0,
        action_hours: float = 24.0,
    ) -> None:
        self._url = url
        self._secret = secret
        self._pool_size = pool_size
        self._statement_timeout = statement_timeout
        self._pool_wait = pool_wait
        self._action_hours = action_hours
        self._pools: dict[str, ConnectionPool[Transaction]] = {}
        self._opening = threading.Lock()
        self._background: ThreadPoolExecutor | None = None
        self._waiting: list[Future[None]] = []
        self._prepared: WeakKeyDictionary[Transaction, set[str]] = WeakKeyDictionary()

    @contextmanager
    def owner(self) -> Iterator[Transaction]:
        """Open a transaction as ``neurigraph_owner``."""
        with self._transaction("neurigraph_pipeline") as connection:
            connection.execute(_QUERIES["become_owner"])
            yield connection

    @contextmanager
    def pipeline(self) -> Iterator[Transaction]:
        """Open a transaction as ``neurigraph_pipeline``."""
        with self._transaction("neurigraph_pipeline") as connection:
            yield connection

    @contextmanager
    def maintenance(self) -> Iterator[Transaction]:
        """Open a separate connection as ``neurigraph_owner``, on which every statement commits by itself."""
        url = self._address("neurigraph_pipeline")
        options = f"-c search_path={_SEARCH_PATH} -c timezone=UTC"
        with psycopg.connect(url, autocommit=True, row_factory=dict_row, options=options) as connection:
            connection.execute(_QUERIES["set_session_owner"])
            yield connection

    @contextmanager
    def agent(self, claims: Claims | None) -> Iterator[Transaction]:
        """Open a transaction as ``neurigraph_agent``, with signed claims or none."""
        with self._transaction(_AGENT) as connection:
            if claims is not None:
                with connection.pipeline():  # BEGIN goes out in the same round trip
                    connection.execute(_QUERIES["set_claims"], self._signed(claims))
            yield connection

    def ask(
        self,
        claims: Claims | None,
        statement: sql.SQL | sql.Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> list[DictRow]:
        """Return the rows of one statement in its own ``agent`` transaction, in one round trip to the server."""

        def rows() -> list[DictRow]:
            if claims is not None and not _takes_claims(statement):
                with self.asking(claims, statement, parameters, binary=binary) as answer:
                    return answer()
            with self._transaction(_AGENT, autocommit=True) as connection:  # alone it needs no pipeline
                cursor = connection.cursor(binary=binary)
                cursor.execute(statement, {**parameters, **self._signed(claims)}, prepare=True)
                return _rows(cursor)

        for _ in range(_ATTEMPTS - 1):
            with suppress(NodeGoneError):
                return rows()
        return rows()

    def ask_value(self, claims: Claims, statement: sql.SQL | sql.Composed) -> str | None:
        """Return the one text that a statement returns whose parameters are ``payload`` and ``signature``."""
        with self.asking_value(claims, statement) as value:
            return value()

    @contextmanager
    def asking_value(self, claims: Claims, statement: sql.SQL | sql.Composed) -> Iterator[Callable[[], str | None]]:
        """Send the statement of ``ask_value``; calling the yielded function waits for the text.

        It goes through libpq: a cursor takes three times as long for a statement as small as this.
        """
        signed = [part.encode() for part in self._secret.sign(claims)]
        with self._transaction(_AGENT, autocommit=True) as connection:
            known = self._prepared.setdefault(connection, set())
            started = time.perf_counter()
            with signed_statements.asking(connection, known, statement, signed) as answer:

                def value() -> str | None:
                    found = answer()
                    done(STATEMENT, started, **{"db.query.summary": name_of(statement)})
                    return found

                yield value

    @contextmanager
    def asking(
        self,
        claims: Claims | None,
        statement: sql.SQL | sql.Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> Iterator[Callable[[], list[DictRow]]]:
        """Send the statement of ``ask``; calling the yielded function waits for the rows."""
        with self._transaction(_AGENT, autocommit=True) as connection, pipelined(connection) as finish:
            signed = self._signed(claims)
            if claims is not None and not _takes_claims(statement):
                connection.execute(_QUERIES["set_claims"], signed, prepare=True)
            if is_planned_once(statement):
                connection.execute(_QUERIES["plan_once"], prepare=True)
            cursor = connection.cursor(binary=binary)
            started = time.perf_counter()
            cursor.execute(statement, {**parameters, **signed}, prepare=True)

            def rows() -> list[DictRow]:
                finish()
                done(STATEMENT, started, **{"db.query.summary": name_of(statement)})
                return _rows(cursor)

            yield rows

    def later(
        self,
        claims: Claims | None,
        statement: sql.SQL | sql.Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[DictRow]], object] | None = None,
    ) -> bool:
        """Queue a statement of ``ask`` to run in the background, in order; return False if the queue is full."""

        def run() -> None:
            try:
                rows = self.ask(claims, statement, parameters, binary=then is not None)
                if then is not None:
                    then(rows)
            except (psycopg.Error, NeurigraphError) as error:
                _log.warning("a background statement failed (%s)", type(error).__name__)

        with self._opening:
            self._waiting = [one for one in self._waiting if not one.done()]
            if len(self._waiting) >= _MOST_WAITING:
                return False
            if self._background is None:
                self._background = ThreadPoolExecutor(1, "neurigraph-database")
            self._waiting.append(self._background.submit(run))
            return True

    def wait_for_background(self) -> None:
        """Wait until the statements queued by ``later`` are done."""
        with self._opening:
            waiting = list(self._waiting)
        wait(waiting)

    def renew_connections(self) -> None:
        """Close the connections of ``pipeline`` and ``owner``: idle ones now, others when they are returned."""
        with self._opening:
            pool = self._pools.get("neurigraph_pipeline")
        if pool is not None:
            pool.drain()

    def close(self) -> None:
        """Finish the statements queued by ``later`` and close all pools; the object may be used again."""
        with self._opening:
            background, self._background = self._background, None
        if background is not None:
            background.shutdown()
        with self._opening:
            pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            pool.close()

    def _signed(self, claims: Claims | None) -> dict[str, str | None]:
        payload, signature = self._secret.sign(claims) if claims is not None else (None, None)
        return {"payload": payload, "signature": signature}

    @contextmanager
    def _transaction(self, role: str, *, autocommit: bool = False) -> Iterator[Transaction]:
        """Open a transaction, or with ``autocommit`` a connection on which every statement is one."""
        wait = Wait(self._pool_wait)
        try:
            with self._pool(role).connection(wait.seconds) as connection:
                wait.end()
                if connection.autocommit != autocommit:
                    connection.autocommit = autocommit
                yield connection
        except PoolTimeout as error:
            wait.end()
            raise TransientError("no database connection became free in time", retry_after=1.0) from error
        except psycopg.errors.UndefinedTable as error:
            missing = error.diag.message_primary or ""
            if _SHARED_TABLE in missing:
                raise
            raise NodeGoneError(f"a node was dropped in the meantime ({type(error).__name__}: {missing})") from error
        except psycopg.Error as error:
            if error.sqlstate in _CONFLICTS:
                raise _CONFLICTS[error.sqlstate](str(error.diag.message_primary)) from error
            if error.sqlstate != _WRONG_CLOCK:
                raise
            raise ClockError(
                f"{error.diag.message_primary}: set both clocks, for example with NTP",
                retry_after=_CLOCK_RETRY_SECONDS,
            ) from error

    def _pool(self, role: str) -> ConnectionPool[Transaction]:
        with self._opening:
            if role not in self._pools:
                self._pools[role] = self._open(role)
            return self._pools[role]

    def _address(self, role: str) -> str:
        """Return the address for a role; what the address of the settings says of keepalives counts."""
        return make_conninfo("", **{**_KEEPALIVES, **conninfo_to_dict(url_for_role(self._url, role, self._secret))})

    def _open(self, role: str) -> ConnectionPool[Transaction]:
        url = self._address(role)
        options = f"-c search_path={_SEARCH_PATH} -c timezone=UTC -c neurigraph.action_hours={self._action_hours}"
        if role == _AGENT:
            options += f" -c statement_timeout={int(self._statement_timeout * 1000)}"
        keywords: ValuesByName = {
            "row_factory": dict_row,
            "options": options,
            "application_name": role,
            "cursor_factory": _MeasuredCursor,
        }
        # Try a plain connection first: a pool would keep retrying in the background and report only "timeout".
        try:
            with psycopg.connect(url, **keywords) as connection:
                _configure(connection)
        except (psycopg.OperationalError, psycopg.ProgrammingError) as error:
            if any(words in str(error) for words in _NO_CONNECTION_LEFT):
                raise TransientError("the database has no free connection: try again", retry_after=1.0) from error
            raise ConfigurationError(
                f"cannot connect to Postgres as {role}: {str(error).strip()}. Has `neurigraph admin migrate` been run?"
            ) from error
        return ConnectionPool(
            url,
            kwargs=keywords,
            min_size=0,
            max_size=self._pool_size,
            timeout=self._pool_wait,
            max_idle=300.0,
            # A connection caches what it met of the catalog, and frees it when it closes.
            max_lifetime=600.0,
            configure=_configure,
            check=_check,
            open=True,
            name=role,
        )


class _MeasuredCursor(Cursor[DictRow]):
    """A cursor whose statements are measured, unless a pipeline sends them and somebody else waits for them."""

    def execute(self, query: Any, params: Params | None = None, **options: Any) -> Self:
        if not is_heard() or self.connection.pgconn.pipeline_status:
            return super().execute(query, params, **options)
        started = time.perf_counter()
        try:
            return super().execute(query, params, **options)
        finally:
            done(STATEMENT, started, **{"db.query.summary": name_of(query)})


def _takes_claims(statement: sql.SQL | sql.Composed) -> bool:
    return "%(signature)s" in statement.as_string()


def _rows(cursor: Cursor[DictRow]) -> list[DictRow]:
    """Return all rows; a statement without rows has no row number (``description`` would describe each column)."""
    return cursor.fetchall() if cursor.rownumber is not None else []


def _configure(connection: Transaction) -> None:
    register_vector(connection)
    connection.commit()


def _check(connection: Transaction) -> None:
    """Ping only if the socket is readable, which means that the server closed it."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        ConnectionPool.check_connection(connection)


def ensure_database(administrator_url: str, name: str) -> None:
    """Create a database unless it exists; two processes may do so at the same time."""
    with psycopg.connect(administrator_url, autocommit=True, row_factory=dict_row) as connection:
        found = connection.execute(_QUERIES["database_exists"], {"name": name}).fetchone()
        if found is not None and not found["present"]:
            with suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                connection.execute(_QUERIES["create_database"].format(name=sql.Identifier(name)))
