"""Tags of runs that Dagster's queue limits, so that one slot is always left to ingestion.

``dagster_home/dagster.yaml`` says how many runs with each tag go on at once
(docs/adr/0037-stock-dagster.md).
"""

YIELDS = {"neurigraph/yields": "true"}
"""Of every job but ingestion and uploads. Runs of a backfill have a tag of Dagster's own."""

LARGE = {"neurigraph/size": "large", **YIELDS}
"""Of runs that store a segment which takes minutes."""

LIFECYCLE_TAG = "neurigraph/lifecycle"
"""The instance runs one job of each value at a time: two sweeps do no harm, but take two places from ingestion."""

WAITING = {"neurigraph/waiting": "true"}
"""Of a run that an automation requested: it takes what waits, and does nothing again."""
