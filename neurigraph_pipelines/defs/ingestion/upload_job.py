"""The upload job: takes in files from the drop place and reads the text of uploads.

The ingestion job stores that text.
"""

import time

import dagster as dg

from neurigraph_pipelines.defs.ingestion.ingestion_job import RUN_TAGS
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.run_metadata import seconds_since, table
from neurigraph_pipelines.inbox import drop_intake as drops
from neurigraph_pipelines.inbox.drop_intake import DropResult
from neurigraph_pipelines.inbox.uploads import Read


@dg.op(out=dg.Out(dg.Nothing))
def take_in_dropped(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[None]:
    """Uploads the new files of the drop place, and leaves them where they are."""
    opened = installation.opened
    place = opened.drop_place

    def log_refusal(taken: DropResult) -> None:
        if taken.error is not None:
            context.log.warning("a file of the drop place was not taken in: the table dropped_files says why")

    taken = drops.ingest_drops(opened.database, place, opened.uploads, log_refusal) if place is not None else []
    refused = sum(one.error is not None for one in taken)
    return dg.Output(None, metadata={"files taken in": len(taken) - refused, "files refused": refused})


@dg.op(ins={"taken_in": dg.In(dg.Nothing)})
def read_uploads(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[int]:
    """Reads each waiting upload in a process of its own, and removes staged bytes that are stored in records."""
    started = time.monotonic()
    opened = installation.opened

    def log_failure(read: Read) -> None:
        if read.error is not None:
            context.log.warning(
                "upload %s could not be read: `neurigraph source failure list` says why", read.upload_id
            )

    done = opened.uploads.read_due(opened.text_extractor, on_read=log_failure)
    cleared = opened.uploads.clear()
    return dg.Output(
        len(done),
        metadata={
            "files read": sum(one.error is None for one in done),
            "files failed": sum(one.error is not None for one in done),
            "staged objects removed": cleared,
            "files": table(
                {"upload": str(one.upload_id), "parts": one.parts, "tokens": one.tokens, "read": one.error is None}
                for one in done
            ),
            "seconds": seconds_since(started),
        },
    )


# Before waiting batches: there is one such run at a time, and a file may be waited for by a person.
_TAGS = {**RUN_TAGS, "dagster/priority": "1"}


@dg.job(tags=_TAGS)
def upload_job() -> None:
    """Takes in files and reads each in isolation: a hostile file fails alone."""
    read_uploads(take_in_dropped())
