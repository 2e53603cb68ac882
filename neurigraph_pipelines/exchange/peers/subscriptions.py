"""The peers of a user: adding, listing and removing the publishers that are pulled. ``pulling`` pulls them."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID, uuid4

from neurigraph_pipelines.access.authentication import require_owner
from neurigraph_pipelines.database.asking import ask_rows, rows_of
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.signatures import checked_key
from neurigraph_pipelines.graph.provisioning import find_root, provision_node
from neurigraph_pipelines.lifecycle.erasure.forget import forget, preview
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview

LAG_SECONDS = 600.0
"""A mirror is current if its last complete pull began within this time."""

MAX_NAME = 100
_MAX_KEY = 500
_QUERIES = statements("peers")


class Peer(NamedTuple):
    """A publisher that is pulled.

    Attributes:
        mount_node_id: What is mirrored lies below this node.
        pulled_at: When the last complete pull began; None before the first.
        last_error: Why the last pull failed: ``key_refused``, ``key_unreadable``, ``answer_refused``, ``not_reached``
            or ``failed``; None after a success.
        lag_seconds: Since the last complete pull, or since it was added.
    """

    peer_id: UUID
    user_id: UUID
    name: str
    url: str
    mount_node_id: UUID
    tried_at: datetime | None
    pulled_at: datetime | None
    last_error: str | None
    created_at: datetime
    nodes: int
    records: int
    lag_seconds: float

    @property
    def is_current(self) -> bool:
        """Whether it was pulled in time."""
        return self.lag_seconds <= LAG_SECONDS


def add(peering: Peering, name: str, url: str, publisher_key: str, key: str) -> Peer:
    """Add a publisher, with a new mount node of that name below the root of the graph. Nothing is pulled yet.

    Args:
        name: Of the peer and of its mount node.
        url: Where the publisher's API is.
        publisher_key: The public key that signs its answers, in base64.
        key: Of a third party, which the publisher issued.

    Raises:
        ForbiddenError: The caller does not own the graph.
        InvalidInputError: The name, the address or a key is invalid.
        ConflictError: The settings allow no peers, or the root has a node of that name.
    """
    claims = peering.context.claims
    require_owner(claims)
    peering.client.check(url)
    pinned = checked_key(publisher_key)
    if "?" in url or "#" in url:
        raise InvalidInputError("the address of a publisher has neither a query nor a fragment")
    if not 1 <= len(key) <= _MAX_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInputError(
            "this is not an API key: give what `neurigraph access key add --third-party` printed there"
        )
    database = peering.context.database
    mount = provision_node(database, claims, find_root(database, claims.user_id), name[:MAX_NAME])
    peer_id = uuid4()
    values = {"peer_id": peer_id, "user_id": claims.user_id, "peer_name": name[:MAX_NAME], "url": url}
    with database.owner() as tx:
        made = tx.execute(
            _QUERIES["add"], {**values, "publisher_key": pinned, "mount_node_id": mount.node_id}
        ).fetchone()
        if made is None:
            raise ConflictError(f"there is a peer {name!r} already: choose another name")
        _put_key(tx, peering, claims.user_id, peer_id, key)
    return get_peer(database, claims, name)


def give_key(peering: Peering, name: str, key: str) -> None:
    """Replace the key of a peer.

    Raises:
        NotFoundError: The caller has no such peer.
    """
    peer = get_peer(peering.context.database, peering.context.claims, name)
    with peering.context.database.owner() as tx:
        _put_key(tx, peering, peer.user_id, peer.peer_id, key)


def list_peers(database: Database, claims: Claims) -> list[Peer]:
    """Return the caller's peers, oldest first.

    Raises:
        ForbiddenError: The caller does not own the graph.
    """
    require_owner(claims)
    values = {"user_id": claims.user_id, "peer_id": None, "name": None}
    return ask_rows(database, claims, _QUERIES["peers"], Peer, values)


def get_peer(database: Database, claims: Claims, name: str) -> Peer:
    """Return a peer by its name or its id.

    Raises:
        ForbiddenError: The caller does not own the graph.
        NotFoundError: The caller has no such peer.
    """
    for peer in list_peers(database, claims):
        if name in (peer.name, str(peer.peer_id)):
            return peer
    raise NotFoundError


def all_peers(database: Database) -> list[Peer]:
    """Return the peers of all users that have a key, for jobs."""
    with database.owner() as tx:
        peers = rows_of(tx, _QUERIES["peers"], Peer, {"user_id": None, "peer_id": None, "name": None})
        keyed = {row["peer_id"] for row in tx.execute(_QUERIES["keyed"])}
    return [peer for peer in peers if peer.peer_id in keyed]


def preview_removal(peering: Peering, name: str) -> ErasurePreview:
    """Return the counts of removing a peer, without removing anything.

    Raises:
        NotFoundError: The caller has no such peer.
    """
    claims = peering.context.claims
    peer = get_peer(peering.context.database, claims, name)
    return preview(peering.context.database, claims, ErasureSubject(SubjectKind.NODE, peer.mount_node_id))


def remove(peering: Peering, name: str, through: str) -> Erasure:
    """Remove a peer: its key, its mount node, and all that is mirrored of it.

    Raises:
        NotFoundError: The caller has no such peer.
    """
    peer = get_peer(peering.context.database, peering.context.claims, name)
    return forget(peering.context, ErasureSubject(SubjectKind.NODE, peer.mount_node_id), through=through)


def _put_key(tx: Transaction, peering: Peering, user_id: UUID, peer_id: UUID, key: str) -> None:
    sealed = peering.sealed(peer_id, key)
    tx.execute(_QUERIES["put_key"], {"peer_id": peer_id, "user_id": user_id, "sealed": sealed})
