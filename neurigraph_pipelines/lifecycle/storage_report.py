"""Bytes that files occupy, by state, node and user, and bytes that compression saves. Reads only the manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.database.asking import rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.database.totals import replace_totals
from neurigraph_pipelines.model import CompressionState
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("lifecycle")
_NODES_AT_ONCE = 50  # UNION arms of one statement; planning time grows with their square


_Row = TypeVar("_Row")


class Node(NamedTuple):
    """A node with files."""

    user_id: UUID
    slug: str
    node_id: UUID
    schema_name: str
    names: list[str]

    @property
    def path(self) -> str:
        """Its names, from the user's slug on."""
        return "/".join((self.slug, *self.names[1:]))


class _FilesInState(NamedTuple):
    """The files of a node in one state."""

    node_id: UUID
    compression_state: CompressionState
    files: int
    content_bytes: int
    occupied_bytes: int


@dataclass(frozen=True, slots=True)
class StorageTotals:
    """Numbers of files and bytes.

    Attributes:
        active_files: Number of active files.
        dormant_files: Number of dormant files.
        rehydrating_files: Number of files being decompressed.
        content_bytes: Size of all contents, uncompressed.
        active_bytes: Bytes of the durable objects and working copies of active files.
        dormant_bytes: Bytes of the durable objects of all other files.
    """

    active_files: int = 0
    dormant_files: int = 0
    rehydrating_files: int = 0
    content_bytes: int = 0
    active_bytes: int = 0
    dormant_bytes: int = 0

    @property
    def files(self) -> int:
        """Number of all files."""
        return self.active_files + self.dormant_files + self.rehydrating_files

    @property
    def saved_bytes(self) -> int:
        """Size of the contents less the occupied bytes; negative while many files are active."""
        return self.content_bytes - self.active_bytes - self.dormant_bytes

    def __add__(self, other: StorageTotals) -> StorageTotals:
        """Return the sums."""
        return StorageTotals(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


@dataclass(frozen=True, slots=True)
class NodeStorage:
    """One node with files; ``path`` begins with the user's slug."""

    node_id: UUID
    path: str
    totals: StorageTotals


@dataclass(frozen=True, slots=True)
class UserStorage:
    """One user, with the nodes that have files, in order of their paths."""

    user_id: UUID
    slug: str
    nodes: tuple[NodeStorage, ...]

    @property
    def totals(self) -> StorageTotals:
        """Totals of all nodes."""
        return sum((node.totals for node in self.nodes), StorageTotals())


def storage_report(database: Database, *, user_id: UUID | None = None) -> Iterator[UserStorage]:
    """Yield the storage of each user with files.

    Args:
        user_id: Only this user.
    """
    for (owner, slug), group in groupby(nodes_with_files(database, user_id), key=attrgetter("user_id", "slug")):
        nodes = list(group)
        totals = dict(of_existing(database, nodes, _totals_of_nodes))
        kept = (NodeStorage(n.node_id, n.path, totals[n.node_id]) for n in nodes if n.node_id in totals)
        yield UserStorage(owner, slug, tuple(kept))


def nodes_with_files(database: Database, user_id: UUID | None = None) -> list[Node]:
    """Return the nodes with files of a user or of all, by user and path."""
    with database.pipeline() as tx:
        return rows_of(tx, _QUERIES["nodes_with_files"], Node, {"user_id": user_id})


def of_existing(
    database: Database, nodes: Sequence[Node], read: Callable[[Transaction, Sequence[Node]], Sequence[_Row]]
) -> list[_Row]:
    """Read nodes, some at a time, and return the results. Nodes that were removed since the listing have none."""
    if not nodes:
        return []
    if len(nodes) <= _NODES_AT_ONCE:
        try:
            with database.pipeline() as tx:
                return list(read(tx, nodes))
        except NotFoundError:
            if len(nodes) == 1:
                return []
    middle = len(nodes) // 2
    return [*of_existing(database, nodes[:middle], read), *of_existing(database, nodes[middle:], read)]


def note_totals(database: Database, totals: StorageTotals) -> None:
    """Keep the totals of all users for metrics, until the next report."""
    replace_totals(
        database,
        {
            ("files", CompressionState.ACTIVE.value): totals.active_files,
            ("files", CompressionState.DORMANT.value): totals.dormant_files,
            ("files", CompressionState.REHYDRATING.value): totals.rehydrating_files,
            ("object_bytes", CompressionState.ACTIVE.value): totals.active_bytes,
            ("object_bytes", CompressionState.DORMANT.value): totals.dormant_bytes,
        },
    )


def totals_of(tx: Transaction, nodes: Sequence[tuple[UUID, str]]) -> dict[UUID, StorageTotals]:
    """Return the totals of nodes, given by their ids and the names of their schemas."""
    arms = sql.SQL(" UNION ALL ").join(
        _QUERIES["totals_arm"].format(node_id=sql.Literal(str(node_id)), schema=sql.Identifier(schema_name))
        for node_id, schema_name in nodes
    )
    found: dict[UUID, StorageTotals] = {node_id: StorageTotals() for node_id, _ in nodes}
    for row in rows_of(tx, arms, _FilesInState, {}):
        found[row.node_id] += _totals(row)
    return found


def _totals_of_nodes(tx: Transaction, nodes: Sequence[Node]) -> list[tuple[UUID, StorageTotals]]:
    return list(totals_of(tx, [(n.node_id, n.schema_name) for n in nodes]).items())


def _totals(row: _FilesInState) -> StorageTotals:
    """Return the totals of the files of one node in one state."""
    state, files = CompressionState(row.compression_state), row.files
    active = state is CompressionState.ACTIVE
    return StorageTotals(
        active_files=files if active else 0,
        dormant_files=files if state is CompressionState.DORMANT else 0,
        rehydrating_files=files if state is CompressionState.REHYDRATING else 0,
        content_bytes=row.content_bytes,
        active_bytes=row.occupied_bytes if active else 0,
        dormant_bytes=0 if active else row.occupied_bytes,
    )
