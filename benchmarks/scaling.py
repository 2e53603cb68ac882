"""What a user, a node, a record, a passage and a fact take: bytes in Postgres and objects, memory, and time."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from uuid import uuid4

import psycopg
from psycopg import sql

from benchmarks.bench import Bench
from benchmarks.chat import conversations
from benchmarks.report import Section, number, table
from neurigraph_pipelines.graph.provisioning import User, create_user, resolve_path
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.model import Claims, ConceptKind, PlannedNode
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval.index.caches import caches_of
from neurigraph_pipelines.retrieval.index.facts import NodeFacts
from neurigraph_pipelines.retrieval.index.node_layers import NodeLayers
from neurigraph_pipelines.retrieval.packing import pack_layers
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation

_OF_PASSAGES = ("segments", "layer_packs")
_OF_FACTS = ("facts", "fact_*", "pending_facts", "pending_verdicts", "read_windows", "link*")
_METHOD = """Users are created, then nodes below one of them, then conversations of 20 to 30 messages are stored and
read for facts, with the offline model and MiniLM on one thread, and the database is vacuumed between. What a user
and a node take is the growth of the database. The growth by conversations is split by tables: that of segments and that
of packed layers, those of facts with their links, and all others, which are the record's,
without what the new nodes take empty. Bodies of messages, which leave the inbox after some days, are part of it.
Objects are the durable ones, without working copies. Memory is what a process holds for searches. Time is by the
clock, for a record from the inbox to the commit, and for a fact that of reading its record."""


@dataclass(frozen=True, slots=True)
class _Cost:
    """What some things of one kind took together."""

    kind: str
    number: int
    postgres: int
    seconds: float | None
    objects: int | None = None
    memory: int | None = None

    def row(self) -> list[str]:
        each = [self.postgres / 1_000, self.objects and self.objects / 1_000, self.memory and self.memory / 1_000]
        milliseconds = self.seconds * 1_000 / self.number if self.seconds is not None else None
        costs = [number(value / self.number) if value is not None else "–" for value in each]
        return [self.kind, f"{self.number:,}", *costs, number(milliseconds) if milliseconds is not None else "–"]


def run(bench: Bench) -> Section:
    """Measure each kind in one database."""
    users, nodes, chats = (3, 3, 4) if bench.quick else (40, 60, 50)
    with (
        bench.installation() as installation,
        psycopg.connect(installation.administrator_url, autocommit=True) as plain,
    ):
        create_user(installation.database, "warm-up")
        found = [_users(installation, plain, users)]
        user, _ = create_user(installation.database, "growing")
        found.append(_nodes(installation, plain, user, nodes))
        bench.say(f"{chats} conversations")
        found += _conversations(installation, plain, user, chats, found[-1])
    header = ("one", "measured", "kB in Postgres", "kB in objects", "kB of memory", "ms")
    return Section("What each thing takes", _METHOD, table(header, [one.row() for one in found]))


def _users(installation: Installation, plain: psycopg.Connection, count: int) -> _Cost:
    before, started = _total(plain), time.perf_counter()
    for _ in range(count):
        create_user(installation.database, f"user-{uuid4().hex[:12]}")
    seconds = time.perf_counter() - started
    return _Cost("user, with the root node", count, _total(plain) - before, seconds)


def _nodes(installation: Installation, plain: psycopg.Connection, user: User, count: int) -> _Cost:
    before, started = _total(plain), time.perf_counter()
    for _ in range(count):
        path = (f"Topic {uuid4().hex}",)
        plan = PlannedNode(path=path, kind=ConceptKind.TOPIC, confidence=1.0, summary="A topic of a benchmark.")
        with installation.database.pipeline() as tx:
            resolve_path(tx, user.user_id, user.slug, path, [plan])
    seconds = time.perf_counter() - started
    return _Cost("node, empty", count, _total(plain) - before, seconds)


def _conversations(
    installation: Installation, plain: psycopg.Connection, user: User, count: int, node: _Cost
) -> list[_Cost]:
    """Store and read conversations, of which the first make the nodes that the others are filed in."""
    context = installation.context
    _store(context, user, 0, max(1, count // 5))
    before, counted = _by_table(plain), _counted(plain, user)
    stored, read = _store(context, user, count // 5, count)
    grown = {name: size - before.get(name, 0) for name, size in _by_table(plain).items()}
    new = {kind: number - counted[kind] for kind, number in _counted(plain, user).items()}
    passages, facts = _sum(grown, _OF_PASSAGES), _sum(grown, _OF_FACTS)
    records = sum(grown.values()) - passages - facts - new["nodes"] * node.postgres // node.number
    in_memory = _memory(context, user)
    share = {kind: new[kind] / _counted(plain, user)[kind] for kind in ("passages", "facts")}
    return [
        _Cost("record", new["records"], records, stored, new["object_bytes"]),
        _Cost("passage", new["passages"], passages, None, None, int(in_memory[0] * share["passages"])),
        _Cost("fact", new["facts"], facts, read, None, int(in_memory[1] * share["facts"])),
    ]


def _store(context: Context, user: User, first: int, count: int) -> tuple[float, float]:
    """Store conversations, read them for facts and pack them; return the seconds of storing and of reading."""
    inbox = Inbox(context)
    for chat in conversations(first, count):
        with context.database.agent(Claims.of_user(user.user_id)) as tx:
            inbox.add_conversations(tx, user.user_id, [chat])
    started = time.perf_counter()
    for _ in run_due(context, "benchmark", user.user_id):
        pass
    stored = time.perf_counter() - started
    started = time.perf_counter()
    while read_waiting(context).records:
        pass
    read = time.perf_counter() - started
    pack_layers(context, 10_000)
    return stored, read


def _memory(context: Context, user: User) -> tuple[int, int]:
    """Return the bytes of all layers, and of all facts, that a process holds after a search."""
    acting = context.acting_for(Claims.of_user(user.user_id))
    search(acting, Question("When does Priya finish the release plan?", limit=50, include_facts=True))
    caches = caches_of(context.database)
    layers = sum(one.size for one in caches.nodes.values(NodeLayers))
    return layers, sum(one.size for one in caches.nodes.values(NodeFacts))


def _total(plain: psycopg.Connection) -> int:
    plain.execute("VACUUM")
    row = plain.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def _by_table(plain: psycopg.Connection) -> dict[str, int]:
    """Return the bytes of all tables by name, those of all nodes together."""
    plain.execute("VACUUM")
    query = """SELECT c.relname, sum(pg_total_relation_size(c.oid))::bigint FROM pg_catalog.pg_class AS c
    WHERE c.relkind = 'r' AND NOT c.relisshared GROUP BY c.relname"""
    return {str(name): int(size) for name, size in plain.execute(query).fetchall()}


def _sum(grown: Mapping[str, int], patterns: Sequence[str]) -> int:
    return sum(size for name, size in grown.items() if any(fnmatch(name, pattern) for pattern in patterns))


def _counted(plain: psycopg.Connection, user: User) -> dict[str, int]:
    """Return the numbers of the user's records, passages and facts, and the bytes of their durable objects."""
    nodes = plain.execute(
        "SELECT schema_name FROM neurigraph.graph_index WHERE user_id = %s", [user.user_id]
    ).fetchall()
    found = dict.fromkeys(("records", "passages", "object_bytes"), 0)
    query = """SELECT (SELECT count(*) FROM {schema}.metadata_records),
    (SELECT coalesce(sum(s.passages), 0) FROM neurigraph.segments AS s
    INNER JOIN {schema}.metadata_records AS r ON s.record_id = r.record_id),
    (SELECT coalesce(sum(stored_bytes), 0) FROM {schema}.file_manifest)"""
    for (schema,) in nodes:
        row = plain.execute(sql.SQL(query).format(schema=sql.Identifier(schema))).fetchone()
        assert row is not None
        for kind, value in zip(found, row, strict=True):
            found[kind] += int(value)
    facts = plain.execute("SELECT count(*) FROM neurigraph.facts WHERE user_id = %s", [user.user_id]).fetchone()
    assert facts is not None
    return {**found, "facts": int(facts[0]), "nodes": len(nodes)}
