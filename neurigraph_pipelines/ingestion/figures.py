"""Counts of the whole installation, for metrics: the queue, failures, totals and sizes.

They come from the database, because other processes store, compress and fail. No figure names a user, a word or an id.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from psycopg import Error
from psycopg.sql import SQL

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.ingestion.readiness import queue_age
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NeurigraphError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.text.newest import Newest

_OPERATOR = Claims("operator", "operator", UUID(int=0))
"""The program itself, which asks for counts of all users; keys and tokens never have this role."""

_WORK_SECONDS, _SIZES_SECONDS, _RETRY_SECONDS = 5.0, 120.0, 1.0
_WAIT_SECONDS = 4.0
_QUERIES = statements("figures")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Figure:
    """One count; its label and detail are of closed sets, or empty."""

    name: str
    label: str
    detail: str
    value: float


def figures_of_work(database: Database) -> tuple[Figure, ...]:
    """Return the counts of the queue, failures, signs of life and totals, read now."""
    return _read(database, _QUERIES["work"])


def _read(database: Database, query: SQL) -> tuple[Figure, ...]:
    rows = database.ask(_OPERATOR, query, {})
    return tuple(Figure(row["name"], row["label"], row["detail"], row["figure"]) for row in rows)


class Figures:
    """The newest figures: those of the work at most five seconds old, sizes at most two minutes."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._work = Newest("figures-of-work", self._read_work, lambda read: _WORK_SECONDS if read else _RETRY_SECONDS)
        self._sizes = Newest("sizes", self._read_sizes, lambda read: _SIZES_SECONDS if read else _RETRY_SECONDS)

    def newest(self) -> tuple[Figure, ...]:
        """Return all figures that can be had in time; none of a part that cannot be read."""
        found: list[Figure] = []
        for part in (self._work, self._sizes):
            try:
                found += part.get(_WAIT_SECONDS)
            except TimeoutError:
                _log.warning("figures are late: metrics lack them")
        return tuple(found)

    def _read_work(self) -> tuple[Figure, ...]:
        found = self._read(_QUERIES["work"])
        if not found:
            return ()
        return (*found, Figure("queue_age_seconds", "", "", queue_age(self._context.database)))

    def _read_sizes(self) -> tuple[Figure, ...]:
        return self._read(_QUERIES["sizes"])

    def _read(self, query: SQL) -> tuple[Figure, ...]:
        try:
            return _read(self._context.database, query)
        except (NeurigraphError, Error) as error:
            _log.warning("figures cannot be read (%s): metrics lack them", type(error).__name__)
            return ()
