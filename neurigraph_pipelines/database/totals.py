"""Totals of the pipeline, and figures of its last storage report: counts that outlive the counted rows.

``figures`` reads them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from psycopg import Error
from psycopg.sql import SQL

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("figures")
_log = logging.getLogger(__name__)

Totals = Mapping[tuple[str, str], float]
"""Totals by name and label."""


def count(tx: Transaction, totals: Totals) -> None:
    """Add to the totals, last in the transaction of the counted rows, since other counters wait for its end."""
    _execute(tx, _QUERIES["add"], totals)


def add_totals(database: Database, totals: Totals) -> None:
    """Add to the totals of the pipeline. Losing them loses no memory, so errors are logged."""
    _write(database, _QUERIES["add"], {key: total for key, total in totals.items() if total})


def replace_totals(database: Database, totals: Totals) -> None:
    """Replace totals that are counted as a whole."""
    _write(database, _QUERIES["replace"], totals)


def _write(database: Database, query: SQL, totals: Totals) -> None:
    try:
        with database.pipeline() as tx:
            _execute(tx, query, totals)
    except Error as error:
        _log.warning("totals were not counted (%s)", type(error).__name__)


def _execute(tx: Transaction, query: SQL, totals: Totals) -> None:
    if totals:
        names, labels = zip(*totals, strict=True)
        values = list(map(float, totals.values()))
        tx.execute(query, {"names": list(names), "labels": list(labels), "totals": values})
