"""A database that delegates to another; subclasses override the different methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database, Transaction


class DelegatingDatabase:
    """Implements ``ports.Database``."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner

    def owner(self) -> AbstractContextManager[Transaction]:
        """Open a transaction of the owner."""
        return self.inner.owner()

    def pipeline(self) -> AbstractContextManager[Transaction]:
        """Open a transaction of the pipeline."""
        return self.inner.pipeline()

    def maintenance(self) -> AbstractContextManager[Transaction]:
        """Open a connection for maintenance."""
        return self.inner.maintenance()

    def agent(self, claims: Claims | None) -> AbstractContextManager[Transaction]:
        """Open a transaction of an agent."""
        return self.inner.agent(claims)

    def ask(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> list[DictRow]:
        """Return the rows of a statement."""
        return self.inner.ask(claims, statement, parameters, binary=binary)

    def ask_value(self, claims: Claims, statement: SQL | Composed) -> str | None:
        """Return the value of a statement."""
        return self.inner.ask_value(claims, statement)

    def asking_value(
        self, claims: Claims, statement: SQL | Composed
    ) -> AbstractContextManager[Callable[[], str | None]]:
        """Send a statement, and yield a function that waits for its value."""
        return self.inner.asking_value(claims, statement)

    def asking(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> AbstractContextManager[Callable[[], list[DictRow]]]:
        """Send a statement, and yield a function that waits for its rows."""
        return self.inner.asking(claims, statement, parameters, binary=binary)

    def later(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[DictRow]], object] | None = None,
    ) -> bool:
        """Run a statement in the background."""
        return self.inner.later(claims, statement, parameters, then)

    def wait_for_background(self) -> None:
        """Wait for the statements in the background."""
        self.inner.wait_for_background()

    def renew_connections(self) -> None:
        """Replace the connections."""
        self.inner.renew_connections()
