"""Peers: the pull of a whole mirror, its lag and its bytes, against ``pg_dump | psql`` of the same rows."""

from __future__ import annotations

import gzip
import subprocess
import time
from uuid import UUID, uuid4

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

from benchmarks.bench import Bench
from benchmarks.report import Section, number, table
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.peers import subscriptions
from neurigraph_pipelines.exchange.peers.peering import Peering
from neurigraph_pipelines.exchange.peers.pulling import Pulled, pull
from neurigraph_pipelines.exchange.peers.signatures import PublisherKey
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.ingestion.revision import Revision, revise
from neurigraph_pipelines.model import Claims, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from resources.peer_client import HttpPeerClient
from resources.postgres.installation import client_program
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context

RECORDS, QUICK_RECORDS = 10_000, 20
_PEER = "laptop"
_TABLES = ("metadata_records", "file_manifest", "segments")

_METHOD = f"""A publisher with {RECORDS:,} short memories in one node, each with a transcript and passages with
vectors, and a peer with a database of its own on the same server, over HTTP on loopback. *First pull* fetches
everything, with the erasable rows, registries and files that a mirror has; *nothing new* and *one memory changed* are
later pulls, and the last is the lag of a change if the peer pulls at once (it pulls every five minutes).
`pg_dump | psql` copies the whole database of the publisher into an empty one, without files and without asking who may
see what. Bytes are those of the answers as they were sent (compressed), and of the dump, compressed by gzip as it
could be sent. The memories are copies of one, so both compress better than real ones."""


def run(bench: Bench) -> Section:
    """Pull everything, nothing and one change."""
    records = QUICK_RECORDS if bench.quick else RECORDS
    with bench.installation() as publisher, bench.installation() as here:
        owner, node_id, record_id = _remember(publisher, records)
        bench.say(f"{records:,} memories at the publisher")
        with serving(publisher) as address:
            peering, peer_id = _peer(publisher, owner, node_id, here, address)
            rows = [["first pull", *_timed(peering, peer_id)]]
            bench.say("everything was pulled")
            rows.append(["nothing new", *_timed(peering, peer_id)])
            context = plain_context(publisher).acting_for(Claims.of_user(owner.user_id))
            revise(context, record_id, Revision(title="Changed", summary="It was changed."))
            rows.append(["one memory changed", *_timed(peering, peer_id)])
        rows.append(["`pg_dump \\| psql`", *_dumped(bench, publisher)])
    first, dump = float(rows[0][1].replace(",", "")), float(rows[-1][1].replace(",", ""))
    rows[0].append(number(first / dump))
    for row in rows[1:]:
        row.append("")
    header = ("what", "seconds", "memories", "requests", "MB", "÷ dump and load")
    return Section("Peers", _METHOD, table(header, rows))


def _timed(peering: Peering, peer_id: UUID) -> list[str]:
    started = time.perf_counter()
    done: Pulled = pull(peering, peer_id)
    seconds = time.perf_counter() - started
    return [number(seconds), f"{done.mirrored:,}", f"{done.requests:,}", number(done.sent_bytes / 1e6)]


def _peer(
    publisher: Installation, owner: User, node_id: UUID, here: Installation, address: str
) -> tuple[Peering, UUID]:
    """Grant the node to a third party, and make its publisher a peer."""
    claims = Claims.of_user(owner.user_id)
    subject = sharing.Subject(SubjectType.THIRD_PARTY, _PEER)
    sharing.grant(publisher.database, claims, subject, node_id)
    _, key = sharing.issue_key(publisher.database, claims, subject=subject)
    user, _ = create_user(here.database, "reader")
    peering = Peering(plain_context(here), HttpPeerClient((), ("127.0.0.1",), 600.0), here.secret)
    acting = peering.acting_for(Claims.of_user(user.user_id))
    peer = subscriptions.add(acting, "Publisher", address, PublisherKey(publisher.secret).public, key)
    return peering, peer.peer_id


def _remember(publisher: Installation, records: int) -> tuple[User, UUID, UUID]:
    """Store one memory by the pipeline, and repeat its rows and files; return its owner, node and record."""
    owner, _ = create_user(publisher.database, "publisher")
    claims = Claims.of_user(owner.user_id)
    converse(publisher, claims, "#Family/Dave Dave sails a boat to the island.", "How nice, and how far is it?")
    ingest(plain_context(publisher), owner)
    with psycopg.connect(publisher.administrator_url, row_factory=dict_row) as connection:
        (known,) = connection.execute(
            "SELECT g.schema_name, g.node_id, i.record_id FROM neurigraph.record_index AS i "
            "INNER JOIN neurigraph.graph_index AS g USING (node_id)"
        ).fetchall()
        ids = [str(uuid4()) for _ in range(records - 1)]
        for name in _TABLES:
            schema = "neurigraph" if name == "segments" else known["schema_name"]
            _repeat(connection, schema, name, str(known["record_id"]), ids)
    for key in [key for key in publisher.objects.keys("") if str(known["record_id"]) in key]:
        content = b"".join(publisher.objects.get(key))
        for one in ids:
            publisher.objects.put(key.replace(str(known["record_id"]), one), [content])
    return owner, known["node_id"], known["record_id"]


def _repeat(
    connection: psycopg.Connection[dict[str, object]], schema: str, name: str, record_id: str, ids: list[str]
) -> None:
    """Copy the rows of a record to other ids: these stand where its own id stands."""
    columns = [
        row["attname"]
        for row in connection.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
            "AND attgenerated = ''",
            [f'"{schema}".{name}'],
        )
    ]
    changes = {
        "metadata_records": "'content_hash', '\\x' || encode(sha256(i.id::bytea), 'hex'), 'file_pointer', "
        "replace(t.file_pointer, %(record)s::text, i.id)",
        "file_manifest": "'file_id', gen_random_uuid(), 'storage_path', "
        "replace(t.storage_path, %(record)s::text, i.id)",
        "segments": "'passages', t.passages",
    }[name]
    listed = sql.SQL(", ").join(sql.Identifier(str(column)) for column in columns)
    taken = sql.SQL(", ").join(sql.SQL("c.{}").format(sql.Identifier(str(column))) for column in columns)
    query = sql.SQL(
        "INSERT INTO {place} ({listed}) SELECT {taken} FROM {place} AS t CROSS JOIN unnest(%(ids)s::text []) AS i (id) "
        f"CROSS JOIN LATERAL jsonb_populate_record(t, jsonb_build_object('record_id', i.id, {changes})) AS c "
        "WHERE t.record_id = %(record)s::uuid"
    ).format(place=sql.Identifier(schema, name), listed=listed, taken=taken)
    connection.execute(query, {"ids": ids, "record": record_id})


def _dumped(bench: Bench, publisher: Installation) -> list[str]:
    """Dump the publisher's database, and load it into an empty one."""
    target = bench.database(f"bench_dump_{uuid4().hex}")
    dump, load = client_program("pg_dump"), client_program("psql")
    started = time.perf_counter()
    dumped = subprocess.run([dump, publisher.administrator_url], check=True, capture_output=True).stdout
    subprocess.run([load, "-q", target], input=dumped, check=True, capture_output=True)
    seconds = time.perf_counter() - started
    return [number(seconds), "", "", number(len(gzip.compress(dumped, 6)) / 1e6)]
