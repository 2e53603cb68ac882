"""Protocols of the database and of verifiers of tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from psycopg import Connection
from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views.scalars import WireObject

Transaction = Connection[DictRow]
"""A connection, as a rule inside an open transaction, rows as dictionaries."""


class Database(Protocol):
    """Transactions in the three roles of the database. Each commits on success and rolls back on error."""

    def owner(self) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_owner``, for users, provisioning and erasure."""
        ...

    def pipeline(self) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_pipeline``, for jobs over all users."""
        ...

    def maintenance(self) -> AbstractContextManager[Transaction]:
        """Open an autocommit connection as ``neurigraph_owner``, for long work."""
        ...

    def agent(self, claims: Claims | None) -> AbstractContextManager[Transaction]:
        """Open a transaction as ``neurigraph_agent`` with signed claims; without claims nothing is visible."""
        ...

    def ask(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> list[DictRow]:
        """Run one statement in a transaction of ``agent``, in a single round trip, and return its rows.

        Another statement sets the claims before it, unless it has the parameters ``payload`` and ``signature``: then it
        gives the signed claims to a function that sets them.

        Args:
            binary: Whether rows are sent in binary format, which is much cheaper for large values.
        """
        ...

    def ask_value(self, claims: Claims, statement: SQL | Composed) -> str | None:
        """Return the one text that a statement returns whose parameters are ``payload`` and ``signature``."""
        ...

    def asking_value(
        self, claims: Claims, statement: SQL | Composed
    ) -> AbstractContextManager[Callable[[], str | None]]:
        """Run one statement as ``ask_value`` does, and let the caller work meanwhile, as ``asking`` does."""
        ...

    def asking(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> AbstractContextManager[Callable[[], list[DictRow]]]:
        """Run one statement as ``ask`` does, and let the caller work meanwhile.

        The context manager gives a function that waits for the rows. It holds a connection: do not wait for anything
        else inside.
        """
        ...

    def later(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[DictRow]], object] | None = None,
    ) -> bool:
        """Run a statement of ``ask`` in the background, after those given before; its errors are logged.

        Args:
            then: Called with its rows, in the background too.

        Returns:
            Whether it was accepted; False if too many statements are waiting.
        """
        ...

    def wait_for_background(self) -> None:
        """Wait until all statements of ``later`` are done."""
        ...

    def renew_connections(self) -> None:
        """Replace the connections of ``pipeline`` and ``owner``, each when it is free: they cache plans and types."""
        ...


class Replica(Database, Protocol):
    """A database whose reads as ``agent`` come from a replica; everything else goes to the primary."""

    def is_current(self) -> bool:
        """Return whether the replica answers, and lacks only the newest writes."""
        ...

    def set_aside(self) -> None:
        """Do not take the replica for current until it has been looked at again."""
        ...


class TokenVerifier(Protocol):
    """Verifies tokens of the issuer that the installation trusts."""

    def verify(self, token: str) -> WireObject:
        """Return the claims of a genuine, valid token for this installation.

        Raises:
            UnauthenticatedError: The token is anything else.
            TransientError: The issuer's keys could not be fetched.
        """
        ...
