"""Connections that a process keeps to a real server, and what happens to them."""

from __future__ import annotations

import threading

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.wiring import Installation

SESSION = sql.SQL("SELECT pg_backend_pid() AS pid, txid_current_if_assigned() IS NOT NULL AS writes")


def test_a_connection_that_the_server_closed_is_replaced(installation: Installation) -> None:
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


def test_a_connection_is_kept_and_asked_again(installation: Installation) -> None:
    assert len({installation.database.ask(None, SESSION, {})[0]["pid"] for _ in range(3)}) == 1


def test_one_question_is_one_transaction(installation: Installation) -> None:
    """What fails leaves nothing behind, and what succeeds is there for others."""
    database = installation.database
    set_it = sql.SQL("SELECT set_config('application_name', 'inside', true) AS name")
    assert database.ask(None, set_it, {}) == [{"name": "inside"}]
    assert database.ask(None, sql.SQL("SELECT current_setting('application_name') AS name"), {}) != [{"name": "inside"}]
    with pytest.raises(psycopg.errors.DivisionByZero):
        database.ask(None, sql.SQL("SELECT 1 / 0"), {})
    assert database.ask(None, SESSION, {})[0]["writes"] is False


def test_transactions_and_questions_share_connections(installation: Installation) -> None:
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
