"""The pull of one peer: compare the mirror with the publisher, forget records that are gone there, and fetch new ones.

Nothing depends on the pulls before. A pull that is cut off anywhere leaves whole records and nodes, and the next one
compares again. Only signed answers of the publisher remove or add anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import NamedTuple
from uuid import UUID

from neurigraph_pipelines.database.asking import row_of, rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.peers.conversation import Conversation
from neurigraph_pipelines.exchange.peers.granted_rows import GrantedRows, require_few_files
from neurigraph_pipelines.exchange.peers.mirroring import Mirror
from neurigraph_pipelines.exchange.peers.offering import MAX_PREFIX, RECORDS_AT_ONCE
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.portability.archive import open_zip
from neurigraph_pipelines.exchange.portability.reader import explained
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    InvalidInputError,
    NeurigraphError,
    NotFoundError,
    ProviderError,
    RunningError,
    TransientError,
    UnauthenticatedError,
    require_found,
)
from neurigraph_pipelines.views.mirrors import OfferedNode, OfferedPart

Progress = Callable[[str, int], None]
"""Called with ``forgotten`` or ``mirrored``, and how many more records."""

_ERRORS: tuple[tuple[type[NeurigraphError], str], ...] = (
    (UnauthenticatedError, "key_refused"),
    (ConfigurationError, "key_unreadable"),
    (ProviderError, "answer_refused"),
    (TransientError, "not_reached"),
)
_QUERIES = statements("peers")


@dataclass(slots=True)
class PullResult:
    """The result of one pull.

    Attributes:
        is_known: Whether the publisher knew the horizon of the last pull; if not, it was restored from a backup, or has
            never been pulled, and computed every digest again.
        forgotten: Records that were forgotten or replaced.
        mirrored: Records that were stored.
        requests: Number of requests.
        sent_bytes: Size of all answers as they were sent.
    """

    is_known: bool = False
    nodes: int = 0
    forgotten: int = 0
    mirrored: int = 0
    requests: int = 0
    sent_bytes: int = 0


def pull(peering: Peering, peer_id: UUID, on_done: Progress = lambda _, __: None) -> PullResult:
    """Make the mirror equal to the nodes that its publisher shows, and return the changes.

    Raises:
        NotFoundError: There is no such peer.
        RunningError: Another process pulls it.
        UnauthenticatedError: The publisher refuses the key.
        ConfigurationError: The key cannot be decrypted, or is missing.
        ProviderError: The publisher may not be called, or its answers are not signed by the pinned key.
        TransientError: The publisher did not answer; the mirror is as before.
    """
    database = peering.context.database
    with _alone(peering, peer_id) as peer:
        with database.owner() as tx:
            (began,) = tx.execute(_QUERIES["begun"], {"peer_id": peer_id})
        try:
            run = _Pull(peering, peer, on_done)
            horizon = run.run()
        except NeurigraphError as error:
            word = next((word for kind, word in _ERRORS if isinstance(error, kind)), "failed")
            with database.owner() as tx:
                tx.execute(_QUERIES["tried"], {"peer_id": peer_id, "error": word})
            raise
        with database.owner() as tx:
            tx.execute(_QUERIES["finished"], {"peer_id": peer_id, "began_at": began["tried_at"], "horizon": horizon})
    return run.done


@contextmanager
def _alone(peering: Peering, peer_id: UUID) -> Iterator[_Peer]:
    """Hold the lock of a peer's pulls, which ends with this process, and yield the peer."""
    with peering.context.database.maintenance() as connection:
        locked = connection.execute(_QUERIES["lock_pull"], {"peer_id": str(peer_id)}).fetchone()
        if locked is None or not locked["locked"]:
            raise RunningError("another process pulls this peer: wait until it is done")
        try:
            values = {"user_id": None, "peer_id": peer_id, "name": None}
            peer = require_found(row_of(connection, _QUERIES["peers"], _Peer, values))
            yield peer
        finally:
            connection.execute(_QUERIES["unlock_pull"], {"peer_id": str(peer_id)})


@dataclass(slots=True)
class _Difference:
    """The missing parts of one node.

    Attributes:
        node_id: Its mirror here.
        wanted: Ids at the publisher of records that are new or have another version.
        outdated: Records here that these replace, by their ids at the publisher.
    """

    node_id: UUID
    wanted: list[UUID]
    outdated: dict[UUID, UUID]


class _Peer(NamedTuple):
    """The parts of a peer that a pull needs."""

    peer_id: UUID
    user_id: UUID
    slug: str
    url: str
    publisher_key: bytes
    mount_node_id: UUID
    horizon: UUID | None


class _MirroredNode(NamedTuple):
    node_id: UUID
    publisher_node_id: UUID
    node_name: str
    digest: str


class _Version(NamedTuple):
    publisher_record_id: UUID
    record_id: UUID
    version: UUID


class _Pull:
    def __init__(self, peering: Peering, peer: _Peer, on_done: Progress) -> None:
        self._database = peering.context.database
        self._publisher = Conversation(peering.client, peer.url, _key_of(peering, peer.peer_id), peer.publisher_key)
        self._mirror = Mirror(peering.context, peer.peer_id, peer.user_id, peer.slug, peer.mount_node_id)
        self._peer = peer
        self._on_done = on_done
        self._model = self._model_of_user()
        self.done = PullResult()

    def run(self) -> UUID:
        """Pull, and return the publisher's horizon."""
        try:
            horizon, self.done.is_known, nodes = self._publisher.nodes(self._peer.horizon)
            self.done.nodes = len(nodes)
            # Records that are gone at the publisher are removed first, in all nodes, before anything new is fetched.
            mirrored = self._forget_nodes(nodes)
            known = {(node_id, row.digest) for node_id, row in mirrored.items()}
            changed = [node for node in nodes if (node.node_id, node.digest) not in known]
            differences = [self._compare(node, mirrored.get(node.node_id)) for node in changed]
            for node in nodes:
                row = mirrored.get(node.node_id)
                if row is not None and not row.node_name.startswith(node.name[:90]):
                    self._mirror.rename_node(row.node_id, node)
            for node, difference in zip(changed, differences, strict=True):
                with suppress(NotFoundError):  # its grant ended meanwhile: the next pull forgets it
                    self._fetch(node.node_id, difference)
            return horizon
        finally:
            self.done.requests, self.done.sent_bytes = self._publisher.requests, self._publisher.sent_bytes

    def _model_of_user(self) -> str | None:
        with self._database.pipeline() as tx:
            row = tx.execute(_QUERIES["model_of_user"], {"user_id": self._peer.user_id}).fetchone()
        used = row["embedding_model"] if row is not None else None
        own = self._mirror.context.embedder.model
        return own if used in (None, own) else None

    def _forget_nodes(self, nodes: Sequence[OfferedNode]) -> dict[UUID, _MirroredNode]:
        """Forget the nodes that the publisher does not list; return the others by their ids at the publisher."""
        with self._database.pipeline() as tx:
            rows = rows_of(tx, _QUERIES["mirrored_nodes"], _MirroredNode, {"peer_id": self._peer.peer_id})
        listed = {node.node_id for node in nodes}
        for row in rows:
            if row.publisher_node_id not in listed:
                self._count_forgotten(self._mirror.forget_node(row.node_id))
        return {row.publisher_node_id: row for row in rows if row.publisher_node_id in listed}

    def _compare(self, node: OfferedNode, row: _MirroredNode | None) -> _Difference:
        """Forget the records of a node that are gone at the publisher, and return the missing records."""
        node_id = self._mirror.add_node(node) if row is None else row.node_id
        difference = _Difference(node_id, [], {})
        with suppress(NotFoundError):  # its grant ended meanwhile: the next pull forgets it
            self._compare_part(node.node_id, "", difference)
        return difference

    def _compare_part(self, publisher_node_id: UUID, prefix: str, difference: _Difference) -> None:
        found = self._publisher.records(publisher_node_id, prefix)
        values = {"node_id": difference.node_id, "prefix": prefix}
        if found.parts is not None:
            self._compare_parts(publisher_node_id, prefix, found.parts, difference)
            return
        published = {one.record_id: one.version for one in found.records or () if str(one.record_id).startswith(prefix)}
        with self._database.pipeline() as tx:
            here = {row.publisher_record_id: row for row in rows_of(tx, _QUERIES["versions"], _Version, values)}
        for record_id, row in here.items():
            if record_id not in published:
                self._forget(row.record_id)
            elif row.version != published[record_id]:
                difference.outdated[record_id] = row.record_id
        difference.wanted += [one for one in published if one not in here or one in difference.outdated]

    def _compare_parts(
        self, publisher_node_id: UUID, prefix: str, parts: Sequence[OfferedPart], difference: _Difference
    ) -> None:
        digits = len(parts[0].prefix) if parts else 0
        if any(len(p.prefix) != digits or not p.prefix.startswith(prefix) for p in parts) or digits <= len(prefix):
            raise ProviderError("the publisher lists the parts of a node in an unknown way")
        if digits > MAX_PREFIX:
            raise ProviderError("the publisher splits a node into too many parts")
        values = {"node_id": difference.node_id, "prefix": prefix, "digits": digits}
        with self._database.pipeline() as tx:
            here = {row["prefix"]: row["digest"] for row in tx.execute(_QUERIES["digests"], values)}
        published = {part.prefix: part.digest for part in parts}
        for gone in here.keys() - published.keys():
            with self._database.pipeline() as tx:
                rows = rows_of(tx, _QUERIES["versions"], _Version, {**values, "prefix": gone})
            for row in rows:
                self._forget(row.record_id)
        for part, digest in published.items():
            if here.get(part) != digest:
                self._compare_part(publisher_node_id, part, difference)

    def _fetch(self, publisher_node_id: UUID, difference: _Difference) -> None:
        """Mirror the missing records of a node in pages."""
        wanted = sorted(difference.wanted)
        while wanted:
            last = self._fetch_page(publisher_node_id, difference, wanted[:RECORDS_AT_ONCE])
            wanted = [one for one in wanted if one > last]
        for record_id in difference.outdated.values():
            self._forget(record_id)

    def _fetch_page(self, publisher_node_id: UUID, difference: _Difference, asked: Sequence[UUID]) -> UUID:
        """Mirror the first of some records, and return the last that was dealt with.

        An answer may end early; what it skips before its last record is not granted any more.
        """
        with TemporaryFile() as file:
            self._publisher.pull(publisher_node_id, asked, self._model, file)
            require_few_files(file)
            with _refused(), open_zip(file, "the answer") as archive:
                page = GrantedRows(archive, publisher_node_id, asked)
                for record_id in page.records.keys() & difference.outdated.keys():
                    self._forget(difference.outdated.pop(record_id))
                if page.records:
                    self._mirror.write(difference.node_id, page, archive, self._model)
        self.done.mirrored += len(page.records)
        self._on_done("mirrored", len(page.records))
        return max(page.records, default=asked[-1])

    def _forget(self, record_id: UUID) -> None:
        self._count_forgotten(self._mirror.forget_record(record_id))

    def _count_forgotten(self, records: int) -> None:
        self.done.forgotten += records
        self._on_done("forgotten", records)


@contextmanager
def _refused() -> Iterator[None]:
    """Turn a fault of a stream into an error of its publisher."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, InvalidInputError) and explained(error) is None:
            raise
        said = "the publisher sent records that cannot be read, and nothing of them is used"
        raise ProviderError(f"{said}: run one version of Neurigraph on both sides, or ask its operator") from error


def _key_of(peering: Peering, peer_id: UUID) -> str:
    with peering.context.database.owner() as tx:
        row = tx.execute(_QUERIES["sealed_key"], {"peer_id": peer_id}).fetchone()
    if row is None:
        raise ConfigurationError("this peer has no key: give it one with `neurigraph access peer edit`")
    return peering.unsealed(peer_id, row["sealed"])
