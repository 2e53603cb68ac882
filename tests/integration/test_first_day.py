"""Dagster's partitions begin on the day of the installation."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from neurigraph_pipelines.defs.shared.first_day import EARLIEST, first_day
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context


@pytest.fixture(autouse=True)
def no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEURIGRAPH_FIRST_DAY")


def today() -> date:
    return datetime.now(UTC).date()


def test_new_database_begins_today_or_with_its_oldest_memory(installation: Installation) -> None:
    user, claims = new_user(installation)
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.schema_migrations SET applied_at = now()")
    assert first_day(installation.settings) == today()
    converse(installation, claims, "#trips/Dave says hello.")
    assert ingest(plain_context(installation), user)
    with installation.database.owner() as tx:
        tx.execute("UPDATE neurigraph.record_index SET created_at = created_at - interval '40 days'")
    assert first_day(installation.settings) == max(today() - timedelta(days=40), EARLIEST)


def test_setting_and_absence(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = settings.database.model_copy(update={"url": SecretStr("postgresql://nobody@127.0.0.1:1/none")})
    assert first_day(settings.model_copy(update={"database": nowhere})) == EARLIEST, "no day vanishes"
    embedded = settings.model_copy(update={"database": settings.database.model_copy(update={"url": None})})
    at_home = embedded.model_copy(update={"home": tmp_path})
    assert first_day(at_home) == today()
    made = tmp_path / "postgres" / "data" / "PG_VERSION"
    made.parent.mkdir(parents=True)
    made.touch()
    long_ago = datetime(2026, 5, 4, 12, tzinfo=UTC)
    os.utime(made, (long_ago.timestamp(), long_ago.timestamp()))
    assert first_day(at_home) == long_ago.date()
    monkeypatch.setenv("NEURIGRAPH_FIRST_DAY", "2026-03-02")
    assert first_day(at_home.model_copy(update={"runs": Settings().runs})) == date(2026, 3, 2)
