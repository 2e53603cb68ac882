"""Stored files: their rows, their state history, and functions to set their clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.object_keys import active_key
from neurigraph_pipelines.lifecycle.transitions import FileLocation, locate
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.open import OpenedFile, file_of_record, open_file
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, node_rows, plain_context, rows, stored


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a user, with access to its rows and state."""

    here: Installation
    user: User
    claims: Claims
    place: FileLocation

    @property
    def file_id(self) -> UUID:
        return self.place.file_id

    @property
    def row(self) -> dict[str, Any]:
        (row,) = node_rows(
            self.here,
            self.place.schema_name,
            "SELECT * FROM {schema}.file_manifest WHERE file_id = %s",
            self.file_id,
        )
        return row

    @property
    def state(self) -> str:
        return str(self.row["compression_state"])

    @property
    def key(self) -> str:
        return str(self.row["storage_path"])

    @property
    def copy(self) -> str:
        return active_key(self.key)

    @property
    def events(self) -> list[str]:
        """Return the events of its state log, oldest first."""
        found = rows(
            self.here,
            "SELECT event_type FROM neurigraph.compression_state_log WHERE file_id = %s ORDER BY entry",
            self.file_id,
        )
        return [row["event_type"] for row in found]

    @property
    def node(self) -> dict[str, Any]:
        (row,) = rows(self.here, "SELECT * FROM neurigraph.graph_index WHERE node_id = %s", self.place.node_id)
        return row

    def set(self, **columns: object) -> None:
        """Update columns of its row as the pipeline role."""
        assigned = ", ".join(f"{name} = %s" for name in columns)
        with self.here.database.pipeline() as tx:
            tx.execute(
                f'UPDATE "{self.place.schema_name}".file_manifest SET {assigned} WHERE file_id = %s',
                [*columns.values(), self.file_id],
            )

    def age(self, days: float) -> None:
        """Move the access times of the file and its node, and its opening, back by ``days``."""
        with self.here.database.pipeline() as tx:
            tx.execute(
                f'UPDATE "{self.place.schema_name}".file_manifest SET '
                "last_accessed_at = last_accessed_at - make_interval(secs => %(s)s), "
                "recompress_after = recompress_after - make_interval(secs => %(s)s) WHERE file_id = %(file_id)s",
                {"s": days * 86_400, "file_id": self.file_id},
            )
            tx.execute(
                "UPDATE neurigraph.graph_index SET last_accessed_at = last_accessed_at - make_interval(secs => %s) "
                "WHERE node_id = %s",
                [days * 86_400, self.place.node_id],
            )
            tx.execute("SELECT neurigraph.sum_file_states(%s, %s)", [self.place.node_id, self.place.schema_name])

    def open(self, wait: float = 0.0) -> OpenedFile:
        here = self.here
        return open_file(here.acting_for(self.claims), self.file_id, as_stored=True, wait=wait)


def store_file(here: Installation, *contents: str, user: tuple[User, Claims] | None = None) -> StoredFile:
    """Store a conversation, of a new user unless one is given; return its file."""
    owner, claims = user or new_user(here)
    converse(here, claims, *(contents or ("#Notes Hello.", "A message of some words. " * 200)))
    (record,) = stored(ingest(plain_context(here), owner))
    file_id = file_of_record(here.database, claims, record.record_id)
    with here.database.agent(claims) as tx:
        place = locate(tx, file_id)
    return StoredFile(here, owner, claims, place)


def all_keys(here: Installation) -> list[str]:
    """Return the keys of all objects."""
    return list(here.objects.keys())
