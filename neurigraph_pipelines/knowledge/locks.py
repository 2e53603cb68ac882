"""The one order in which facts are locked: the graph, the facts of its user, waiting records, then single rows.

Reading, comparing, stating and retracting lock several facts each, and none knows the order of the others.
"""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.locks import lock_graph_shared
from neurigraph_pipelines.model.ports import Transaction

_QUERIES = statements("verdicts")


def lock_facts(tx: Transaction, user_id: UUID) -> None:
    """Lock the facts of a user until the transaction ends: first in a transaction that writes or locks any of them."""
    lock_graph_shared(tx, user_id)
    lock_beliefs(tx, user_id)


def lock_beliefs(tx: Transaction, user_id: UUID) -> None:
    """Lock the facts of a user in a transaction that holds the lock of the graph."""
    tx.execute(_QUERIES["lock_beliefs"], {"user_id": user_id})
