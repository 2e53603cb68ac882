"""Two installations with databases, objects and secrets of their own: a publisher with a real server, and a peer."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import psycopg

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.peers import subscriptions
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import PullResult, pull
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.exchange.peers.subscriptions import Peer
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, SubjectType
from neurigraph_pipelines.text.search_segments import SearchSegment
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from tests.support.api_server import serving
from tests.support.memories import new_user, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

THIRD_PARTY = "laptop"
GRANTED = "Family/Dave"


@dataclass(slots=True)
class Pair:
    """A graph at the publisher of which a node is granted, and the user elsewhere who mirrors it."""

    publisher: SharedGraph
    address: str
    here: Installation
    user: User
    claims: Claims
    key: str
    peer: Peer = field(init=False)

    def __post_init__(self) -> None:
        """Add the peer."""
        self.publisher.grant(GRANTED, THIRD_PARTY)
        publisher_key = PublisherKey(self.publisher.installation.secret).public
        self.peer = subscriptions.add(self.acting, "Laptop", self.address, publisher_key, self.key)

    @property
    def peering(self) -> Peering:
        """What pulls work with, with a model that needs no weights."""
        return Peering(plain_context(self.here), HttpPeerClient((), ("127.0.0.1",), 60.0), self.here.secret)

    @property
    def acting(self) -> Peering:
        """The same for the user."""
        return self.peering.acting_for(self.claims)

    def pull(self) -> PullResult:
        """Pull once."""
        return pull(self.peering, self.peer.peer_id)

    def move_publisher(self, address: str) -> None:
        """State where the publisher answers now."""
        with self.here.database.owner() as tx:
            tx.execute("UPDATE neurigraph.peers SET url = %s WHERE peer_id = %s", [address, self.peer.peer_id])

    def check_whole(self) -> None:
        """Check that nothing is half there: each mirrored record once was at the publisher, and has its files."""
        assert verify(self.here.context).findings == []
        for records in mirrored(self).values():
            assert all(record["objects"] and record["passages"] for record in records)

    def check_equal(self) -> None:
        """Check that rows and objects here are those that the peer may read at the publisher."""
        assert mirrored(self) == offered(self)

    def words(self) -> str:
        """Return everything that is stored here, as text."""
        return stored_words(self.here)


@contextmanager
def new_pair(publisher: Installation, here: Installation) -> Iterator[Pair]:
    """Serve a new graph of one installation, and add it as a peer of a new user of another."""
    graph = new_shared_graph(publisher)
    key = graph.key(sharing.Subject(SubjectType.THIRD_PARTY, THIRD_PARTY))
    user, claims = new_user(here, f"reader-{uuid4().hex[:12]}")
    with serving(publisher) as address:
        yield Pair(graph, address, here, user, claims, key)


def offered(pair: Pair) -> dict[str, list[Any]]:
    """Return the content of the granted nodes at the publisher, by their names."""
    installation, owner = pair.publisher.installation, pair.publisher.owner
    found = rows(
        installation,
        "SELECT target_node_id FROM neurigraph.permission_grants WHERE user_id = %s AND subject_id = %s "
        "AND revoked_at IS NULL",
        owner.user_id,
        THIRD_PARTY,
    )
    return _contents(installation, [row["target_node_id"] for row in found], hidden=True)


def mirrored(pair: Pair) -> dict[str, list[Any]]:
    """Return the content of the nodes below the mount node, by their names."""
    found = rows(pair.here, "SELECT node_id FROM neurigraph.mirrored_nodes WHERE peer_id = %s", pair.peer.peer_id)
    return _contents(pair.here, [row["node_id"] for row in found])


def _contents(installation: Installation, node_ids: list[UUID], *, hidden: bool = False) -> dict[str, list[Any]]:
    contents: dict[str, list[Any]] = {}
    shared = "JOIN neurigraph.sources AS s ON s.source_id = r.source_id AND s.privacy = 'shared'" if hidden else ""
    for node in rows(installation, "SELECT * FROM neurigraph.graph_index WHERE node_id = ANY(%s)", node_ids):
        schema = f'"{node["schema_name"]}"'
        query = f"""SELECT r.title, r.summary, r.kw_entities, r.kw_topics, r.kw_dates, r.kw_relationships,
            r.content_type, r.first_message, r.last_message, r.content_hash, r.language::text, r.occurred_at,
            r.embedding::text, r.embedding_model,
            g.content, g.passages, g.words, g.speakers, g.languages, g.vectors, g.model,
            (SELECT array_agg(f.storage_path ORDER BY f.storage_path LIKE '%%.original%%')
            FROM {schema}.file_manifest AS f WHERE f.record_id = r.record_id) AS keys
            FROM {schema}.metadata_records AS r {shared}
            LEFT JOIN neurigraph.segments AS g ON r.record_id = g.record_id
            WHERE r.superseded_by IS NULL AND NOT r.quarantined ORDER BY r.content_hash, r.title"""
        records = rows(installation, query)
        for record in records:
            record["content"] = record["content"] and _said(record["content"])
            record["objects"] = [b"".join(installation.objects.get(key)) for key in record.pop("keys")]
        contents[node["node_name"]] = records
    return contents


def _said(content: bytes) -> bytes:
    """Return a segment without the voices and the ids of messages, which a mirror does not take over."""
    segment = SearchSegment.read(content)
    rows = segment.rows.copy()
    rows["voice"] = 0
    return segment._replace(rows=rows, external_ids=[None] * len(rows)).content


def stored_words(installation: Installation) -> str:
    """Return all rows of all tables and all objects of an installation, unpacked, as text."""
    texts = []
    with psycopg.connect(installation.administrator_url) as connection:
        tables = connection.execute(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables "
            "WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        ).fetchall()
        for (table,) in tables:
            texts += [str(row) for row in connection.execute(f"SELECT t::text FROM {table} AS t")]
    for key in installation.objects.keys(""):
        content = b"".join(installation.objects.get(key))
        texts.append(_unpacked(content).decode(errors="replace"))
    return "\n".join(texts)


def _unpacked(content: bytes) -> bytes:
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
