"""Two hops over many facts: the gated walk, a recursive query over flat tables, and the whole request over HTTP."""

from __future__ import annotations

import os
import random
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg

from benchmarks.bench import Bench, in_turns
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.provisioning import create_user, resolve_path
from neurigraph_pipelines.knowledge.walks import Route, walk
from neurigraph_pipelines.model import Claims, ConceptKind, NodeType, PlannedNode, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving

SIZES = (10_000, 100_000)
QUICK_SIZES = (500,)
LARGE_SIZES = (*SIZES, 1_000_000)
SEEDS, HOPS, LINKS, FACTS_A_RECORD = 10, 2, 3, 10
REPEATS, QUICK_REPEATS = 101, 3

_METHOD = f"""Facts in records of {FACTS_A_RECORD}, with {LINKS} links of five relations from each to random others.
A question begins at {SEEDS} random facts and walks {HOPS} hops, in both directions. *Function* is the walk in the
database as the owner asks it: claims are checked, and each memory on the way is looked up in the registry of
records and in the facts. *Quarantine* is the same with one record in quarantine, so that each record is looked at;
*persona* asks with a grant on the only node. *Flat* is a recursive query over plain tables of the same links and
statements without row-level security, with the same order and the same bound of 200 memories a level. All run in
turns on warm tables. *Processor* is the time of the server's processes. *HTTP* is `POST /v1/facts/query` from one
fact, with the fields of the facts, the words of the paths, and the time of the server."""

_RECORDS = """
INSERT INTO neurigraph.record_index (record_id, node_id, user_id, source_id, source_kind, content_hash)
SELECT n.record_id, %(node_id)s, %(user_id)s, n.record_id, 'note', sha256(n.record_id::text::bytea)
FROM (SELECT gen_random_uuid() AS record_id FROM generate_series(1, %(records)s)) AS n
"""
_FACTS = """
INSERT INTO neurigraph.facts (
    fact_id, root_id, record_id, user_id, seq, first_message, last_message, statement, kind, stated_as, confidence,
    importance, impact, extractor, statement_key
)
SELECT
    i.id, i.id, r.record_id, r.user_id, s.seq, 1, 1, 'Fact ' || s.seq || ' of ' || r.record_id, 'state',
    'statement', 0.6, 0.5, 'medium', 'synthetic',
    hashtextextended(i.id::text, 0)
FROM neurigraph.record_index AS r CROSS JOIN generate_series(1, %(facts)s) AS s (seq)
CROSS JOIN LATERAL (SELECT gen_random_uuid() AS id WHERE r.record_id IS NOT NULL AND s.seq > 0) AS i
"""
_NUMBERED = """
CREATE TABLE numbered AS SELECT f.fact_id, f.record_id, row_number() OVER () AS place FROM neurigraph.facts AS f;
CREATE UNIQUE INDEX ON numbered (place);
ANALYZE numbered;
"""
_LINKS = """
INSERT INTO neurigraph.links (
    user_id, from_fact_id, from_record_id, to_fact_id, to_record_id, relation, strength, confidence, observed_by,
    detected_by
)
SELECT
    %(user_id)s, a.fact_id, a.record_id, b.fact_id, b.record_id,
    (ARRAY['caused_by', 'supports', 'elaborates', 'influenced_by', 'relates_to'])[1 + e.place %% 5],
    0.2 + 0.8 * random(), 0.6, 'rule:synthetic', 'rule'
FROM (
    SELECT n.place, 1 + (random() * ((SELECT count(*) FROM numbered) - 1))::bigint AS other
    FROM numbered AS n CROSS JOIN generate_series(1, %(links)s)
) AS e
INNER JOIN numbered AS a ON e.place = a.place
INNER JOIN numbered AS b ON e.other = b.place
WHERE a.place <> b.place
ON CONFLICT DO NOTHING
"""
_FLAT_TABLES = """
CREATE TABLE flat_facts AS SELECT f.fact_id, f.statement FROM neurigraph.facts AS f;
ALTER TABLE flat_facts ADD PRIMARY KEY (fact_id);
CREATE TABLE flat_links AS SELECT l.from_id, l.to_id, l.strength FROM neurigraph.links AS l;
CREATE INDEX ON flat_links (from_id, strength);
CREATE INDEX ON flat_links (to_id, strength);
ANALYZE flat_facts, flat_links, neurigraph.facts, neurigraph.links, neurigraph.record_index;
"""
_FLAT = """
WITH RECURSIVE walked AS (
    SELECT s.fact_id, 0 AS hops, 1::double precision AS score FROM unnest(%s::uuid []) AS s (fact_id)
    UNION ALL
    SELECT n.fact_id, n.hops, n.score
    FROM (
        SELECT e.fact_id, w.hops + 1 AS hops, w.score * e.strength * 0.7 AS score
        FROM walked AS w
        CROSS JOIN LATERAL (
            SELECT l.to_id AS fact_id, l.strength FROM flat_links AS l
            WHERE l.from_id = w.fact_id AND l.strength >= 0.3
            UNION ALL
            SELECT l.from_id, l.strength FROM flat_links AS l
            WHERE l.to_id = w.fact_id AND l.strength >= 0.3
        ) AS e
        WHERE w.hops < %s
        ORDER BY score DESC
        LIMIT 200
    ) AS n
)

SELECT DISTINCT ON (w.fact_id) w.fact_id, w.hops, w.score, f.statement
FROM walked AS w
CROSS JOIN LATERAL (SELECT o.statement FROM flat_facts AS o WHERE o.fact_id = w.fact_id LIMIT 1) AS f
ORDER BY w.fact_id, w.hops
"""

_PATH = ("Errands",)


def run(bench: Bench) -> Section:
    """Measure small graphs, and with ``--large`` one of a million facts."""
    rows = []
    for facts in QUICK_SIZES if bench.quick else LARGE_SIZES if bench.large else SIZES:
        bench.say(f"{facts:,} facts")
        with bench.installation() as installation:
            rows.append([f"{facts:,}", *_measure(installation, facts, QUICK_REPEATS if bench.quick else REPEATS)])
    header = (
        *("facts", "reached", "flat ms", "function ms", "÷ flat", "quarantine ms", "÷ flat", "persona ms", "÷ flat"),
        *("processor ms, flat", "function", "÷ flat", "HTTP ms"),
    )
    return Section("Graph queries", _METHOD, table(header, rows))


def _measure(installation: Installation, facts: int, repeats: int) -> list[str]:
    claims, persona = _fill(installation, facts)
    with psycopg.connect(installation.administrator_url, autocommit=True) as plain:
        found = plain.execute("SELECT n.fact_id FROM numbered AS n WHERE n.place <= 5000").fetchall()
        ids = [row[0] for row in found]
        owner, other = (installation.acting_for(one) for one in (claims, persona))
        rng = random.Random(7)

        def some() -> list[tuple[UUID, float]]:
            return [(fact_id, 1.0) for fact_id in rng.sample(ids, SEEDS)]

        def flat() -> list[Any]:
            return plain.execute(_FLAT, [[fact_id for fact_id, _ in some()], HOPS], prepare=True).fetchall()

        works = [flat, lambda: walk(owner, some(), Route(HOPS)), lambda: walk(other, some(), Route(HOPS))]
        flat_s, owner_s, persona_s = in_turns(works, repeats)
        processor = [_processor_ms(plain, work, repeats) for work in works[:2]]
        reached = len(walk(owner, some(), Route(HOPS)).steps)
        over_http = _over_http(installation, claims, ids, repeats)
        plain.execute(
            "UPDATE neurigraph.record_index SET quarantined = true "
            "WHERE record_id = (SELECT n.record_id FROM numbered AS n WHERE n.place = 1)"
        )
        again_s, quarantine_s = in_turns(works[:2], repeats)
    ratios = (
        _median(found) / _median(base)
        for found, base in ((owner_s, flat_s), (quarantine_s, again_s), (persona_s, flat_s))
    )
    shown = [
        cell
        for found, ratio in zip((owner_s, quarantine_s, persona_s), ratios, strict=True)
        for cell in (_ms(found), number(ratio))
    ]
    of_processor = [*map(number, processor), number(processor[1] / max(processor[0], 0.001))]
    return [str(reached), _ms(flat_s), *shown, *of_processor, _ms(over_http)]


def _processor_ms(plain: psycopg.Connection[Any], work: Callable[[], object], repeats: int) -> float:
    """Return the processor time of the server for each repetition, which the load of the machine does not change."""
    query = "SELECT s.pid FROM pg_stat_activity AS s WHERE s.datname = current_database()"
    pids = [row[0] for row in plain.execute(query)]

    def ticks() -> int:
        fields = [Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split() for pid in pids]
        return sum(int(one[11]) + int(one[12]) for one in fields)

    begun = ticks()
    for _ in range(repeats):
        work()
    return (ticks() - begun) / os.sysconf("SC_CLK_TCK") * 1_000 / repeats


def _fill(installation: Installation, facts: int) -> tuple[Claims, Claims]:
    """Create a user with so many facts, and return the claims of the owner and of a persona with a grant."""
    user, _ = create_user(installation.database, "walked")
    claims = Claims.of_user(user.user_id)
    with installation.database.owner() as tx:
        node = resolve_path(tx, user.user_id, user.slug, _PATH, [PlannedNode(_PATH, ConceptKind.TOPIC, 1.0)])
    persona = sharing.add_node(installation.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    sharing.grant(installation.database, claims, sharing.Subject(SubjectType.PERSONA, str(persona)), node.node_id)
    values = {
        "node_id": node.node_id,
        "user_id": user.user_id,
        "records": facts // FACTS_A_RECORD,
        "facts": FACTS_A_RECORD,
        "links": LINKS,
    }
    with psycopg.connect(installation.administrator_url, autocommit=True) as plain:
        plain.execute("SET session_replication_role = replica")  # triggers take most of the time of filling
        plain.execute("SELECT setseed(0.7)")
        for statement in (_RECORDS, _FACTS):
            plain.execute(statement, values)
        plain.execute(_NUMBERED)
        plain.execute(_LINKS, values)
        plain.execute(_FLAT_TABLES)
    return claims, Claims(str(persona), "persona", user.user_id)


def _over_http(installation: Installation, claims: Claims, ids: list[UUID], repeats: int) -> list[float]:
    key = issue_api_key(installation.database, claims.user_id)
    unlimited = installation.settings.changed(api_requests_per_minute=1e9)
    with Installation(unlimited) as served, serving(served) as address, httpx.Client(base_url=address) as client:
        headers = {"Authorization": f"Bearer {key}"}

        def ask() -> None:
            body = {"fact_id": str(random.choice(ids)), "max_hops": HOPS}
            client.post("/v1/facts/query", json=body, headers=headers).raise_for_status()

        return in_turns([ask], repeats)[0]


def _median(seconds: list[float]) -> float:
    return statistics.median(seconds)


def _ms(seconds: list[float]) -> str:
    return spread([1_000 * one for one in seconds])
