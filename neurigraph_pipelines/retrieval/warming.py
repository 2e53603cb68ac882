"""Predictive warming, the part that takes time: what a search has staged is brought into memory after its answer.

Which nodes are staged, two edges out, is decided by the search itself; nothing here opens a file.
"""

from __future__ import annotations

from contextlib import suppress

from psycopg import Error

from neurigraph_pipelines.errors import NeurigraphError
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.ports import Database
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

_QUERIES = statements("search")


def bring_in(database: Database, settings: Settings, claims: Claims) -> int:
    """Make the connections of the faces acquainted with the nodes that are staged for whoever is asking.

    Meant to run after an answer was given: it is a prediction, so whatever keeps it from its work is nobody's error.

    Returns:
        How many nodes; 0 when nothing is staged, or warming is switched off.
    """
    nodes = 0
    # Connections take turns, so as many turns as there may be connections reach those that will serve.
    for _ in range(settings.database_pool_size if settings.warming_nodes else 0):
        with suppress(Error, NeurigraphError), database.agent(claims) as tx:
            row = tx.execute(_QUERIES["bring_in"], {"most": settings.warming_nodes}).fetchone()
            assert row is not None
            nodes = row["nodes"]
        if not nodes:
            break
    return nodes
