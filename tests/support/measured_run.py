"""A worker that stores one batch as Dagster's run worker does, and prints its memory use.

Run as ``python -m tests.support.measured_run BATCH_ID FOLDER`` in the environment of an installation; FOLDER becomes
Dagster's. Prints ``{"before": …, "peak": …}``, megabytes resident: once everything is loaded, and at most. Ends with
status 1 when the run failed.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from uuid import UUID

import dagster as dg

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.defs.ingestion.ingestion_job import run_config
from neurigraph_pipelines.defs.shared.backfills import partition_of
from tests.support.process_memory import resident


def ingestion_job() -> dg.JobDefinition:
    """Return the job as a code server loads it."""
    return defs.resolve_job_def("ingestion_job")


def main() -> None:
    batch_id, folder = sys.argv[1:]
    job = dg.reconstructable(ingestion_job)
    job.get_definition()
    before = resident("now")
    with dg.DagsterInstance.local_temp(folder) as instance:
        today = {"dagster/partition": partition_of(datetime.now(UTC))}
        result = dg.execute_job(job, instance, run_config(UUID(batch_id)), tags=today)
    print(json.dumps({"before": before, "peak": resident("peak")}))
    sys.exit(not result.success)


if __name__ == "__main__":
    from tests.support.measured_run import main as imported_main  # Dagster finds the job by this module's name

    imported_main()
