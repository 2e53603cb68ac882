"""Queries whose rows are views: the columns are named as the fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from psycopg.sql import SQL, Composed

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.base import View

_View = TypeVar("_View", bound=View)


def ask_views(
    database: Database,
    claims: Claims | None,
    statement: SQL | Composed,
    view: type[_View],
    parameters: Mapping[str, Any],
) -> list[_View]:
    """Run one statement as ``Database.ask`` does, and return its rows as views. Other columns are left out."""
    return [view.model_validate(row) for row in database.ask(claims, statement, parameters)]


def views_of(
    tx: Transaction, statement: SQL | Composed, view: type[_View], parameters: Mapping[str, Any]
) -> list[_View]:
    """Run one statement in a transaction and return its rows as views. Other columns are left out."""
    return [view.model_validate(row) for row in tx.execute(statement, parameters)]
