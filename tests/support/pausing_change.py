"""A graph change that stops at a chosen moment, for tests to kill.

Run as ``python -m tests.support.pausing_change URL SECRET USER_ID CHANGE MOMENT IDS...``; prints ``paused`` when it is
there. The change is the real one, over a database that pauses in or behind the transaction of the owner.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from neurigraph_pipelines.database.secret import Secret
from neurigraph_pipelines.graph.moving import Split, move_records, split_node
from neurigraph_pipelines.graph.reshaping import merge_nodes, move_node
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database, Transaction
from resources.postgres.database import PostgresDatabase
from resources.postgres.delegating import DelegatingDatabase
from tests.support.pausing_run import Moments

CHANGES = ("move", "move-node", "merge", "split")
MOMENTS = ("transaction open", "transaction committed")


class PausingDatabase(DelegatingDatabase):
    """A database that pauses in transactions of the owner."""

    def __init__(self, inner: Database, moments: Moments) -> None:
        super().__init__(inner)
        self._moments = moments

    @contextmanager
    def owner(self) -> Iterator[Transaction]:
        with self.inner.owner() as tx:
            yield tx
            self._moments.come("transaction open")
        self._moments.come("transaction committed")


def main() -> None:
    url, secret, user, change, moment, *ids = sys.argv[1:]
    database = PausingDatabase(PostgresDatabase(url, Secret(secret)), Moments(moment, 1))
    claims = Claims.of_user(UUID(user))
    record_id, node_id, other_id = map(UUID, ids)
    if change == "move":
        move_records(database, claims, [record_id], other_id)
    elif change == "move-node":
        move_node(database, claims, node_id, other_id)
    elif change == "merge":
        merge_nodes(database, claims, node_id, other_id)
    else:
        split_node(database, claims, node_id, Split(name="Split", record_ids=[record_id]))


if __name__ == "__main__":
    main()
