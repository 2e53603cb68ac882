"""The connection pool of a process against a real server."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import Connection, sql

from neurigraph_pipelines.model.errors import NodeGoneError, TransientError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.locks import wait_until_locked
from tests.support.memories import new_user

SESSION = sql.SQL("SELECT pg_backend_pid() AS pid, txid_current_if_assigned() IS NOT NULL AS writes")


@pytest.fixture
def installation(shared_installation: Installation) -> Iterator[Installation]:
    """One with connections of its own to the database of the module."""
    with Installation(shared_installation.settings) as made:
        yield made


def test_closed_connection_is_replaced(installation: Installation) -> None:
    database = installation.database
    (before,) = database.ask(None, SESSION, {})
    with psycopg.connect(installation.administrator_url, autocommit=True) as administrator:
        for again in (1, 2):
            administrator.execute("SELECT pg_terminate_backend(%s, 5000)", [before["pid"]])
            if again == 1:
                (after,) = database.ask(None, SESSION, {})
            else:
                with database.agent(None) as tx:
                    (after,) = tx.execute(SESSION).fetchall()
            assert after["pid"] != before["pid"]
            before = after


def test_full_server_is_a_passing_fault(installation: Installation) -> None:
    limit = sql.SQL("ALTER DATABASE {} CONNECTION LIMIT {}")
    with psycopg.connect(installation.administrator_url, autocommit=True) as administrator:
        name = sql.Identifier(administrator.info.dbname)
        administrator.execute(limit.format(name, sql.Literal(0)))
        with pytest.raises(TransientError, match="no free connection"):
            installation.database.ask(None, SESSION, {})
        administrator.execute(limit.format(name, sql.Literal(-1)))
    assert installation.database.ask(None, SESSION, {})


def test_connection_is_reused(installation: Installation) -> None:
    assert len({installation.database.ask(None, SESSION, {})[0]["pid"] for _ in range(3)}) == 1


def test_lost_server_is_noticed_within_a_minute(installation: Installation) -> None:
    """A statement waits for ever for a server that the network lost, unless the system asks for signs of life."""
    names = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    with installation.database.agent(None) as agent, installation.database.maintenance() as maintenance:
        for connection in (agent, maintenance):
            assert isinstance(connection, Connection)
            with socket.socket(fileno=os.dup(connection.fileno())) as opened:
                assert opened.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                idle, interval, count = (opened.getsockopt(socket.IPPROTO_TCP, name) for name in names)
                assert idle + interval * count <= 60


def test_renewed_connections_are_new_and_none_is_cut(installation: Installation) -> None:
    database = installation.database
    with database.pipeline() as tx:
        (before,) = tx.execute(SESSION).fetchall()
        database.renew_connections()
        assert tx.execute(SESSION).fetchall() == [before]
    with database.owner() as tx:
        (after,) = tx.execute(SESSION).fetchall()
    assert after["pid"] != before["pid"]


def test_one_query_is_one_transaction(installation: Installation) -> None:
    """What fails leaves nothing behind, and what succeeds is there for others."""
    database = installation.database
    set_it = sql.SQL("SELECT set_config('application_name', 'inside', true) AS name")
    assert database.ask(None, set_it, {}) == [{"name": "inside"}]
    assert database.ask(None, sql.SQL("SELECT current_setting('application_name') AS name"), {}) != [{"name": "inside"}]
    with pytest.raises(psycopg.errors.DivisionByZero):
        database.ask(None, sql.SQL("SELECT 1 / 0"), {})
    assert database.ask(None, SESSION, {})[0]["writes"] is False


def test_transactions_and_queries_share_connections(installation: Installation) -> None:
    """A transaction is one whatever the connection was used for before."""
    database, wrong = installation.database, []

    def work() -> None:
        for _ in range(20):
            database.ask(None, SESSION, {})
            with database.agent(None) as tx:
                times = {row["at"] for _ in range(3) for row in tx.execute("SELECT now() AS at").fetchall()}
                if len(times) != 1:
                    wrong.append(times)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# While the server works


LOCKED = sql.SQL("SELECT 7 AS seven FROM pg_advisory_xact_lock(7)")


@contextmanager
def holding(installation: Installation, statement: str) -> Iterator[Connection]:
    """A transaction of another session that holds a lock."""
    with psycopg.connect(installation.administrator_url) as somebody:
        somebody.execute(statement)
        yield somebody


def test_caller_works_during_query(installation: Installation) -> None:
    with (
        holding(installation, "SELECT pg_advisory_xact_lock(7)") as somebody,
        installation.database.asking(None, LOCKED, {}) as answer,
    ):
        wait_until_locked(installation)
        somebody.commit()
        assert answer() == [{"seven": 7}]


def test_two_concurrent_queries(installation: Installation) -> None:
    database = installation.database
    user, claims = new_user(installation)
    query = sql.SQL("SELECT slug FROM pg_advisory_xact_lock(%(key)s) LEFT JOIN neurigraph.users ON true")
    with (
        holding(installation, "SELECT pg_advisory_xact_lock(7), pg_advisory_xact_lock(8)") as somebody,
        database.asking(claims, query, {"key": 7}) as answer,
        database.asking(None, query, {"key": 8}) as nobodys,
    ):
        wait_until_locked(installation, 2)
        somebody.commit()
        assert nobodys() == [{"slug": None}], "each with its own claims"
        assert answer() == [{"slug": user.slug}]


def test_error_is_raised_on_read(installation: Installation) -> None:
    database = installation.database
    (before,) = database.ask(None, SESSION, {})
    with (
        pytest.raises(psycopg.errors.DivisionByZero),
        database.asking(None, sql.SQL("SELECT 1 / %(by)s"), {"by": 0}) as answer,
    ):
        answer()
    with pytest.raises(KeyError), database.asking(None, SESSION, {}):
        raise KeyError
    gone = sql.SQL("SELECT * FROM a_node_that_is_gone.metadata_records")
    with pytest.raises(NodeGoneError), database.asking(None, gone, {}) as answer:
        answer()
    with pytest.raises(psycopg.errors.UndefinedTable), database.asking(None, sql.SQL("TABLE neurigraph.x"), {}) as rows:
        rows()
    assert database.ask(None, SESSION, {}) == [before], "the connection is as good as before"


def test_rows_may_be_ignored(installation: Installation) -> None:
    with installation.database.asking(None, SESSION, {}):
        pass
    assert len(installation.database.ask(None, SESSION, {})) == 1


def test_interrupted_caller_does_not_wait(installation: Installation) -> None:
    database = installation.database
    with holding(installation, "SELECT pg_advisory_xact_lock(7)"):
        with pytest.raises(KeyboardInterrupt), database.asking(None, LOCKED, {}):
            raise KeyboardInterrupt
        assert len(database.ask(None, SESSION, {})) == 1
    assert database.ask(None, LOCKED, {}) == [{"seven": 7}]


# In the background


NOTE = sql.SQL("INSERT INTO jottings (number) VALUES (%(number)s) RETURNING number")


@pytest.fixture
def noted(installation: Installation) -> Iterator[Installation]:
    """One in which faces may note numbers."""
    installation.database.ask(None, SESSION, {})
    with psycopg.connect(installation.administrator_url, autocommit=True) as administrator:
        administrator.execute("CREATE TABLE public.jottings (at serial, number integer)")
        administrator.execute("GRANT ALL ON public.jottings, public.jottings_at_seq TO neurigraph_agent")
        yield installation
        administrator.execute("DROP TABLE public.jottings")


def notes(installation: Installation) -> list[int]:
    return [row["number"] for row in installation.database.ask(None, sql.SQL("SELECT * FROM jottings ORDER BY at"), {})]


def test_background_work_is_sequential(noted: Installation) -> None:
    noted.database.wait_for_background()
    for number in range(30):
        noted.database.later(None, NOTE, {"number": number})
    noted.database.wait_for_background()
    assert notes(noted) == list(range(30))


def test_background_queue_is_bounded(noted: Installation) -> None:
    with holding(noted, "LOCK TABLE jottings IN SHARE MODE"):
        taken = [noted.database.later(None, NOTE, {"number": number}) for number in range(150)]
        wait_until_locked(noted)
        assert notes(noted) == []
    noted.database.wait_for_background()
    assert taken == [True] * 100 + [False] * 50
    assert notes(noted) == list(range(100))
    assert noted.database.later(None, NOTE, {"number": 150})
    noted.database.wait_for_background()
    assert notes(noted)[-1] == 150


def test_background_errors_are_logged(noted: Installation, caplog: pytest.LogCaptureFixture) -> None:
    _, claims = new_user(noted)
    for secret in ("hunter2", "\0"):
        noted.database.later(claims, sql.SQL("SELECT %(word)s::integer"), {"word": secret})
    noted.database.later(claims, sql.SQL("SELECT FROM a_node_that_is_gone.metadata_records"), {})
    noted.database.later(claims, NOTE, {"number": 1})
    noted.database.wait_for_background()
    assert notes(noted) == [1]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    failed = "a background statement failed"
    assert warnings == [f"{failed} (InvalidTextRepresentation)", f"{failed} (DataError)", f"{failed} (NodeGoneError)"]
    assert "hunter2" not in caplog.text


def test_close_waits_for_work(noted: Installation) -> None:
    database = noted.database
    closing = threading.Thread(target=database.close)
    with holding(noted, "LOCK TABLE jottings IN SHARE MODE"):
        for number in range(3):
            database.later(None, NOTE, {"number": number})
        wait_until_locked(noted)
        closing.start()
        closing.join(0.2)
        assert closing.is_alive()
    closing.join(30)
    assert notes(noted) == [0, 1, 2]
    database.later(None, NOTE, {"number": 3})
    database.wait_for_background()
    assert notes(noted)[-1] == 3, "it may be used again"
    database.close()
    database.close()
