"""Statements in one trip to a real server: what goes in and comes out, and what is left of the connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from neurigraph_pipelines.access import Secret
from neurigraph_pipelines.wiring import Installation
from resources.postgres.database import url_for_role
from resources.postgres.round_trip import Statement, TripConnection
from tests.conftest import SECRET
from tests.support.locks import wait_until_locked

Rows = list[dict[str, Any]]


@pytest.fixture
def connection(shared_installation: Installation) -> Iterator[TripConnection]:
    url = url_for_role(shared_installation.administrator_url, "neurigraph_agent", Secret(SECRET))
    with TripConnection.connect(url, autocommit=True, row_factory=dict_row) as connected:
        yield connected


def asked(connection: TripConnection, statement: str, binary: bool = False, /, **parameters: object) -> Rows:
    with connection.trip([(sql.SQL(statement), parameters)], binary=binary) as rows:
        return rows()


@contextmanager
def usable_afterwards(connection: TripConnection) -> Iterator[None]:
    yield
    assert connection.pgconn.transaction_status == TransactionStatus.IDLE
    assert asked(connection, "SELECT 1 AS one") == [{"one": 1}]
    assert connection.execute("SELECT 2 AS two").fetchall() == [{"two": 2}]


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
    connection: TripConnection, value: object, kind: str, binary: bool
) -> None:
    expected = value.obj if isinstance(value, Jsonb) else value
    for _ in range(2):  # prepared the first time
        assert asked(connection, f"SELECT %(value)s::{kind} AS value", binary, value=value) == [{"value": expected}]


def test_a_parameter_may_stand_twice_and_in_any_order_and_percent_is_written_twice(connection: TripConnection) -> None:
    statement = "SELECT %(b)s::text || %(a)s || %(b)s AS said, 7 %% 4 AS rest, 'x' LIKE '%%' AS is_like"
    assert asked(connection, statement, a="A", b="B") == [{"said": "BAB", "rest": 3, "is_like": True}]


def test_one_text_may_be_asked_with_values_of_several_types(connection: TripConnection) -> None:
    statement = "SELECT pg_typeof(%(value)s)::text AS kind"
    values = (1, 70_000, 2**40, 0.5, uuid4(), 1)
    kinds = [asked(connection, statement, value=value)[0]["kind"] for value in values]
    assert kinds == ["smallint", "integer", "bigint", "double precision", "uuid", "smallint"]


def test_no_rows_and_many_rows(connection: TripConnection) -> None:
    assert asked(connection, "SELECT 1 AS one WHERE false") == []
    assert asked(connection, "CREATE TEMPORARY TABLE none ()") == []
    many = asked(connection, "SELECT n FROM generate_series(1, 5000) AS n", True)
    assert [row["n"] for row in many] == list(range(1, 5001))


def test_more_than_a_socket_holds_goes_both_ways_at_once(connection: TripConnection) -> None:
    """The server answers the first while the second is still being sent."""
    much = "x" * 8_000_000
    echo = (sql.SQL("SELECT %(much)s::text AS much"), {"much": much})
    with connection.trip([echo, echo, echo], binary=False) as rows:
        assert rows() == [{"much": much}]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_statements_are_one_transaction(connection: TripConnection, failing: int) -> None:
    connection.execute("CREATE TEMPORARY TABLE written (n integer)")
    insert = sql.SQL("INSERT INTO written VALUES (%(n)s)")
    statements = [(insert, {"n": number}) for number in range(3)]
    with connection.trip(statements, binary=False):
        pass
    statements[failing] = (sql.SQL("SELECT 1 / %(n)s"), {"n": 0})
    with (
        usable_afterwards(connection),
        pytest.raises(psycopg.errors.DivisionByZero, match="division by zero") as raised,
        connection.trip(statements, binary=False) as rows,
    ):
        rows()
    assert raised.value.diag.sqlstate == "22012"
    assert [row["n"] for row in asked(connection, "SELECT n FROM written ORDER BY n")] == [0, 1, 2]


def test_what_fails_is_not_kept_as_prepared(connection: TripConnection) -> None:
    for _ in range(2):
        with usable_afterwards(connection), pytest.raises(psycopg.errors.UndefinedTable):
            asked(connection, "SELECT * FROM not_yet")
    connection.execute("CREATE TEMPORARY TABLE not_yet (n integer)")
    assert asked(connection, "SELECT * FROM not_yet") == []


def test_an_error_is_raised_even_where_nobody_asks_for_rows(connection: TripConnection) -> None:
    failing: Statement = (sql.SQL("SELECT 1 / 0"), {})
    with (
        usable_afterwards(connection),
        pytest.raises(psycopg.errors.DivisionByZero),
        connection.trip([failing], binary=False),
    ):
        pass
    with usable_afterwards(connection), pytest.raises(KeyError), connection.trip([failing], binary=False):
        raise KeyError


@pytest.mark.parametrize("value", ["a\x00b", "\ud800", object()])
def test_what_cannot_be_sent_is_refused_before_anything_is(connection: TripConnection, value: object) -> None:
    with usable_afterwards(connection), pytest.raises((psycopg.Error, UnicodeError)):
        asked(connection, "SELECT %(value)s AS value", value=value)


@pytest.mark.parametrize("statement", ["DEALLOCATE ALL", "DISCARD PLANS; DEALLOCATE ALL"])
def test_statements_are_prepared_again_once_somebody_dropped_them(connection: TripConnection, statement: str) -> None:
    query = "SELECT %(n)s::integer AS n"
    for number in range(3):
        assert asked(connection, query, n=number) == [{"n": number}]
        connection.execute(statement)


def test_a_rollback_of_psycopg_drops_nothing_that_is_not_prepared_again(connection: TripConnection) -> None:
    """psycopg deallocates all statements of a session after a rollback, once it has prepared one itself."""
    connection.autocommit = False
    for number in range(3):
        assert asked(connection, "SELECT %(n)s::integer AS n", n=number) == [{"n": number}]
        connection.execute("SELECT %s", [1], prepare=True)
        connection.rollback()


def test_only_so_many_statements_are_kept_prepared(connection: TripConnection) -> None:
    for number in range(150):
        assert asked(connection, f"SELECT {number} AS n") == [{"n": number}]
    (kept,) = connection.execute("SELECT count(*) AS n FROM pg_prepared_statements WHERE NOT from_sql").fetchall()
    assert kept == {"n": 100}


def test_a_connection_that_ends_meanwhile_is_an_error_and_not_a_wait(
    shared_installation: Installation, connection: TripConnection
) -> None:
    def lose(other: psycopg.Connection) -> None:
        with connection.trip([(sql.SQL("SELECT pg_advisory_lock(77)"), {})], binary=False) as rows:
            wait_until_locked(shared_installation)
            other.execute("SELECT pg_terminate_backend(%s, 5000)", [connection.pgconn.backend_pid])
            with pytest.raises(psycopg.OperationalError):
                rows()

    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(77)")
        with pytest.raises(psycopg.OperationalError):
            lose(other)
    with pytest.raises(psycopg.OperationalError):
        asked(connection, "SELECT 1 AS one")


def test_a_statement_that_takes_too_long_ends_as_the_server_says(connection: TripConnection) -> None:
    connection.execute("SET statement_timeout = '50ms'")
    with usable_afterwards(connection), pytest.raises(psycopg.errors.QueryCanceled):
        asked(connection, "SELECT pg_sleep(30)")


def test_whoever_waits_leaves_others_the_interpreter(
    shared_installation: Installation, connection: TripConnection
) -> None:
    with psycopg.connect(shared_installation.administrator_url, autocommit=True) as other:
        other.execute("SELECT pg_advisory_lock(78)")
        waiting = threading.Thread(target=asked, args=(connection, "SELECT pg_advisory_lock(78)"))
        waiting.start()
        wait_until_locked(shared_installation)
        other.execute("SELECT pg_advisory_unlock(78)")
        waiting.join(30)
        assert not waiting.is_alive()
