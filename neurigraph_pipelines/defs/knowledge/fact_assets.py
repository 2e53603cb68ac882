"""The asset of facts, by day, and its checks.

Each calls one function of ``knowledge.reading`` and reports the result.
"""

from collections.abc import Iterable
from datetime import UTC, datetime

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.knowledge.waiting_knowledge import NAME
from neurigraph_pipelines.defs.shared import backfills
from neurigraph_pipelines.defs.shared.automation import soon_after, takes_what_waits
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.ingestion.waiting_records import Waiting
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.lifecycle.verification import faulty_facts
from neurigraph_pipelines.model.measuring import spending


class ReadAgainConfig(backfills.BackfillConfig):
    """The records that a backfill reads."""

    again: bool = Field(
        default=True,
        description="Switch it off to leave out records in which the configured model found facts already.",
    )


@backfills.asset_by_day(
    ReadAgainConfig,
    deps=["record_embeddings", NAME],
    pool=backfills.LANGUAGE_MODEL_POOL,
    automation_condition=soon_after(NAME),
)
def record_facts(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Facts of the records stored on each day, by the configured language model.

    New records are read by themselves. A backfill reads all records of its days again.
    """
    if takes_what_waits(context):
        with spending() as spent:
            done = reading.read_waiting(installation.context)
        for record_id, _ in done.failed:
            context.log.warning("record %s waits further", record_id)
        waits = _waiting(reading.waiting(installation.context))
        yield dg.MaterializeResult(metadata={**_counts(done), **spent.numbers(), **waits})
        return
    config = config_of(context, ReadAgainConfig)
    chosen = reading.choose_days(
        installation.context, *backfills.records_of(context, installation, config), again=config.again
    )
    if config.dry_run:
        model = installation.context.language_model.name
        yield backfills.would_do(context, {"language model": model, "records to read": len(chosen)})
        return
    with spending() as spent:
        done = reading.read_again(installation.context, chosen)
    for record_id, _ in done.failed:
        context.log.error("record %s keeps its facts: `neurigraph admin refact` says why", record_id)
    yield dg.MaterializeResult(metadata={**_counts(done), **spent.numbers()})
    if done.failed:
        raise dg.Failure(f"{len(done.failed)} records keep their facts and wait: the log names them")


@dg.asset_check(asset=record_facts)
def no_record_waits_a_day_for_its_facts(installation: InstallationResource) -> dg.AssetCheckResult:
    """No record has waited for more than a day to be read for facts.

    If it fails: `neurigraph doctor` says whether the language model answers; then materialize `record_facts` of
    today.
    """
    found = reading.waiting(installation.context)
    return dg.AssetCheckResult(passed=found.overdue == 0, metadata={"overdue": found.overdue, **_waiting(found)})


_CHECKED = {
    "every_fact_cites_its_record": "Every fact cites messages that its record has.",
    "one_latest_per_chain": "The versions of every fact are numbered without gaps: one is the last.",
    "fact_share_is_bounded": "The facts of no record have more than a fifth of its words.",
}


_REMEDY = "If it fails: materialize `record_facts` of the days on which these records were stored."


def _check(name: str, description: str) -> dg.AssetChecksDefinition:
    @dg.asset_check(asset=record_facts, name=name, description=f"{description}\n\n{_REMEDY}")
    def check(installation: InstallationResource) -> dg.AssetCheckResult:
        found = faulty_facts(installation.context, name)
        return dg.AssetCheckResult(passed=not found, metadata={"faults": len(found), "ids": ", ".join(found[:20])})

    return check


checks = [_check(*checked) for checked in _CHECKED.items()]


def _counts(done: reading.FactsRead) -> RunMetadata:
    return {
        "language model": done.extractor,
        "records read": done.records,
        "facts": done.facts,
        "facts dropped, not in the messages": done.dropped,
        "failed for now": backfills.failures(done.failed),
    }


def _waiting(found: Waiting) -> RunMetadata:
    waited = (datetime.now(UTC) - found.since).total_seconds() if found.since is not None else 0.0
    return {"still waiting": found.records, "oldest waits for seconds": round(waited, 1)}
