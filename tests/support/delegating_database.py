"""A database that delegates to another; tests override single methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from psycopg import Connection
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database, Transaction


class DatabaseBetween:
    """Implements ``ports.Database``."""

    def __init__(self, inner: Database) -> None:
        self.inner = inner

    def owner(self) -> AbstractContextManager[Transaction]:
        return self.inner.owner()

    def pipeline(self) -> AbstractContextManager[Transaction]:
        return self.inner.pipeline()

    def maintenance(self) -> AbstractContextManager[Connection[dict[str, Any]]]:
        return self.inner.maintenance()

    def agent(self, claims: Claims | None) -> AbstractContextManager[Transaction]:
        return self.inner.agent(claims)

    def ask(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> list[dict[str, Any]]:
        return self.inner.ask(claims, statement, parameters, binary=binary)

    def ask_value(self, claims: Claims, statement: SQL | Composed) -> str | None:
        return self.inner.ask_value(claims, statement)

    def asking_value(
        self, claims: Claims, statement: SQL | Composed
    ) -> AbstractContextManager[Callable[[], str | None]]:
        return self.inner.asking_value(claims, statement)

    def asking(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        *,
        binary: bool = False,
    ) -> AbstractContextManager[Callable[[], list[dict[str, Any]]]]:
        return self.inner.asking(claims, statement, parameters, binary=binary)

    def later(
        self,
        claims: Claims | None,
        statement: SQL | Composed,
        parameters: Mapping[str, object],
        then: Callable[[list[dict[str, Any]]], object] | None = None,
    ) -> bool:
        return self.inner.later(claims, statement, parameters, then)

    def wait_for_background(self) -> None:
        self.inner.wait_for_background()
