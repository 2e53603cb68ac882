"""A synchronous standby that vanishes: COMMIT waits for it, and an interrupt of the wait loses nothing."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context
from tests.support.uploads import FERRY, store, upload
from tests.support.waiting import wait_until

WAITS = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


@contextmanager
def lost_standby(here: Installation, administrator: psycopg.Connection, table: str) -> Iterator[None]:
    """Interrupt the transaction that inserts into a table, as its COMMIT waits for a standby; others need none."""
    database = sql.Identifier(str(conninfo_to_dict(here.administrator_url)["dbname"]))
    administrator.execute(sql.SQL("ALTER DATABASE {} SET synchronous_commit = local").format(database))
    with psycopg.connect(here.administrator_url) as connection:
        connection.execute("""CREATE FUNCTION neurigraph.wait_for_standby() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN PERFORM set_config('synchronous_commit', 'on', true); RETURN new; END $$""")
        connection.execute(
            sql.SQL("""CREATE TRIGGER wait_for_standby BEFORE INSERT ON neurigraph.{} FOR EACH ROW
            EXECUTE FUNCTION neurigraph.wait_for_standby()""").format(sql.Identifier(table))
        )

    def interrupt() -> None:
        wait_until(lambda: administrator.execute(WAITS).fetchone() is not None, "a COMMIT waits")
        os.kill(os.getpid(), signal.SIGINT)

    interrupting = threading.Thread(target=interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    administrator.execute("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
    try:
        administrator.execute("SELECT pg_reload_conf()")
        administrator.execute("CHECKPOINT")  # the checkpointer makes the names known before it begins
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        interrupting.join()
        signal.signal(signal.SIGINT, before)
        administrator.execute("ALTER SYSTEM RESET synchronous_standby_names")
        administrator.execute("SELECT pg_reload_conf()")
        administrator.execute("CHECKPOINT")


def test_interrupted_conversation(installation: Installation, administrator: psycopg.Connection) -> None:
    user, claims = new_user(installation)
    converse(installation, claims, "#Family/Ana One.")
    with lost_standby(installation, administrator, "record_index"), Installation(installation.settings) as other:
        ingest(plain_context(other), user)
    found = verify(installation.context)
    assert (found.files, found.findings) == (1, [])
    assert ingest(plain_context(installation), user) == []


def test_interrupted_upload(installation: Installation, administrator: psycopg.Connection) -> None:
    _, claims = new_user(installation)
    with lost_standby(installation, administrator, "uploads"), Installation(installation.settings) as other:
        upload(other, claims, "ferry.pdf", FERRY)
    assert len(store(installation)) == 1
    assert verify(installation.context).findings == []
