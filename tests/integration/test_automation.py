"""When assets are made by themselves: what the sensor of automations requests after events and as time passes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.shared.run_tags import WAITING, YIELDS

NOON = datetime(2026, 6, 1, 12, 0, 5, tzinfo=UTC)
TODAY = NOON.date().isoformat()
FACTS = {"record_facts", "reconciled_facts", "links_and_beliefs"}
INDEXES = {"node_indexes", "layer_packs"}
MINUTE = timedelta(minutes=1)


class Ticks:
    """The sensor's ticks, one after the other."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self.instance = instance
        self._cursor: Any = None
        self.tick(NOON)

    def tick(self, at: datetime) -> set[str]:
        """Return the assets that are requested at a moment."""
        done = dg.evaluate_automation_conditions(
            defs=defs, instance=self.instance, cursor=self._cursor, evaluation_time=at
        )
        self._cursor = done.cursor
        keys = defs.resolve_all_asset_keys()
        return {key.to_user_string() for key in keys if done.get_num_requested(key)}

    def make(self, asset: str, day: str | None = TODAY) -> None:
        """Report an event of an asset."""
        self.instance.report_runless_asset_event(dg.AssetMaterialization(asset, partition=day))


@pytest.fixture
def ticks() -> Iterator[Ticks]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield Ticks(instance)


def test_what_waits_is_taken_once(ticks: Ticks) -> None:
    ticks.make("memories")
    ticks.make("record_embeddings")
    assert ticks.tick(NOON + MINUTE) == set(), "the sensor says what waits"
    ticks.make("waiting_knowledge", None)
    assert ticks.tick(NOON + 2 * MINUTE) == FACTS
    assert ticks.tick(NOON + 3 * MINUTE) == set()


def test_indexes_are_made_once_an_hour(ticks: Ticks) -> None:
    ticks.make("record_embeddings")
    assert ticks.tick(NOON + MINUTE) == set()
    assert ticks.tick(NOON + 54 * MINUTE) == INDEXES
    assert ticks.tick(NOON + 114 * MINUTE) == set()


def test_idle_day_starts_what_the_clock_makes(ticks: Ticks) -> None:
    requested = [name for hour in range(1, 25) for name in ticks.tick(NOON + timedelta(hours=hour))]
    assert sorted(requested) == sorted({*INDEXES, "node_digests", "node_profiles"})


def test_requested_runs_take_what_waits() -> None:
    (sensor,) = [one for one in defs.sensors or () if isinstance(one, dg.AutomationConditionSensorDefinition)]
    assert sensor.run_tags == {**WAITING, **YIELDS}
    assert sensor.default_status is dg.DefaultSensorStatus.RUNNING
