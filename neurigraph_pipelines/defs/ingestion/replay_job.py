"""The job that replays permanent failures from the launchpad."""

from uuid import UUID

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.ingestion import failures
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.failures import ReplayOutcome


class ReplayConfig(JobConfig):
    """The failures to put back into the queue."""

    failure_ids: list[str] = Field(
        default_factory=list, description="Ids as `neurigraph source failure list` shows them."
    )
    all: bool = Field(default=True, description="All open failures; switch it off to name some.")
    user: str = Field(default="", description="Only failures of this user, by slug. Empty: of all users.")


@dg.op(config_schema=schema_of(ReplayConfig))
def replay_failures(context: dg.OpExecutionContext, installation: InstallationResource) -> dg.Output[int]:
    """Puts failed segments and uploads back into their queues with new attempts; the sensors launch their runs."""
    config = config_of(context, ReplayConfig)
    if bool(config.failure_ids) == config.all:
        raise InvalidInputError("either list failure_ids and set all to false, or set all to true and list none")
    database = installation.opened.database
    user_id = user_id_of(database, config.user)
    done = failures.replay(database, None if config.all else _uuids(config.failure_ids), user_id)
    for each in done:
        context.log.info("%s: %s", each.failure_id, each.outcome)
    counts = {outcome: sum(each.outcome is outcome for each in done) for outcome in ReplayOutcome}
    return dg.Output(
        counts[ReplayOutcome.REPLAYED],
        metadata={outcome.replace("_", " "): count for outcome, count in counts.items()},
    )


@dg.job(
    config=dg.RunConfig(ops={"replay_failures": ReplayConfig()}),
    tags=YIELDS,
)
def replay_job() -> None:
    """Puts failed segments and uploads back into their queues: all open ones, or only those named."""
    replay_failures()


def _uuids(texts: list[str]) -> list[UUID]:
    try:
        return [UUID(text) for text in texts]
    except ValueError as error:
        raise InvalidInputError(
            "failure_ids holds a value that is not an id: copy ids from `neurigraph source failure list`"
        ) from error
