"""Statements that share a way to the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import psycopg

from neurigraph_pipelines.model.ports import Transaction


@contextmanager
def pipelined(connection: Transaction) -> Iterator[Callable[[], None]]:
    """Send statements through a psycopg pipeline that ends with one sync; yields the function that waits for it.

    On a connection in autocommit, the statements are one transaction, so no BEGIN and no COMMIT is sent. Errors of
    statements are raised where the caller waits, and at the end when it does not. An interrupt closes the connection,
    so that nothing waits for the server: psycopg cancels what runs there only for Ctrl-C.
    """
    pipeline = ExitStack()
    try:
        pipeline.enter_context(connection.pipeline())
        yield pipeline.close
        pipeline.close()
    except BaseException as error:
        if not isinstance(error, Exception):
            connection.close()
        with suppress(psycopg.Error):
            pipeline.close()
        raise
