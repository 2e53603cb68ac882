"""Single statements through ``Database.ask``: values in and out, errors, and the state of the connection afterwards."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection, sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from neurigraph_pipelines.database.pipelined import pipelined
from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.database.statements import Statement, statements
from neurigraph_pipelines.model.errors import ClockError, NodeGoneError
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.database import PostgresDatabase, url_for_role
from tests.conftest import SECRET
from tests.support.locks import wait_until_locked
from tests.support.memories import new_user

Rows = list[dict[str, Any]]


@pytest.fixture
def database(shared_installation: Installation) -> Iterator[PostgresDatabase]:
    """One with a single connection, so that what a statement leaves behind is there for the next."""
    made = PostgresDatabase(shared_installation.administrator_url, Secret(SECRET), pool_size=1, statement_timeout=60.0)
    yield made
    made.close()


@pytest.fixture
def connection(shared_installation: Installation) -> Iterator[Connection[dict[str, Any]]]:
    url = url_for_role(shared_installation.administrator_url, "neurigraph_agent", Secret(SECRET))
    with psycopg.connect(url, row_factory=dict_row, autocommit=True) as connected:
        yield connected


def ask(database: PostgresDatabase, statement: str, binary: bool = False, /, **parameters: object) -> Rows:
    return database.ask(None, sql.SQL(statement), parameters, binary=binary)


@contextmanager
def usable_afterwards(database: PostgresDatabase) -> Iterator[None]:
    (before,) = ask(database, "SELECT pg_backend_pid() AS pid")
    yield
    assert ask(database, "SELECT pg_backend_pid() AS pid") == [before]
    with database.agent(None) as tx:
        assert tx.execute("SELECT pg_backend_pid() AS pid").fetchall() == [before]


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "text"),
        ("", "text"),
        ('100 % of Łódź\'s \\ "naïve" \U0001f600', "text"),
        (True, "boolean"),
        (7, "integer"),
        (-(2**62), "bigint"),
        (0.1, "double precision"),
        (b"\x00\xff%s", "bytea"),
        (UUID(int=5), "uuid"),
        (datetime(2024, 5, 1, 12, 30, tzinfo=UTC), "timestamptz"),
        ([], "text []"),
        (["a b", "{", None, '"'], "text []"),
        ([1, None, 70_000], "bigint []"),
        (Jsonb({"a": [1, "ż"]}), "jsonb"),
    ],
)
def test_values_come_back_as_they_were_given(
    database: PostgresDatabase, value: object, kind: str, binary: bool
) -> None:
    expected = value.obj if isinstance(value, Jsonb) else value
    for _ in range(2):  # prepared the first time
        assert ask(database, f"SELECT %(value)s::{kind} AS value", binary, value=value) == [{"value": expected}]


def test_a_parameter_may_stand_twice_and_in_any_order_and_percent_is_written_twice(database: PostgresDatabase) -> None:
    statement = "SELECT %(b)s::text || %(a)s || %(b)s AS said, 7 %% 4 AS rest, 'x' LIKE '%%' AS is_like"
    assert ask(database, statement, a="A", b="B") == [{"said": "BAB", "rest": 3, "is_like": True}]


def test_one_text_may_be_asked_with_values_of_several_types(database: PostgresDatabase) -> None:
    statement = "SELECT pg_typeof(%(value)s)::text AS kind"
    values = (1, 70_000, 2**40, 0.5, uuid4(), 1)
    kinds = [ask(database, statement, value=value)[0]["kind"] for value in values]
    assert kinds == ["smallint", "integer", "bigint", "double precision", "uuid", "smallint"]


def test_no_rows_and_many_rows(database: PostgresDatabase) -> None:
    assert ask(database, "SELECT 1 AS one WHERE false") == []
    assert ask(database, "CREATE TEMPORARY TABLE none ()") == []
    many = ask(database, "SELECT n FROM generate_series(1, 5000) AS n", True)
    assert [row["n"] for row in many] == list(range(1, 5001))


def test_more_than_a_socket_holds_goes_both_ways_at_once(connection: Connection[dict[str, Any]]) -> None:
    """The server answers the first while the second is still being sent."""
    much = "x" * 8_000_000
    with pipelined(connection) as finish:
        cursors = [connection.execute("SELECT %s::text AS much", [much], prepare=True) for _ in range(3)]
        finish()
        assert [cursor.fetchall() for cursor in cursors] == [[{"much": much}]] * 3


def test_an_interrupt_does_not_wait_for_the_server(
    shared_installation: Installation, connection: Connection[dict[str, Any]]
) -> None:
    """An interrupt that psycopg does not know, such as Dagster's."""

    def wait_in_vain() -> None:
        with pipelined(connection):
            connection.execute("SELECT pg_advisory_xact_lock(79)")
            wait_until_locked(shared_installation)
            raise SystemExit

    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(79)")
        released = threading.Timer(20, other.execute, ["SELECT pg_advisory_unlock_all()"])
        released.start()
        with pytest.raises(SystemExit):
            wait_in_vain()
        assert not released.finished.is_set()
        released.cancel()
    assert connection.closed


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_statements_are_one_transaction(connection: Connection[dict[str, Any]], failing: int) -> None:
    connection.execute("CREATE TEMPORARY TABLE written (n integer)")
    statements = [("INSERT INTO written VALUES (%s)", [number]) for number in range(3)]

    def send(statements: list[tuple[str, list[int]]]) -> None:
        with pipelined(connection) as finish:
            for statement in statements:
                connection.execute(*statement, prepare=True)
            finish()

    send(statements)
    statements[failing] = ("SELECT 1 / %s", [0])
    with pytest.raises(psycopg.errors.DivisionByZero, match="division by zero") as raised:
        send(statements)
    assert raised.value.diag.sqlstate == "22012"
    assert connection.pgconn.transaction_status == TransactionStatus.IDLE
    assert [row["n"] for row in connection.execute("SELECT n FROM written ORDER BY n")] == [0, 1, 2]


def test_claims_last_as_long_as_the_statement(shared_installation: Installation, database: PostgresDatabase) -> None:
    user, claims = new_user(shared_installation)
    who = sql.SQL("SELECT neurigraph.asking_user_id() AS who")
    assert database.ask(claims, who, {}) == [{"who": user.user_id}]
    with pytest.raises(psycopg.errors.DivisionByZero):
        database.ask(claims, sql.SQL("SELECT 1 / %(by)s"), {"by": 0})
    assert database.ask(None, who, {}) == [{"who": None}]


def test_statement_that_takes_the_claims_sets_them_for_itself_alone(
    shared_installation: Installation, database: PostgresDatabase
) -> None:
    user, claims = new_user(shared_installation)
    _, others = new_user(shared_installation)
    payload, signature = Secret(SECRET).sign(others)
    forged = {"payload": payload, "signature": signature}
    version = sql.SQL(
        "SELECT neurigraph.data_version(%(payload)s, %(signature)s) AS version, neurigraph.asking_user_id() AS who"
    )
    (seen,) = database.ask(claims, version, forged)
    assert seen["version"] is not None
    assert seen["who"] == user.user_id, "parameters cannot put other claims in place of the caller's"
    with database.asking(claims, version, {}) as answer:
        assert answer() == [seen]
    for nobody in (database.ask(None, version, forged), database.ask(None, version, {})):
        assert nobody == [{"version": None, "who": None}]
    with database.agent(None) as tx:
        assert tx.execute("SELECT neurigraph.asking_user_id() AS who").fetchall() == [{"who": None}]


def test_a_plan_without_values_is_for_its_statement_alone(
    shared_installation: Installation, database: PostgresDatabase
) -> None:
    _, claims = new_user(shared_installation)
    mode = "SELECT current_setting('plan_cache_mode') AS mode"
    once = Statement(f"-- Planned once a connection. A setting.\n{mode}", "once")
    (usual,) = database.ask(claims, Statement(mode, "mode"), {})
    for statement in (once, Statement("SELECT * FROM ({part}) AS p", "whole").format(part=once)):
        assert database.ask(claims, statement, {}) == [{"mode": "force_generic_plan"}]
        assert database.ask(claims, Statement(mode, "mode"), {}) == [usual]


def test_one_value_for_the_claims(shared_installation: Installation, database: PostgresDatabase) -> None:
    version = statements("search")["data_version"]
    for _ in range(2):
        _, claims = new_user(shared_installation)
        (row,) = database.ask(claims, version, {})
        assert row["version"] is not None
        assert database.ask_value(claims, version) == row["version"]
    assert database.ask_value(replace(claims, role="persona"), version) is None
    with database.agent(None) as tx:
        assert tx.execute("SELECT neurigraph.asking_user_id() AS who").fetchall() == [{"who": None}]
        tx.execute("DEALLOCATE ALL")
    with database.asking_value(claims, version) as value:
        assert value() == row["version"], "it is prepared again"
    with usable_afterwards(database), database.asking_value(claims, version):
        pass
    failing = Statement("SELECT 1 / length(left(%(payload)s || %(signature)s, 0))", "fails")
    for _ in range(2):
        with usable_afterwards(database), pytest.raises(psycopg.errors.DivisionByZero):
            database.ask_value(claims, failing)
    with pytest.raises(KeyboardInterrupt), database.asking_value(claims, version):
        raise KeyboardInterrupt
    assert database.ask_value(claims, version) == row["version"], "on another connection"
    late = PostgresDatabase(shared_installation.administrator_url, Secret(SECRET, clock=lambda: time.time() - 600))
    with closing(late), pytest.raises(ClockError):
        late.ask_value(claims, version)


def test_what_fails_is_not_kept_as_prepared(database: PostgresDatabase) -> None:
    for _ in range(2):
        with usable_afterwards(database), pytest.raises(NodeGoneError):
            ask(database, "SELECT * FROM not_yet")
    ask(database, "CREATE TEMPORARY TABLE not_yet (n integer)")
    assert ask(database, "SELECT * FROM not_yet") == []


def test_an_error_is_raised_even_where_nobody_asks_for_rows(
    database: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    failing = sql.SQL("SELECT 1 / 0")
    with (
        usable_afterwards(database),
        pytest.raises(psycopg.errors.DivisionByZero),
        database.asking(None, failing, {}),
    ):
        pass
    with usable_afterwards(database), pytest.raises(KeyError), database.asking(None, failing, {}):
        raise KeyError
    assert not caplog.records, "an error of the server may quote what users wrote"


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", object()])
def test_what_cannot_be_sent_is_refused_before_anything_is(database: PostgresDatabase, value: object) -> None:
    with usable_afterwards(database), pytest.raises((psycopg.Error, UnicodeError)):
        ask(database, "SELECT %(value)s AS value", value=value)


@pytest.mark.parametrize("statement", ["DEALLOCATE ALL", "DISCARD PLANS; DEALLOCATE ALL"])
def test_statements_are_prepared_again_once_somebody_dropped_them(database: PostgresDatabase, statement: str) -> None:
    query = "SELECT %(n)s::integer AS n"
    for number in range(3):
        assert ask(database, query, n=number) == [{"n": number}]
        with database.agent(None) as tx:
            tx.execute(statement)


def test_a_rollback_of_psycopg_drops_nothing_that_is_not_prepared_again(database: PostgresDatabase) -> None:
    """psycopg deallocates all statements of a session after a rollback."""
    for number in range(3):
        assert ask(database, "SELECT %(n)s::integer AS n", n=number) == [{"n": number}]
        with database.agent(None) as tx:
            tx.execute("SELECT %s", [1], prepare=True)
            tx.rollback()


def test_only_so_many_statements_are_kept_prepared(database: PostgresDatabase) -> None:
    for number in range(150):
        assert ask(database, f"SELECT {number} AS n") == [{"n": number}]
    with database.agent(None) as tx:
        (kept,) = tx.execute("SELECT count(*) AS n FROM pg_prepared_statements WHERE NOT from_sql").fetchall()
    assert kept == {"n": 100}


def test_a_connection_that_ends_meanwhile_is_an_error_and_not_a_wait(
    shared_installation: Installation, database: PostgresDatabase
) -> None:
    (session,) = ask(database, "SELECT pg_backend_pid() AS pid")

    def lose(other: psycopg.Connection) -> None:
        with database.asking(None, sql.SQL("SELECT pg_advisory_xact_lock(77)"), {}) as rows:
            wait_until_locked(shared_installation)
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [session["pid"]])
            with pytest.raises(psycopg.OperationalError):
                rows()
            raise LookupError

    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(77)")
        with pytest.raises(LookupError):
            lose(other)
    assert ask(database, "SELECT 1 AS one") == [{"one": 1}], "another connection takes its place"


def test_a_statement_that_takes_too_long_ends_as_the_server_says(database: PostgresDatabase) -> None:
    ask(database, "SET statement_timeout = '50ms'")
    with usable_afterwards(database), pytest.raises(psycopg.errors.QueryCanceled):
        ask(database, "SELECT pg_sleep(30)")


def test_waiting_releases_the_interpreter(shared_installation: Installation, database: PostgresDatabase) -> None:
    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(78)")
        waiting = threading.Thread(target=ask, args=(database, "SELECT pg_advisory_xact_lock(78)"))
        waiting.start()
        wait_until_locked(shared_installation)
        other.execute("SELECT pg_advisory_unlock(78)")
        waiting.join(30)
        assert not waiting.is_alive()
