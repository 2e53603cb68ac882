"""Attacks by direct SQL on what lies outside the database: files, programs and the network."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege

from neurigraph_pipelines.model.ports import Transaction

pytestmark = pytest.mark.attack


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1) TO '/tmp/written'",
        "COPY neurigraph.messages (content) FROM '/etc/passwd'",
        "COPY neurigraph.messages (content) FROM PROGRAM 'id'",
        "COPY (SELECT 1) TO PROGRAM 'sh'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT pg_read_binary_file('PG_VERSION')",
        "SELECT pg_ls_dir('.')",
        "SELECT pg_ls_logdir()",
        "SELECT pg_stat_file('PG_VERSION')",
        "SELECT lo_import('/etc/passwd')",
        "SELECT lo_export(1, '/tmp/written')",
        "SELECT * FROM pg_hba_file_rules",
        "SELECT * FROM pg_file_settings",
        "SHOW data_directory",
        "SHOW config_file",
        "LOAD 'plpgsql_plugin'",
        "SELECT pg_reload_conf()",
        "SELECT pg_switch_wal()",
        "SELECT pg_promote()",
        "SELECT pg_logical_emit_message(true, 'a', 'b'), pg_create_logical_replication_slot('s', 'pgoutput')",
        "CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw",
        "CREATE FOREIGN DATA WRAPPER mine",
        "CREATE SUBSCRIPTION s CONNECTION 'host=example.org' PUBLICATION p",
        "CREATE PUBLICATION p FOR TABLE neurigraph.messages",
        "CREATE TABLESPACE t LOCATION '/tmp'",
    ],
)
def test_reaching_files_programs_or_network(agent: Transaction, statement: str) -> None:
    with pytest.raises((InsufficientPrivilege, psycopg.errors.UndefinedObject)):  # the latter: not installed here
        agent.execute(sql.SQL(statement))


def test_xml_entity_naming_a_file(agent: Transaction) -> None:
    document = '<!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>'
    try:
        (row,) = agent.execute("SELECT xpath('/a/text()', %s::xml)::text AS said", [document]).fetchall()
    except psycopg.Error:
        return
    assert "root:" not in row["said"]
