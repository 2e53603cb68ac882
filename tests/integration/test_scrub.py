"""Erased text is not in the database files once the tables are rewritten."""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg import sql

from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.lifecycle.erasure.scrubbing import scrub
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import run_cli
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored
from tests.support.word_traces import found_in_database


def files_with(administrator: psycopg.Connection, word: str) -> list[str]:
    """Files of this database that hold a word; those of the log are not looked at."""
    administrator.execute("CHECKPOINT")
    row = administrator.execute(
        "SELECT current_setting('data_directory'), d.oid FROM pg_database AS d WHERE d.datname = current_database()"
    ).fetchone()
    assert row is not None
    folder = Path(row[0]) / "base" / str(row[1])
    held = [path.name for path in folder.iterdir() if word.encode() in path.read_bytes().lower()]
    named = "SELECT coalesce(pg_filenode_relation(0, %s)::text, %s)"
    return [row[0] for name in held for row in administrator.execute(named, [name.split(".")[0], name])]


def test_erased_text_leaves_database_files(settings: Settings, installation: Installation) -> None:
    here = installation
    user, claims = new_user(here)
    gone, stays = "mark1f3ab9c07", "mark5e2dd8f41"
    for word in (gone, stays):
        converse(here, claims, f"#Family/{stays} {word} says hello.", external_id=word)
    records = {record.title: record.record_id for record in stored(ingest(plain_context(here)))}
    (to_erase,) = [record for title, record in records.items() if gone in title]
    subjects = {
        gone: ErasureSubject(SubjectKind.RECORD, to_erase),
        stays: ErasureSubject(SubjectKind.USER, user.user_id),
    }
    with psycopg.connect(here.administrator_url, autocommit=True) as administrator:
        administrator.execute("ANALYZE")  # its samples are copies, too
        for word, subject in subjects.items():
            forget(here.acting_for(claims), subject, through="tests")
            assert files_with(administrator, word)
            assert scrub(here.database, claims.user_id).busy == []
            for catalog in ("pg_namespace", "pg_statistic"):  # only an administrator may
                administrator.execute(sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier(catalog)))
            assert files_with(administrator, word) == []
            assert found_in_database(here, word, statistics=True) == []
    assert run_cli(settings, "admin", "scrub").returncode == 0


def test_table_in_use_is_skipped(installation: Installation) -> None:
    with psycopg.connect(installation.administrator_url) as reader:
        reader.execute("SELECT FROM neurigraph.messages")
        report = scrub(installation.database)
    assert report.busy == ["neurigraph.messages"]
    assert report.tables == len(rows(installation, "SELECT FROM pg_tables WHERE schemaname = 'neurigraph'")) - 1
