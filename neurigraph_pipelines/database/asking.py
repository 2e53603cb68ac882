"""Queries with typed rows: views, and rows for the domain alone. Their fields are named as the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from psycopg.rows import DictRow
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.base import View

_View = TypeVar("_View", bound=View)
_Row = TypeVar("_Row", bound=NamedTuple)
_Value = TypeVar("_Value")


def ask_views(
    database: Database,
    claims: Claims | None,
    statement: SQL | Composed,
    view: type[_View],
    parameters: Mapping[str, object],
) -> list[_View]:
    """Run one statement as ``Database.ask`` does, and return its rows as views. Other columns are left out."""
    return [view.model_validate(row) for row in database.ask(claims, statement, parameters)]


def views_of(
    tx: Transaction, statement: SQL | Composed, view: type[_View], parameters: Mapping[str, object]
) -> list[_View]:
    """Run one statement in a transaction and return its rows as views. Other columns are left out."""
    return [view.model_validate(row) for row in tx.execute(statement, parameters)]


def ask_rows(
    database: Database,
    claims: Claims | None,
    statement: SQL | Composed,
    row_type: type[_Row],
    parameters: Mapping[str, object],
    *,
    binary: bool = False,
) -> list[_Row]:
    """Run one statement as ``Database.ask`` does, and return its rows as tuples of a type."""
    return typed(database.ask(claims, statement, parameters, binary=binary), row_type)


def rows_of(
    tx: Transaction, statement: SQL | Composed, row_type: type[_Row], parameters: Mapping[str, object]
) -> list[_Row]:
    """Run one statement in a transaction and return its rows as tuples of a type."""
    return typed(tx.execute(statement, parameters), row_type)


def row_of(
    tx: Transaction, statement: SQL | Composed, row_type: type[_Row], parameters: Mapping[str, object]
) -> _Row | None:
    """Run one statement in a transaction and return its first row as a tuple of a type; None without rows."""
    row = tx.execute(statement, parameters).fetchone()
    return None if row is None else typed([row], row_type)[0]


def typed(rows: Iterable[DictRow], row_type: type[_Row]) -> list[_Row]:
    """Return rows as tuples of a type. Other columns are left out."""
    return [row_type._make(row[name] for name in row_type._fields) for row in rows]


def value_of(kind: Callable[[Any], _Value], rows: Iterable[DictRow]) -> _Value:
    """Return the value of a statement that returns one row with one column."""
    ((value,),) = (row.values() for row in rows)
    return kind(value)
