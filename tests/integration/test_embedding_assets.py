"""Embedding assets in Dagster: daily partitions, backfills in one run, the sensor and the check."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.embeddings.embedding_assets import (
    pending_embeddings,
    record_embeddings,
    waiting_embeddings_sensor,
)
from neurigraph_pipelines.defs.ingestion.ingestion_job import run_config
from neurigraph_pipelines.defs.ingestion.passage_assets import passages
from neurigraph_pipelines.defs.ingestion.summary_assets import record_keywords, record_summaries
from neurigraph_pipelines.defs.knowledge.fact_assets import record_facts
from neurigraph_pipelines.defs.knowledge.verdict_assets import reconciled_facts
from neurigraph_pipelines.defs.shared.backfills import FIRST_DAY, days, partition_of
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe
from tests.support.vectors import (
    NamedEmbedder,
    UnreachableEmbedder,
    day_of_records,
    end_conversation,
    models_of,
    records_of,
    store,
    with_embedder,
)

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")

LOCAL = "neurigraph-minilm-1"


@pytest.fixture
def user(installation: Installation) -> User:
    return create_user(installation.database, "bob")[0]


@pytest.fixture(autouse=True)
def _environment(settings: Settings, installation: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(settings, monkeypatch)


def remember(installation: Installation, user: User, embedder: NamedEmbedder, *names: str) -> None:
    for name in names:
        end_conversation(installation, user, name, f"The walnut tree {name} fell onto the barn.")
    store(installation, with_embedder(installation, embedder))


def test_backfill_of_days_is_one_run(installation: Installation, user: User) -> None:
    remember(installation, user, NamedEmbedder("old"), "a", "b", "c")
    day = day_of_records(installation)
    with installation.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.record_index SET created_at = created_at - interval '40 years' WHERE record_id = "
            "(SELECT min(record_id::text)::uuid FROM neurigraph.record_index)"
        )
    with dg.DagsterInstance.ephemeral() as instance:

        def backfill(first: str, last: str, **config: bool) -> dict[str, dg.MetadataValue]:
            result = dg.materialize(
                [record_embeddings],
                run_config={"ops": {"record_embeddings": {"config": config}}},
                instance=instance,
                resources={"installation": InstallationResource()},
                tags={"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last},
            )
            assert result.success
            return dict(result.asset_materializations_for_node("record_embeddings")[0].metadata)

        newest = backfill((date.fromisoformat(day) - timedelta(days=1)).isoformat(), day)
        assert (newest["records embedded"].value, newest["users not done yet"].value) == (2, 1)
        assert models_of(installation, user.user_id) == ("old", LOCAL)
        rest = backfill(FIRST_DAY, day, again=False)
        assert (rest["records embedded"].value, rest["had them already"].value) == (1, 2)
        assert rest["users switched"].value == 1
        assert models_of(installation, user.user_id) == (LOCAL, None)
        again = backfill(FIRST_DAY, day)
        assert (again["records embedded"].value, again["had them already"].value) == (3, 0), "what it names"
        done = instance.get_materialized_partitions(record_embeddings.key)
    assert {FIRST_DAY, day} <= done


@pytest.mark.parametrize(
    ("asset", "counted"),
    [
        (record_embeddings, {"records to embed": 2, "have them already": 0}),
        (record_facts, {"records to read": 2}),
        (record_summaries, {"records to summarise": 2, "were of this model already": 0}),
        (record_keywords, {"records to describe": 2, "were of this model already": 0}),
        (passages, {"records to count": 0, "came out the same": 2}),
        (reconciled_facts, {"records to compare": 0, "pairs to judge": 0}),
    ],
)
def test_dry_run_counts_and_marks_no_day(
    installation: Installation, user: User, asset: dg.AssetsDefinition, counted: dict[str, int]
) -> None:
    remember(installation, user, NamedEmbedder("old"), "a", "b")
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [asset],
            instance=instance,
            partition_key=day_of_records(installation),
            resources={"installation": InstallationResource()},
            run_config={"ops": {asset.op.name: {"config": {"dry_run": True}}}},
        )
        assert not any(instance.get_materialized_partitions(key) for key in asset.keys)
    (event,) = result.asset_observations_for_node(asset.op.name)
    assert {name: event.metadata[name].value for name in counted} == counted
    assert models_of(installation, user.user_id) == ("old", None)


def test_incomplete_backfill_fails(installation: Installation, user: User) -> None:
    remember(installation, user, NamedEmbedder("old"), "a", "b")
    installation.objects.delete(next(iter(installation.objects.keys("durable/"))))
    result = dg.materialize(
        [record_embeddings],
        partition_key=day_of_records(installation),
        resources={"installation": InstallationResource()},
        raise_on_error=False,
    )
    assert not result.success
    assert {row["embedding_next_model"] for row in records_of(installation, user)} == {None, LOCAL}
    assert models_of(installation, user.user_id) == ("old", LOCAL)


def test_sensor_launches_due_healing(installation: Installation, user: User, tmp_path: Path) -> None:
    def tick() -> object:
        resources = {"installation": InstallationResource()}
        with (
            dg.DagsterInstance.local_temp(str(tmp_path)) as instance,
            dg.build_sensor_context(instance=instance, resources=resources) as context,
        ):
            return waiting_embeddings_sensor(context)

    assert isinstance(tick(), dg.SkipReason)
    remember(installation, user, UnreachableEmbedder(LOCAL), "a", "b")
    assert isinstance(tick(), dg.RunRequest)
    result = dg.materialize([pending_embeddings], resources={"installation": InstallationResource()})
    (event,) = result.asset_materializations_for_node("pending_embeddings")
    assert event.metadata["records healed"].value == 2
    assert event.metadata["still pending"].value == 0
    assert all(row["embedding_model"] == LOCAL for row in records_of(installation, user))
    assert isinstance(tick(), dg.SkipReason)


def test_check_reports_overdue_vectors(installation: Installation, user: User) -> None:
    def check() -> tuple[bool, dict[str, Any]]:
        with dg.DagsterInstance.ephemeral() as instance:
            result = defs.resolve_job_def("check_embeddings_job").execute_in_process(instance=instance)
        assert result.success
        (evaluation,) = result.get_asset_check_evaluations()
        return evaluation.passed, {name: value.value for name, value in evaluation.metadata.items()}

    def age(hours: int, of: User) -> None:
        with installation.database.pipeline() as tx:
            tx.execute(
                "UPDATE neurigraph.pending_embeddings SET since = now() - make_interval(hours => %s), "
                "last_error = 'the provider is down', next_attempt_at = now() + interval '1 hour' WHERE user_id = %s",
                [hours, of.user_id],
            )

    assert check()[0]
    remember(installation, user, UnreachableEmbedder(LOCAL), "a", "b")
    other, _ = create_user(installation.database, "eve")
    remember(installation, other, NamedEmbedder("another"), "c")
    remember(installation, other, UnreachableEmbedder("another"), "d")
    age(9, other)
    passed, said = check()
    assert passed
    assert (said["still pending"], said["overdue"], said["waiting for another model"]) == (2, 0, 1)
    assert "another model" in said["why others wait"]
    age(2, user)
    passed, said = check()
    assert (passed, said["overdue"]) == (False, 2)
    assert 7_200 <= said["oldest waits for seconds"] < 7_500
    assert {row.data["user"] for row in said["waiting longest"].records} == {str(user.user_id)}


def test_healing_runs_the_check(installation: Installation, user: User) -> None:
    remember(installation, user, UnreachableEmbedder(LOCAL), "a")
    with installation.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.pending_embeddings SET since = now() - interval '1 day'")
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("heal_embeddings_job").execute_in_process(instance=instance)
    (event,) = result.asset_materializations_for_node("pending_embeddings")
    assert event.metadata["records healed"].value == 1
    assert "seconds" in event.metadata
    (evaluation,) = result.get_asset_check_evaluations()
    assert evaluation.passed


def test_commit_fills_partition_of_its_day(installation: Installation, user: User) -> None:
    end_conversation(installation, user, "a", "The walnut tree fell onto the barn.")
    detect(installation.context)
    batch = triggers.lease_due(installation.context, "tests")
    assert batch is not None
    today = partition_of(datetime.now(UTC))
    with dg.DagsterInstance.ephemeral() as instance:
        result = defs.resolve_job_def("ingestion_job").execute_in_process(
            run_config=run_config(batch.batch_id), instance=instance, partition_key=today
        )
        assert result.success
        (event,) = result.asset_materializations_for_node("memories.commit")
        assert (event.asset_key, event.partition) == (dg.AssetKey("memories"), today)
        assert event.metadata["records of the day"].value == event.metadata["records stored by this run"].value == 1


def test_materializing_memories_stores_what_is_due(installation: Installation, user: User) -> None:
    def make(*days: str) -> dict[str | None, tuple[object, object]]:
        first, last = days[0], days[-1]
        result = defs.resolve_job_def("ingestion_job").execute_in_process(
            instance=instance,
            tags={"dagster/asset_partition_range_start": first, "dagster/asset_partition_range_end": last},
        )
        return {
            one.partition: (
                one.metadata["records stored by this run"].value,
                one.metadata["records of the day"].value,
            )
            for one in result.asset_materializations_for_node("memories.commit")
        }

    end_conversation(installation, user, "a", "The walnut tree fell onto the barn.")
    detect(installation.context)
    yesterday, today = (partition_of(datetime.now(UTC) - timedelta(days=ago)) for ago in (1, 0))
    with dg.DagsterInstance.ephemeral() as instance:
        assert make(yesterday) == {yesterday: (0, 0)}, "nothing can be stored on a day that is over"
        assert make(yesterday, today) == {yesterday: (1, 0), today: (1, 1)}
        assert make(today) == {today: (0, 1)}


def test_every_moment_has_a_partition() -> None:
    assert partition_of(datetime(1970, 1, 1, tzinfo=UTC)) == FIRST_DAY
    now = datetime.now(UTC)
    assert partition_of(now) in days.get_partition_keys(current_time=now)
