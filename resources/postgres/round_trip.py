"""One trip to Postgres: statements go out together, and whoever sent them works on until the rows are wanted.

Which statements these are, in whose name and over which connections, is said in ``postgres``. Speaks through
``psycopg.pq``, since psycopg's own pipeline does the same in many more steps, half a millisecond of them whenever
others have had the processor in between (ADR 0019).
"""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from typing import Any

import psycopg
from psycopg import adapt, pq, sql
from psycopg.abc import Buffer, Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq.abc import PGconn, PGresult

Statement = tuple[sql.SQL | sql.Composed, Mapping[str, object]]
"""With its parameters by name."""

_Prepared = tuple[bytes, tuple[int, ...]]
"""A statement: its text and the types of its parameters."""

_MOST_PREPARED = 100
_PLACEHOLDER = re.compile(rb"%\((\w+)\)s|%%")


class TripConnection(psycopg.Connection[dict[str, Any]]):
    """A connection that can be asked in one trip, too; statements are prepared the first time.

    Attributes:
        prepared: What is prepared, and what it is called there.
        names: For more of them.
    """

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.prepared: dict[_Prepared, bytes] = {}
        self.names = (b"trip_%d" % number for number in count())

    @contextmanager
    def trip(self, statements: Sequence[Statement], *, binary: bool) -> Iterator[Callable[[], list[dict[str, Any]]]]:
        """Send statements, as one transaction that ends with them; calling what is given waits for the last one's rows.

        Args:
            binary: Whether rows come in the binary format.

        Raises:
            psycopg.Error: A statement failed, or the connection; raised at the end where nobody asked for rows.
        """
        trip = _Trip(self, statements, binary)
        trip.send()
        try:
            yield trip.rows
        except Exception:
            with suppress(psycopg.Error):
                trip.end()
            raise
        # Whoever is interrupted waits for nothing; a pool closes a connection that is given back at work.
        trip.end()


class _Trip:
    def __init__(self, connection: TripConnection, statements: Sequence[Statement], binary: bool) -> None:
        self._connection = connection
        self._pgconn = connection.pgconn
        self._adapting: Transformer = adapt.Transformer(connection)
        self._format = pq.Format.BINARY if binary else pq.Format.TEXT
        self._calls = [self._call(statement.as_bytes(connection), parameters) for statement, parameters in statements]
        self._sent: list[tuple[_Prepared, bytes] | None] = []
        self._is_over = False

    def _call(
        self, statement: bytes, parameters: Mapping[str, object]
    ) -> tuple[bytes, tuple[int, ...], Sequence[Buffer | None], Sequence[pq.Format]]:
        """A statement as libpq takes it: its text, and types, values and formats of its parameters."""
        query, names = _numbered(statement)
        given = [parameters[name] for name in names]
        values = self._adapting.dump_sequence(given, [adapt.PyFormat.AUTO] * len(given))
        return query, self._adapting.types or (), values, self._adapting.formats or ()

    def send(self) -> None:
        pgconn = self._pgconn
        prepared = self._connection.prepared
        self._sent.clear()
        pgconn.enter_pipeline_mode()
        for query, types, values, formats in self._calls:
            name = prepared.get((query, types))
            if name is None and len(prepared) < _MOST_PREPARED:
                name = next(self._connection.names)
                pgconn.send_prepare(name, query, types)
                self._sent.append(((query, types), name))
            if name is None:
                pgconn.send_query_params(query, values, types, formats, self._format)
            else:
                pgconn.send_query_prepared(name, values, formats, self._format)
            self._sent.append(None)
        pgconn.pipeline_sync()
        while pgconn.flush():
            # The server may wait for room to answer in before it takes more.
            if _ready(pgconn, select.POLLIN | select.POLLOUT) & select.POLLIN:
                pgconn.consume_input()

    def rows(self) -> list[dict[str, Any]]:
        result = self._last_result()
        names = [(result.fname(column) or b"").decode() for column in range(result.nfields)]
        self._adapting.set_pgresult(result)
        return self._adapting.load_rows(0, result.ntuples, lambda values: dict(zip(names, values, strict=True)))

    def end(self) -> None:
        if not self._is_over:
            self._last_result()

    def _last_result(self) -> PGresult:
        try:
            return self._result()
        except InvalidSqlStatementName:  # psycopg has dropped all that was prepared, which it does after a rollback
            self._connection.prepared.clear()
            self.send()
            return self._result()

    def _result(self) -> PGresult:
        results: list[PGresult] = []
        while (result := self._next()) is None or result.status != pq.ExecStatus.PIPELINE_SYNC:
            if result is not None:
                results.append(result)
            elif self._pgconn.status != pq.ConnStatus.OK:
                raise psycopg.OperationalError(self._pgconn.get_error_message())
        self._pgconn.exit_pipeline_mode()
        self._is_over = True
        for sent, result in zip(self._sent, results, strict=True):
            if result.status == pq.ExecStatus.FATAL_ERROR:
                raise error_from_result(result)
            if sent is not None:
                self._connection.prepared[sent[0]] = sent[1]
        return results[-1]

    def _next(self) -> PGresult | None:
        while self._pgconn.is_busy():
            _ready(self._pgconn, select.POLLIN)
            self._pgconn.consume_input()
        return self._pgconn.get_result()


def _ready(pgconn: PGconn, events: int) -> int:
    """Wait for the socket; a signal is served meanwhile."""
    poll = select.poll()
    poll.register(pgconn.socket, events)
    ((_, ready),) = poll.poll()
    return ready


@lru_cache(maxsize=256)
def _numbered(statement: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A statement with its placeholders numbered, and their names in that order."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[bytes]) -> bytes:
        return b"$%d" % numbers.setdefault(found[1].decode(), len(numbers) + 1) if found[1] else b"%"

    return _PLACEHOLDER.sub(number, statement), tuple(numbers)
