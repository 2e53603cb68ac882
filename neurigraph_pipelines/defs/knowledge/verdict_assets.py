"""The verdicts on new facts, by day, and their effects.

It calls one function of ``knowledge.reconciling`` and reports the result.
"""

from collections.abc import Iterable

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.knowledge.waiting_knowledge import NAME
from neurigraph_pipelines.defs.shared import backfills
from neurigraph_pipelines.defs.shared.automation import soon_after, takes_what_waits
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import config_of, schema_of
from neurigraph_pipelines.defs.shared.run_metadata import RunMetadata
from neurigraph_pipelines.knowledge import reconciling

VERDICTS, EFFECTS = "reconciled_facts", "links_and_beliefs"


class ReconcileAgainConfig(backfills.BackfillConfig):
    """The records that a backfill compares."""

    again: bool = Field(default=True, description="Switch it off to leave out pairs that have a verdict.")


def _specs() -> list[dg.AssetSpec]:
    described = {
        VERDICTS: (
            ["record_facts", NAME],
            "Verdicts on the facts of the records stored on each day.\n\n"
            "New facts are compared by themselves. A backfill compares all facts of its days again, for example with "
            "another model; what a person decided stands.",
        ),
        EFFECTS: (
            [VERDICTS],
            "What followed from the verdicts on the facts of the records of each day: links between facts, versions, "
            "disputes and beliefs. It is written with the verdicts.",
        ),
    }
    return [
        dg.AssetSpec(
            name,
            deps=deps,
            description=description,
            partitions_def=backfills.days,
            skippable=True,
            automation_condition=soon_after(NAME) if name == VERDICTS else None,
        )
        for name, (deps, description) in described.items()
    ]


@dg.multi_asset(
    name=VERDICTS,
    specs=_specs(),
    backfill_policy=backfills.AT_ONCE,
    pool=backfills.LANGUAGE_MODEL_POOL,
    config_schema=schema_of(ReconcileAgainConfig),
)
def reconciled_facts(
    context: dg.AssetExecutionContext, installation: InstallationResource
) -> Iterable[dg.MaterializeResult[None] | dg.AssetObservation]:
    """Compares the facts of the records stored on each day with the known ones."""
    if takes_what_waits(context):
        done = reconciling.reconcile_waiting(installation.context)
        for record_id, _ in done.failed:
            context.log.warning("record %s waits further", record_id)
        yield from _made(done, {"still waiting": reconciling.waiting(installation.context)})
        return
    config = config_of(context, ReconcileAgainConfig)
    asked = backfills.records_of(context, installation, config)
    if config.dry_run:
        counted = reconciling.count_days(installation.context, *asked, again=config.again)
        model = installation.context.language_model.name
        found: RunMetadata = {
            "language model": model,
            "records to compare": counted.records,
            "pairs to judge": counted.pairs,
        }
        yield dg.AssetObservation(VERDICTS, metadata=found, description="the planned changes")
        return
    done = reconciling.reconcile_days(installation.context, *asked, again=config.again)
    yield from _made(done, {})
    if done.failed:
        raise dg.Failure(f"{len(done.failed)} records wait for verdicts")


def _made(done: reconciling.Reconciled, waiting: RunMetadata) -> Iterable[dg.MaterializeResult[None]]:
    """Yield the verdicts and their effects."""
    yield dg.MaterializeResult(asset_key=VERDICTS, metadata={**_counts(done), **waiting})
    yield dg.MaterializeResult(asset_key=EFFECTS, metadata={"records": done.records, **_effects(done)})


def _counts(done: reconciling.Reconciled) -> RunMetadata:
    return {
        "language model": done.judge,
        "records": done.records,
        **_effects(done),
        "failed for now": backfills.failures(done.failed),
    }


def _effects(done: reconciling.Reconciled) -> RunMetadata:
    return {
        "verdicts": done.verdicts,
        "superseded": done.superseded,
        "disputed": done.disputed,
        "left to a person": done.flagged,
    }
