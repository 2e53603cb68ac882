"""Searches read from a streaming standby; everything else, and every search that it cannot answer, from the primary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConfigurationError
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.runtime.doctor.memory import database as look_at_database
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.embedded import ServerLease
from tests.support.memories import converse, ingest, new_user, plain_context, rows
from tests.support.standby import Standby, standby_of
from tests.support.waiting import wait_until

LAMP = "#Family/Dave Dave repairs the lighthouse lamp."
OAR = "#Family/Dave Dave paints the lighthouse oar."


@pytest.fixture(scope="module")
def standby(server: ServerLease, template_database: str) -> Iterator[Standby]:
    with standby_of(server) as made:
        yield made


@contextmanager
def reading(installation: Installation, url: str, lag_seconds: float) -> Iterator[Installation]:
    """Open another process's view of the installation, with a replica."""
    replica = {"database_replica_url": url, "database_replica_lag_seconds": lag_seconds}
    with Installation(installation.settings.model_validate({**_given(installation), **replica})) as made:
        made.embedder = installation.embedder
        yield made


def _given(installation: Installation) -> dict[str, object]:
    settings = installation.settings
    secrets = {name: getattr(settings, name) for name in ("secret", "role_secret", "admin_key")}
    return {
        **secrets,
        "home": settings.home,
        "database_url": settings.database.url,
        "language_model": "offline",
        "retrieval_log_days": 1,
    }


@contextmanager
def behind(
    installation: Installation, standby: Standby, lag_seconds: float = 3_600.0
) -> Iterator[tuple[Installation, Claims]]:
    """A user with two memories, of whom the standby has the first until it may go on."""
    user, claims = new_user(installation)
    context = plain_context(installation)
    converse(installation, claims, LAMP)
    ingest(context, user)
    wait_until(lambda: standby.has_database(installation.administrator_url), "the standby has the database")
    with reading(installation, standby.url(installation.administrator_url), lag_seconds) as opened:
        assert opened.replica is not None
        wait_until(opened.replica.is_current, "the standby is current")
        wait_until(lambda: found(opened, claims) == [LAMP], "the standby has the first memory")
        standby.pause_replay(paused=True)
        try:
            converse(installation, claims, OAR)
            ingest(context, user)
            yield opened, claims
        finally:
            standby.pause_replay(paused=False)


def found(installation: Installation, claims: Claims, **more: object) -> list[str]:
    context: Context = plain_context(installation).acting_for(claims)
    hits = search(context, Question("What does Dave do at the lighthouse?", **more)).hits  # type: ignore[arg-type]
    return sorted(str(hit.title) for hit in hits)


def test_searches_read_from_the_standby(installation: Installation, standby: Standby) -> None:
    with behind(installation, standby) as (opened, claims):
        assert found(opened, claims) == [LAMP]
        assert found(installation, claims) == [OAR, LAMP]
        # What a search notes goes to the primary, since the standby takes nothing.
        opened.database.wait_for_background()
        assert rows(installation, "SELECT FROM neurigraph.warm_nodes WHERE user_id = %s", claims.user_id)
        assert rows(installation, "SELECT FROM neurigraph.retrievals WHERE user_id = %s", claims.user_id)
        standby.pause_replay(paused=False)
        wait_until(lambda: found(opened, claims) == [OAR, LAMP], "the standby has the second memory")


def test_a_standby_that_is_too_far_behind_is_not_asked(installation: Installation, standby: Standby) -> None:
    with behind(installation, standby, 0.5) as (opened, claims):
        assert opened.replica is not None
        wait_until(lambda: opened.replica and not opened.replica.is_current(), "the standby is too far behind")
        assert found(opened, claims) == [OAR, LAMP]
        (late, *_) = look_at_database(opened)
        assert (late.level, "behind" in late.found) == ("warning", True)
        standby.pause_replay(paused=False)
        wait_until(opened.replica.is_current, "the standby has caught up")
        assert found(opened, claims) == [OAR, LAMP]


def test_what_the_standby_does_not_know_yet_is_asked_of_the_primary(
    installation: Installation, standby: Standby
) -> None:
    with behind(installation, standby) as (opened, claims):
        converse(installation, claims, "#Harbour Dave sweeps the lighthouse stairs.")
        ingest(plain_context(installation))
        with installation.database.agent(claims) as tx:
            harbour = find_node(tx, claims.user_id, "Harbour")
        assert found(opened, claims, node_id=harbour) == ["#Harbour Dave sweeps the lighthouse stairs."]
        assert opened.replica is not None
        assert opened.replica.is_current()
        assert found(opened, claims) == [LAMP]


def test_a_standby_that_is_gone_is_not_missed(installation: Installation, standby: Standby) -> None:
    with behind(installation, standby) as (opened, claims):
        assert opened.replica is not None
        assert found(opened, claims) == [LAMP]
        standby.stop()
        try:
            assert found(opened, claims) == [OAR, LAMP]
            assert not opened.replica.is_current()
        finally:
            standby.start()
        wait_until(opened.replica.is_current, "the standby is back")
        wait_until(lambda: found(opened, claims) == [OAR, LAMP], "the standby has the second memory")


def test_a_server_that_is_no_standby_is_not_used(installation: Installation, caplog: pytest.LogCaptureFixture) -> None:
    with reading(installation, installation.administrator_url, 60.0) as opened:
        _, claims = new_user(opened)
        assert found(opened, claims) == []
        assert opened.replica is not None
        assert not opened.replica.is_current()
    assert "names no streaming standby" in caplog.text
    with (
        reading(installation, "not an address", 60.0) as opened,
        pytest.raises(ConfigurationError, match="NEURIGRAPH_DATABASE_REPLICA_URL"),
    ):
        found(opened, claims)


def test_a_standby_takes_no_writes(installation: Installation, standby: Standby) -> None:
    wait_until(lambda: standby.has_database(installation.administrator_url), "the standby has the database")
    with (
        psycopg.connect(standby.url(installation.administrator_url)) as connection,
        pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
    ):
        connection.execute("DELETE FROM neurigraph.warm_nodes")
