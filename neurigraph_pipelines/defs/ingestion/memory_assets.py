"""What a run of ingestion makes, as assets: sources, segments, records, passages and files.

The ingestion job reports what it stored as events by day (docs/adr/0090-runs-report-assets.md), and so does every job
that adds to an asset by day. Those that nothing makes again are specifications.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import dagster as dg

from neurigraph_pipelines.defs.reports.daily_report import Backlog, records_of_days
from neurigraph_pipelines.defs.shared.backfills import FIRST_DAY, days, partition_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.ingestion.records import BatchResult, Committed, RecordPlan
from neurigraph_pipelines.model.ports import Database

LAST_MARK = "segments"
"""The asset whose event ends those of a commit: a day without it lacks some, or all."""

MARKED = ("records", "passages", "files", "record_summaries", "record_keywords", "record_embeddings")
"""The other assets that a commit marks by day."""

LOOK_BACK = timedelta(days=31)


def reported(
    name: str,
    deps: Iterable[str],
    description: str,
    *,
    kind: str = "postgres",
    by_day: bool = True,
) -> dg.AssetSpec:
    """Return the specification of an asset that runs report and nothing makes by itself."""
    return dg.AssetSpec(
        name,
        deps=list(deps),
        description=description,
        group_name="ingestion",
        kinds={kind},
        partitions_def=days if by_day else None,
    )


specs = [
    reported(
        "sources",
        (),
        "Conversations, events, uploads and notes in the inbox. Each run of ingestion observes the queue.",
        by_day=False,
    ),
    reported("segments", ["sources"], "Parts of sources that ingestion stored on each day."),
    reported("records", ["segments"], "Memories that ingestion committed on each day: their rows and nodes."),
    reported("files", ["records"], "Compressed transcripts and originals of the records of each day.", kind="file"),
]


def queue_observation(found: Backlog) -> dg.AssetObservation:
    """Return what the queue looks like, as an observation of the sources."""
    return dg.AssetObservation(
        "sources",
        metadata={
            "segments waiting": found.waiting,
            "segments leased": found.leased,
            "segments failed": found.failed,
            "oldest waits for seconds": round(found.age_seconds, 1),
        },
    )


def added_by_day(asset: str, moments: Iterable[datetime], metadata: RunMetadata) -> list[dg.AssetMaterialization]:
    """Return one event for each day on which records were stored to which a run added something.

    Args:
        asset: The asset that the run added to.
        moments: When the records were stored.
        metadata: What the events say beside the number of records.
    """
    counted = Counter(map(partition_of, moments))
    return [
        dg.AssetMaterialization(asset, partition=day, metadata={"records": count, **metadata})
        for day, count in sorted(counted.items())
    ]


def stored_by_day(
    result: BatchResult, plans: Mapping[Any, RecordPlan], embedding_model: str, language_model: str, seconds: float
) -> list[dg.AssetMaterialization]:
    """Return the counts that a commit added to each asset, by the day of storing.

    Args:
        result: What the commit stored; records that were stored before add nothing.
        plans: The plans by record.
        embedding_model: The model of the vectors.
        language_model: The model of the summaries.
        seconds: What the steps took for all records of the batch.
    """
    by_day: dict[str, list[Committed]] = {}
    for record in result.stored:
        if not record.already_stored:
            by_day.setdefault(partition_of(record.created_at), []).append(record)
    found = []
    for day, records in sorted(by_day.items()):
        of_day = [plans[record.record_id] for record in records]
        refs = {plan.ref.trigger_id: plan.ref for plan in of_day}.values()
        messages = sum(plan.filing.last_message - plan.filing.first_message + 1 for plan in of_day)
        share = seconds * len(records) / len(result.stored)
        said: dict[str, RunMetadata] = {
            "records": {
                "records": len(records),
                "messages": messages,
                "seconds per 100 messages": round(100 * share / messages, 3),
            },
            "passages": {"passages": sum(record.passages for record in records)},
            "files": {"records with files": len(records)},
            "record_summaries": {"records": len(records), "language model": language_model},
            "record_keywords": {"records": len(records), "language model": language_model},
            "record_embeddings": {
                "records stored": len(records),
                "embedding model": embedding_model,
                "embeddings pending": sum(record.pending_embedding for record in records),
            },
            LAST_MARK: {"segments": len(refs), "tokens": sum(ref.token_count for ref in refs)},
        }
        assert set(said) == {*MARKED, LAST_MARK}
        found += [dg.AssetMaterialization(name, partition=day, metadata=about) for name, about in said.items()]
    return found


def missing_marks(instance: dg.DagsterInstance, database: Database) -> list[dg.AssetMaterialization]:
    """Return events for the days of the last month on which records were stored and whose marks are missing.

    A run that died between its commit and its events leaves such a day, if no other run stored anything on it. Today is
    left out: a run of now may be about to report it.
    """
    today = datetime.now(UTC).date()
    earliest = max(today - LOOK_BACK, date.fromisoformat(FIRST_DAY))
    looked_at = {(earliest + timedelta(days=number)).isoformat() for number in range((today - earliest).days)}
    marked = instance.event_log_storage.get_latest_storage_id_by_partition(
        dg.AssetKey(LAST_MARK), dg.DagsterEventType.ASSET_MATERIALIZATION, looked_at
    )
    unmarked = [date.fromisoformat(day) for day in looked_at.difference(marked)]
    return [
        dg.AssetMaterialization(asset, partition=day.isoformat(), metadata={"records of the day": count, "late": True})
        for day, count in sorted(records_of_days(database, unmarked).items() if unmarked else ())
        for asset in (*MARKED, LAST_MARK)
    ]
