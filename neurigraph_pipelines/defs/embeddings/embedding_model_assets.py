"""The asset of embedding models, and the check that compares a canary with the current one.

Each calls one function of ``ingestion.model_registry`` or ``ingestion.model_comparison`` and reports the result.
"""

from typing import cast, get_args

import dagster as dg
from pydantic import Field

from neurigraph_pipelines.defs.embeddings.comparison_plot import bar_chart
from neurigraph_pipelines.defs.shared.installation import InstallationResource
from neurigraph_pipelines.defs.shared.job_config import JobConfig, config_of, schema_of, user_id_of
from neurigraph_pipelines.defs.shared.run_metadata import table
from neurigraph_pipelines.defs.shared.run_tags import YIELDS
from neurigraph_pipelines.ingestion.model_registry import describe_model, list_models
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.settings.providers import EmbeddingService

_LABELS = {"found_first": "first", "found": "among the first 10", "mean_reciprocal_rank": "mean reciprocal rank"}


class CanaryConfig(JobConfig):
    """The model that is compared with the current one."""

    canary: str = Field(
        default="", description="Service of the model: openai, voyage, minilm or neurigraph. Empty: no canary."
    )
    model: str = Field(default="", description="Its model. Empty: the one of the settings.")
    user: str = Field(
        default="",
        description="Also compare on the kept questions of this user, by slug: they and the summaries of records go to "
        "the service.",
    )


@dg.asset(deps=["record_embeddings"])
def embedding_models(installation: InstallationResource) -> dg.MaterializeResult[None]:
    """The embedding models that users have, had or move to."""
    here = installation.opened
    describe_model(here.database, here.embedder, here.settings.models.chosen_embedder)
    rows = [one.labelled() for one in list_models(here.database)]
    return dg.MaterializeResult(metadata={"current": here.embedder.model, "models": table(rows)})


@dg.asset_check(asset=embedding_models, config_schema=schema_of(CanaryConfig))
def candidate_model_answers_canaries_as_well(
    context: dg.AssetCheckExecutionContext, installation: InstallationResource
) -> dg.AssetCheckResult:
    """A canary answers the regression set, and a user's kept questions, as well as the current model.

    Configure it in the launchpad of `embedding_canary_job`. Without a canary it passes.

    If it fails: stay with the current model: do not materialize `record_embeddings` with the canary.
    """
    from neurigraph_pipelines.ingestion.model_comparison import CanaryModel, compare_models  # loads numpy

    config, here = config_of(context, CanaryConfig), installation.opened
    if not config.canary:
        return dg.AssetCheckResult(passed=True, metadata={"canary": "none is configured"})
    if config.canary not in get_args(EmbeddingService):
        raise InvalidInputError("canary: there is no such service: openai, voyage, minilm or neurigraph")
    chosen = cast("EmbeddingService", config.canary)
    canary = CanaryModel(here.make_embedder(chosen, config.model or None), chosen)
    done = compare_models(here.database, here.embedder, canary, user_id_of(here.database, config.user))
    rows, bars = [], []
    points: dict[str, float] = {}
    for each in done.sets:
        for name, label in _LABELS.items():
            before, after = getattr(each.current, name), getattr(each.canary, name)
            rows.append(
                {"set": each.name, "questions": each.questions, "figure": label, "current": before, "canary": after}
            )
            bars.append((f"{each.name}: {label}", before, after))
            points |= {f"{each.name}, {label}: current": before, f"{each.name}, {label}: canary": after}
    # Dagster plots numbers of an asset's events over time, and none of a check.
    context.op_execution_context.log_event(dg.AssetObservation(embedding_models.key, metadata=points))
    return dg.AssetCheckResult(
        passed=done.is_as_good,
        severity=dg.AssetCheckSeverity.WARN,
        metadata={
            "current": done.current_model,
            "canary": done.canary_model,
            "figures": table(rows),
            "plot": bar_chart((done.current_model, done.canary_model), bars),
        },
    )


canary_job = dg.define_asset_job(
    "embedding_canary_job",
    selection=dg.AssetSelection.assets(embedding_models),  # and its check
    tags=YIELDS,
    description="Lists the embedding models and compares a canary, if one is configured, with the current one.",
)
