"""Statements that take signed claims and return one text, sent through libpq.

A cursor takes three times as long for a statement as small as these.
"""

from __future__ import annotations

import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import Connection, sql
from psycopg.pq import DiagnosticField, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult

from neurigraph_pipelines.database.statements import name_of

_NOT_PREPARED = b"26000"


@contextmanager
def asking(
    connection: Connection[Any], known: set[str], statement: sql.SQL | sql.Composed, signed: Sequence[bytes]
) -> Iterator[Callable[[], str | None]]:
    """Send a statement; calling the yielded function waits for the text.

    Args:
        connection: One in autocommit.
        known: The names of the statements that are prepared on it.
        statement: Its parameters are ``payload`` and ``signature``.
        signed: Both.
    """
    server = connection.pgconn
    _send(server, known, statement, signed)

    def value() -> str | None:
        (result,) = _results(server)
        if result.error_field(DiagnosticField.SQLSTATE) == _NOT_PREPARED:  # psycopg drops all after a rollback
            known.clear()
            _send(server, known, statement, signed)
            (result,) = _results(server)
        found = _require(result, ExecStatus.TUPLES_OK).get_value(0, 0)
        return found.decode() if found is not None else None

    try:
        yield value
        _results(server)
    except BaseException as error:
        if not isinstance(error, Exception):  # an interrupt: nothing waits for the server
            connection.close()
        with suppress(psycopg.Error):
            _results(server)
        raise


def _send(server: PGconn, known: set[str], statement: sql.SQL | sql.Composed, signed: Sequence[bytes]) -> None:
    """Send a statement that takes the signed claims; it is prepared unless its name is ``known``."""
    name = name_of(statement)
    if name not in known:
        text = statement.as_string() % {"payload": "$1", "signature": "$2"}
        _require(server.prepare(name.encode(), text.encode()), ExecStatus.COMMAND_OK)
        known.add(name)
    server.send_query_prepared(name.encode(), signed)
    server.flush()


def _results(server: PGconn) -> list[PGresult]:
    """Wait for the results of the sent statements, if any."""
    readable = select.poll()
    readable.register(server.socket, select.POLLIN)
    results: list[PGresult] = []
    while server.transaction_status == TransactionStatus.ACTIVE:
        while server.is_busy():
            readable.poll()  # other threads run meanwhile
            server.consume_input()
        result = server.get_result()
        results.extend([result] if result is not None else [])
    return results


def _require(result: PGresult, wanted: ExecStatus) -> PGresult:
    """Return a result; raise the error that it holds instead."""
    if result.status != wanted:
        raise psycopg.errors.error_from_result(result)
    return result
