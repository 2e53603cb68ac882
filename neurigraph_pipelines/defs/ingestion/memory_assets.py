"""The sources of memories, and the sensor that reports each day's memories, however they were stored.

Runs of ingestion make ``memories``. ``neurigraph ingest`` stores without Dagster, and what is stored has its passages,
summaries, keywords and vectors at once. So the sensor asks the database, as Dagster's docs advise for external assets.
"""

import json
from datetime import UTC, datetime, time, timedelta

import dagster as dg

from neurigraph_pipelines.defs.reports.daily_report import WaitingSegments, backlog, stored_days
from neurigraph_pipelines.defs.shared.installation import InstallationResource

STORED = ("memories", "passages", "record_summaries", "record_keywords", "record_embeddings")
"""The assets by day that ingestion fills."""

sources = dg.AssetSpec(
    "sources",
    description="Conversations, events, uploads and notes in the inbox. `stored_days_sensor` observes their queue.",
    group_name="ingestion",
    kinds={"postgres"},
)


@dg.sensor(
    minimum_interval_seconds=300,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Reports the days whose memories changed, by runs or without one, and the queue if it changed.",
)
def stored_days_sensor(
    context: dg.SensorEvaluationContext, installation: InstallationResource
) -> dg.SensorResult | dg.SkipReason:
    """Reports the figures of the days that changed: the last two are compared with those of the tick before."""
    before = json.loads(context.cursor) if context.cursor else {"days": {}, "queue": []}
    newest = max(before["days"], default=None)
    since = datetime.combine(datetime.fromisoformat(newest), time(), UTC) - timedelta(days=1) if newest else None
    queue = backlog(installation.opened.database)
    found = {day: one.numbers() for day, one in stored_days(installation.opened.database, since).items()}
    events: list[dg.AssetMaterialization | dg.AssetObservation] = [
        dg.AssetMaterialization(asset, partition=day, metadata=figures)
        for day, figures in sorted(found.items())
        if figures != before["days"].get(day)
        for asset in STORED
    ]
    waiting = [queue.waiting, queue.leased, queue.failed]
    if waiting != before["queue"]:
        events.append(_observed(queue))
    if not events:
        return dg.SkipReason("nothing changed")
    last = dict(sorted(found.items())[-2:])
    return dg.SensorResult(asset_events=events, cursor=json.dumps({"days": last, "queue": waiting}))


def _observed(queue: WaitingSegments) -> dg.AssetObservation:
    return dg.AssetObservation(
        "sources",
        metadata={
            "segments waiting": queue.waiting,
            "segments leased": queue.leased,
            "segments failed": queue.failed,
            "oldest waits for seconds": round(queue.age_seconds, 1),
        },
    )
