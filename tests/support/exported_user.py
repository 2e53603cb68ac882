"""A user with a row in every exported table, and functions to export and restore it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg import sql

from neurigraph_pipelines.access.accounts import change_account
from neurigraph_pipelines.exchange.portability.archive import MANIFEST, folder_writer, new_archive, open_archive
from neurigraph_pipelines.exchange.portability.export import Exported, written
from neurigraph_pipelines.exchange.portability.restore import Restored, restore_user
from neurigraph_pipelines.exchange.portability.stream import StreamPart
from neurigraph_pipelines.exchange.portability.tables import shared_tables, tables_of
from neurigraph_pipelines.graph.aliases import give_alias
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.knowledge.fact_values import FactState, FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import change_fact
from neurigraph_pipelines.lifecycle.dormancy import sweep_dormant
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.retention import set_tier
from neurigraph_pipelines.model import AliasType, Claims, ConceptKind, NodeCandidate, Tier
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import TransientError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.files import StoredFile, store_file
from tests.support.memories import WordEmbedder, converse, ingest, new_user, plain_context, rows
from tests.support.witnesses import as_witness, doubt

CHOSEN_BY_RESTORE = {"schema_name", "storage_path", "file_pointer", "staging_key"}
"""Columns that a restore fills by itself."""

QUESTIONS = (
    "What did Dave say about the harbour?",
    "sister",
    "Where is the red bicycle?",
    "what did Ana cook last March",
    "'; DROP TABLE neurigraph.users; --",
)


@dataclass(frozen=True)
class Source:
    """A user with a row in every exported table, and the export."""

    here: Installation
    user: User
    claims: Claims
    file: StoredFile
    folder: Path
    zipped: Path
    report: Exported

    def ask(self, there: Installation, question: str) -> Found:
        return search(there.acting_for(self.claims).using(embedder=WordEmbedder()), Question(question, explain=True))


def all_rows(here: Installation, user_id: UUID) -> dict[str, list[str]]:
    """Every row of a user that an export has, as text, without the columns that a restore chooses."""
    found: dict[str, list[str]] = {}
    with here.database.owner() as tx:
        tables = {table.name: (table, "WHERE user_id = %(user_id)s") for table in shared_tables(tx)}
        for node in tx.execute("SELECT node_id, schema_name FROM neurigraph.graph_index WHERE user_id = %s", [user_id]):
            for table in tables_of(tx, node["schema_name"]):
                tables[f"{node['node_id']}/{table.name}"] = (table, "")
        for name, (table, where) in tables.items():
            statement = sql.SQL("SELECT row_to_json(r)::text AS line FROM (SELECT {} FROM {} {}) AS r").format(
                sql.SQL(", ").join(sql.Identifier(c) for c in table.columns if c not in CHOSEN_BY_RESTORE),
                table.identifier,
                sql.SQL(where),
            )
            found[name] = sorted(row["line"] for row in tx.execute(statement, {"user_id": user_id}))
    return found


def export(here: Installation, user: User, target: Path, meanwhile: Callable[[], object] = lambda: None) -> Exported:
    """Export a user, and do something after the first step."""
    report = Exported()
    with new_archive(target) as archive, written(here.context, user.user_id, report) as stream:
        for number, _ in enumerate(archive.write(stream)):
            if number == 0:
                meanwhile()
    return report


def restore(there: Installation, path: Path, slug: str) -> Restored:
    with open_archive(path) as archive:
        return restore_user(there.context, archive, slug, lambda _: None)


def exported_user(here: Installation, folder: Path) -> Source:
    """Create the user, with its exports in a folder."""
    user, claims = new_user(here, "exporter")
    context = plain_context(here)
    converse(here, claims, "#Family/Dave Dave sails from the harbour.", "@Ana:sister How nice, Ünïcødé 🚲.", hours=1)
    ingest(context, user)
    converse(here, claims, "#Family/Ana Ana cooked soup. @Dave:brother", "The red bicycle:\n\t\\N \\.", hours=2)
    ingest(context, user)
    read_waiting(context, user_id=user.user_id)
    _decide_about_facts(here, context.acting_for(claims), user)
    converse(here, claims, "#Lab/Bench The bench has a vice.", hours=2)
    ingest(context, user)
    converse(here, claims, "#Family/Ana Ana sings.", hours=3)
    ingest(context.using(embedder=WordEmbedder(fault=TransientError("no network"))), user)
    file = store_file(here, "#Notes An old note. " * 60, user=(user, claims))
    file.age(here.settings.lifecycle.dormancy_days + 1)
    sweep_dormant(here.context)
    converse(here, claims, "Not finished yet.", external_id="open", ended=False)
    once = here.settings.changed(max_attempts=1)
    converse(here, claims, "This is REFUSED.", external_id="refused")
    ingest(context.using(settings=once), user)
    write_note(here.acting_for(claims), IncomingNote("A note that waits.", path="Family/Dave", tags=("waiting",)))
    known = SourceDetails(
        "scanner", url="https://example.com/a", metadata={"pages": 2}, author="Ana", container_tags=("scans", "a:b")
    )
    here.uploads.receive(claims, "waiting.txt", [b"An upload that changed."], external_id="waiting", details=known)
    here.uploads.receive(claims, "waiting.txt", [b"An upload that nobody has read yet."], external_id="waiting")
    _plant_rows(here, user, file.row["record_id"])
    _link_facts(here, user)
    _judge_facts(here, user)
    _mirror(here, user)
    set_tier(here.acting_for(claims), file.row["record_id"], Tier.SHORT, reason="an old note")
    give_alias(here.database, claims, user.root_node_id, AliasType.EXTERNAL, "crm:4711")
    change_account(here.database, claims, {"display_name": "Dora", "metadata": {"team": "harbour"}})
    # The first question of a minute sets the clocks of nodes: an export is of what is there then.
    search(here.acting_for(claims).using(embedder=WordEmbedder()), Question("everything", limit=100))
    here.database.wait_for_background()
    # A question of the next hour would extend the lives of records.
    counted = "UPDATE neurigraph.record_retention SET last_access_at = now() + interval '1 day' WHERE user_id = %s"
    with here.database.owner() as tx:
        tx.execute(counted, [user.user_id])
    report = export(here, user, folder / "open")
    export(here, user, folder / "packed.zip")
    return Source(here, user, claims, file, folder / "open", folder / "packed.zip", report)


def _decide_about_facts(here: Installation, context: Context, user: User) -> None:
    """Give one fact two more versions, the last one pinned; forget another fact; let a further version wait."""
    query = "SELECT fact_id FROM neurigraph.facts WHERE user_id = %s ORDER BY statement"
    first, gone = (row["fact_id"] for row in rows(here, query, user.user_id)[:2])
    for words in ("Dave sails from the pier.", "Dave sails no more."):
        changed = change_fact(context, first, FactWords(words), FactState())
        assert changed is not None
        first = changed.fact_id
        ingest(context, user)
        read_waiting(context, user_id=user.user_id)
    change_fact(context, first, FactWords(), FactState(pinned=True, metadata={"by": "hand"}))
    forget(context, ErasureSubject(SubjectKind.FACT, gone), through="a test")
    change_fact(context, first, FactWords("Dave sails again."), FactState())


def _judge_facts(here: Installation, user: User) -> None:
    """Plant a verdict on two facts."""
    with here.database.pipeline() as tx:
        tx.execute(
            """INSERT INTO neurigraph.fact_verdicts (
                later_id, earlier_id, user_id, verdict, confidence, reason, effect, judged_by
            )
            SELECT a.fact_id, b.fact_id, a.user_id, 'supports', 0.5, 'planted', 'none', 'tests'
            FROM neurigraph.facts AS a INNER JOIN neurigraph.facts AS b ON a.user_id = b.user_id
            WHERE a.user_id = %s AND a.fact_id <> b.fact_id
            ORDER BY a.fact_id, b.fact_id LIMIT 1""",
            [user.user_id],
        )


def _link_facts(here: Installation, user: User) -> None:
    """Link a fact to the user's first record, with the signature of another installation, which does not hold."""
    with here.database.owner() as tx:
        tx.execute(
            """WITH signing AS (
                INSERT INTO neurigraph.signing_keys (user_id, peer_name, public_key, registered_by)
                VALUES (%(user)s, 'lab', sha256('a'), 'tests') RETURNING *
            )
            INSERT INTO neurigraph.links (
                user_id, from_fact_id, to_record_id, relation, strength, confidence, observed_by, detected_by, key_id,
                signature
            )
            SELECT f.user_id, f.fact_id, i.record_id, 'elaborates', 0.5, 0.5, s.holder, 'person', s.key_id,
                sha256('a') || sha256('b')
            FROM signing AS s
            CROSS JOIN LATERAL (
                SELECT o.* FROM neurigraph.facts AS o WHERE o.user_id = s.user_id ORDER BY o.fact_id LIMIT 1
            ) AS f
            CROSS JOIN LATERAL (
                SELECT r.* FROM neurigraph.record_index AS r WHERE r.user_id = s.user_id AND r.record_id <> f.record_id
                ORDER BY r.record_id LIMIT 1
            ) AS i""",
            {"user": user.user_id},
        )


def _mirror(here: Installation, user: User) -> None:
    """Make the node Lab the mount node of a peer, and what is below it a mirror."""
    with here.database.owner() as tx:
        tx.execute(
            """WITH mount AS (
                SELECT node_id FROM neurigraph.graph_index WHERE user_id = %(user)s AND node_name = 'Lab'
            ),
            peer AS (
                INSERT INTO neurigraph.peers (user_id, peer_name, url, publisher_key, mount_node_id)
                SELECT %(user)s, 'lab', 'https://lab.example.com', sha256('a'), m.node_id FROM mount AS m RETURNING *
            ),
            node AS (
                INSERT INTO neurigraph.mirrored_nodes (node_id, user_id, peer_id, publisher_node_id)
                SELECT g.node_id, g.user_id, p.peer_id, gen_random_uuid() FROM peer AS p
                INNER JOIN neurigraph.graph_index AS g ON g.parent_node_id = p.mount_node_id RETURNING *
            )
            INSERT INTO neurigraph.mirrored_records (record_id, user_id, peer_id, node_id, publisher_record_id, version)
            SELECT i.record_id, n.user_id, n.peer_id, n.node_id, gen_random_uuid(), gen_random_uuid()
            FROM node AS n INNER JOIN neurigraph.record_index AS i ON n.node_id = i.node_id""",
            {"user": user.user_id},
        )


def rewrite(name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    """Return a malicious change of the rows of one file, with a matching manifest."""

    def damage(folder: Path) -> None:
        path = next(folder.glob(name))
        lines = [json.dumps(change(json.loads(line))) for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")
        seal(folder)

    return damage


def replace_text(folder: Path, texts: Mapping[str, str]) -> None:
    """Replace texts in all rows and object names of an export, with a matching manifest."""
    for path in folder.rglob("*.jsonl"):
        path.write_text(_replaced(path.read_text(), texts))
    manifest = folder / MANIFEST
    manifest.write_text(_replaced(manifest.read_text(), texts))
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        target = folder / _replaced(str(path.relative_to(folder)), texts)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
    seal(folder)


def seal(folder: Path) -> None:
    """Write the manifest of a changed export again, so that it matches its files."""
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest.pop("files")
    rows: Counter[str] = Counter()
    writer = folder_writer(folder.parent / "sealed")
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST):
        content = path.read_bytes()
        list(writer.add(StreamPart(str(path.relative_to(folder)), iter([content]))))
        if path.suffix == ".jsonl":
            rows[path.stem] += content.count(b"\n")
    writer.finish({**manifest, "rows": rows})
    shutil.rmtree(folder)
    (folder.parent / "sealed").rename(folder)


def _replaced(text: str, texts: Mapping[str, str]) -> str:
    for old, new in texts.items():
        text = text.replace(old, new)
    return text


def _plant_rows(here: Installation, user: User, record_id: UUID) -> None:
    """A grant, a standard, a dropped file, a quarantine that was lifted, and a doubt."""
    with here.database.owner() as tx:
        tx.execute(
            "INSERT INTO neurigraph.permission_grants"
            " (user_id, subject_id, subject_type, target_node_id, grant_type, grantor_user_id)"
            " VALUES (%(user)s, 'friend', 'third_party', %(root)s, 'read', %(user)s)",
            {"user": user.user_id, "root": user.root_node_id},
        )
        tx.execute(
            "INSERT INTO neurigraph.node_standards (node_id, user_id, write_rule) VALUES (%s, %s, 'approve')",
            [user.root_node_id, user.user_id],
        )
        tx.execute(
            "INSERT INTO neurigraph.dropped_files (user_id, file_name, version, error) VALUES (%s, 'x', '1', 'empty')",
            [user.user_id],
        )
        tx.execute(
            "WITH held AS (INSERT INTO neurigraph.quarantines"
            " (user_id, received_until, reason, requested_by, released_by, released_at)"
            " VALUES (%(user)s, '2001-01-01', 'a test', 'tests', 'tests', now()) RETURNING quarantine_id),"
            " records AS (INSERT INTO neurigraph.quarantined_records (quarantine_id, record_id, user_id)"
            " SELECT h.quarantine_id, %(record)s, %(user)s FROM held AS h),"
            " deltas AS (INSERT INTO neurigraph.quarantined_deltas (quarantine_id, delta_id, record_id, user_id)"
            " SELECT h.quarantine_id, d.delta_id, d.record_id, d.user_id FROM held AS h"
            " CROSS JOIN neurigraph.delta_log AS d WHERE d.record_id = %(record)s),"
            " vectors AS (INSERT INTO neurigraph.quarantined_vectors"
            " (record_id, summary_digest, user_id, embedding, embedding_model)"
            " VALUES (%(record)s, 'digest', %(user)s, '[1]', 'model'))"
            " INSERT INTO neurigraph.quarantine_changes (quarantine_id, user_id, table_name, row_id, before)"
            " SELECT h.quarantine_id, %(user)s, 'graph_index', %(root)s, '{}' FROM held AS h",
            {"user": user.user_id, "root": user.root_node_id, "record": record_id},
        )
        candidate = NodeCandidate("Eve", ConceptKind.PERSON, ("Family",), 0.4)
        doubt(here, tx, user.user_id, as_witness(record_id), [candidate])
