"""The tables with data of a user, read from the database catalog, and the objects that their rows name.

New tables are included automatically if they have a column for the user.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import NamedTuple, TypeGuard
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.stored_bytes import Manifest, has_working_copy
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.ports import Transaction

SHARED = "neurigraph"
"""The schema of the tables that all users share."""

LEFT_OUT = {
    "action_votes": "decisions are made where they were asked for; an export could be forged to have made some",
    "actions": "what waits for a decision is asked again where it is restored",
    "api_keys": "secrets; new ones are issued after a restore",
    "arrivals": "about moves between databases",
    "canaries": "traps of an installation; the planted conversations are exported as such",
    "databases": "about an installation: where other databases are",
    "digest_failures": "made of the records",
    "digest_records": "made of the records",
    "digests": "made of the records; an export could be forged to put other words into them",
    "embedding_models": "about the models of an installation, not about a user",
    "erased_objects": "objects that are still to be removed from an installation's object store",
    "erasures": "receipts of an installation, which outlive the erased data",
    "heartbeats": "about processes of an installation, not about a user",
    "invitation_attempts": "about an installation, which forgets them after an hour",
    "layer_packs": "made of the nodes",
    "node_changes": "versions of cached nodes",
    "node_statistics": "counted from the segments",
    "organization_invitations": "secrets; members are invited again after a restore",
    "organization_members": "users of an installation; after a restore an operator names an owner",
    "peer_keys": "secrets; they are given again after a restore",
    "peer_horizons": "what peers of an installation were shown",
    "pending_verdicts": "facts wait for verdicts where they are restored",
    "pipeline_totals": "what an installation has done, for its metrics",
    "profiles": "made of the records",
    "queue_hold": "about a provider's account of an installation, not about a user",
    "read_windows": "answers about records that are still being read; they are read again where they are restored",
    "record_changes": "versions of cached nodes",
    "record_titles": "computed from the titles of the records",
    "relation_types": "about the installation, not about a user",
    "request_keys": "answers to requests, kept for some hours in case they are repeated",
    "resident_keys": "about users of other databases",
    "residents": "about users of other databases",
    "retrievals": "the log of an installation, about what was read there",
    "schema_migrations": "about the database, not about a user",
    "schema_routines": "about the database, not about a user",
    "sign_in_attempts": "about an installation, which forgets them after a quarter of an hour",
    "step_results": "of segments that are being stored; their steps run again where they are restored",
    "user_changes": "versions of cached answers",
    "user_passwords": "secrets; they are set again after a restore",
    "warm_nodes": "prefetched for some minutes",
    "webhook_deliveries": "messages of an installation to its receivers",
    "webhook_events": "messages of an installation to its receivers",
    "webhooks": "an export could be forged to have the memory call somebody; they are added again",
}
"""Shared tables that are not exported, with the reason."""

SECRETS = ("api_keys", "request_keys", "user_passwords")
"""Tables that an export leaves out and a move does not, so that keys, passwords and repeated requests stay known."""

_QUERIES = statements("portability")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a user or of a node.

    Attributes:
        columns: The exported columns.
        types: Their types.
        key: The columns of the primary key.
        ordered_by: The columns that order the rows.
    """

    schema: str
    name: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    key: tuple[str, ...]
    ordered_by: tuple[str, ...]
    is_of_users: bool

    @property
    def identifier(self) -> sql.Identifier:
        """The qualified name."""
        return sql.Identifier(self.schema, self.name)


class Reference(NamedTuple):
    """A foreign key between two tables of one schema."""

    child: str
    parent: str
    child_columns: Sequence[str]
    parent_columns: Sequence[str]


IMPLIED_REFERENCES = (
    Reference("sources", "graph_index", ("persona_id",), ("node_id",)),
    Reference("messages", "graph_index", ("persona_id",), ("node_id",)),
    Reference("quarantines", "graph_index", ("persona_id",), ("node_id",)),
    Reference("signing_keys", "graph_index", ("persona_id",), ("node_id",)),
    Reference("quarantine_changes", "graph_index", ("row_id",), ("node_id",)),
    Reference("quarantine_changes", "node_edges", ("row_id",), ("edge_id",)),
    Reference("quarantine_changes", "node_candidates", ("row_id",), ("candidate_id",)),
    Reference("graph_index", "record_index", ("defined_by",), ("record_id",)),
    Reference("permission_grants", "graph_index", ("subject_id",), ("node_id",)),
    Reference("storage_triggers", "storage_triggers", ("batch_id",), ("batch_id",)),
)
"""References without a foreign key between shared tables. They must not lead to rows of another user either."""


def shared_tables(tx: Transaction, *, secrets: bool = False) -> list[Table]:
    """Return the shared tables that a stream carries, each after the tables that it references."""
    left_out = LEFT_OUT.keys() - SECRETS if secrets else LEFT_OUT.keys()
    return [t for t in tables_of(tx, SHARED) if t.is_of_users and t.name not in left_out]


def tables_of(tx: Transaction, schema: str) -> list[Table]:
    """Return all tables of a schema, each after the tables that it references."""
    found = {
        row["name"]: Table(
            schema,
            row["name"],
            tuple(row["columns"]),
            tuple(row["types"]),
            tuple(row["key"]),
            (*row["numbered_by"], *row["key"]),
            row["is_of_users"],
        )
        for row in tx.execute(_QUERIES["tables"], {"schema": schema})
    }
    order: TopologicalSorter[str] = TopologicalSorter({name: [] for name in found})
    for reference in references_in(tx, schema):
        if reference.child != reference.parent:
            order.add(reference.child, reference.parent)
    return [found[name] for name in order.static_order()]


def references_in(tx: Transaction, schema: str) -> list[Reference]:
    """Return all foreign keys between tables of a schema."""
    return rows_of(tx, _QUERIES["references"], Reference, {"schema": schema})


class StagedObject(NamedTuple):
    """The object of an upload whose bytes no record has yet."""

    source_id: UUID
    storage_path: str
    stored_sha256: bytes
    stored_bytes: int


def named_objects(tx: Transaction, user_id: UUID | None = None) -> Iterator[Manifest | StagedObject]:
    """Yield the rows of files, whose objects are durable, and then the staged objects."""
    for node in tx.execute(_QUERIES["nodes"], {"user_id": user_id}).fetchall():
        query = _QUERIES["objects_of_node"].format(schema=sql.Identifier(node["schema_name"]))
        yield from rows_of(tx, query, Manifest, {})
    yield from rows_of(tx, _QUERIES["staged_objects"], StagedObject, {"user_id": user_id})


def needs_working_copy(row: Manifest | StagedObject) -> TypeGuard[Manifest]:
    """Return whether a named object is that of an active file, which is read from a working copy."""
    return isinstance(row, Manifest) and row.compression_state == CompressionState.ACTIVE and has_working_copy(row)
