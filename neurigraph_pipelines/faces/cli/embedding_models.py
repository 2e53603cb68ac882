"""The command ``embedding-models``: the registry of embedding models, and canary runs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import typer

from neurigraph_pipelines.faces.cli import layouts, output
from neurigraph_pipelines.faces.cli.output import counted
from neurigraph_pipelines.faces.cli.session import opened, option, user_id_of
from neurigraph_pipelines.ingestion.model_comparison import CanaryModel, Comparison, RankingFigures, compare_models
from neurigraph_pipelines.ingestion.model_registry import describe_model, list_models
from neurigraph_pipelines.model.errors import InvalidInputError

commands = typer.Typer()


@commands.command()
def embedding_models(
    canary: Annotated[
        Literal["openai", "voyage", "minilm", "neurigraph"] | None,
        option("Compare a model of this service with the current one first."),
    ] = None,
    model: Annotated[str | None, option("Model of the canary. Default: the one of the settings.")] = None,
    user: Annotated[str | None, option("Also compare on the kept questions of this user.", "--user", "-u")] = None,
) -> None:
    """List the embedding models that users have, had or move to; with --canary, compare another one first.

    A canary is compared on the regression set and, with --user, on this user's kept questions. Nobody moves to it.
    """
    if canary is None and (model is not None or user is not None):
        raise InvalidInputError("--model and --user are for a canary: give --canary, too")
    comparison: Comparison | None = None
    with opened() as installation:
        database = installation.database
        describe_model(database, installation.embedder, installation.settings.models.chosen_embedder)
        if canary is not None:
            user_id = user_id_of(installation, user)
            other = CanaryModel(installation.make_embedder(canary, model), canary)
            comparison = compare_models(database, installation.embedder, other, user_id)
        found = list_models(database)
    shown = {"models": [asdict(one) for one in found], "comparison": comparison and comparison.figures()}

    def layout() -> Any:
        listed = layouts.table([one.labelled() for one in found])
        return listed if comparison is None else layouts.stacked(listed, layouts.lines("", *_lines(comparison)))

    output.result(shown, layout)


def _lines(comparison: Comparison) -> list[str]:
    """Return the figures of a comparison, with an explanation."""
    lines = []
    for each in comparison.sets:
        lines.append(f"{each.name}: {counted(each.questions, 'question')}, {counted(each.texts, 'text')}")
        lines.append(f"  {comparison.current_model}: {_shares(each.current)}")
        lines.append(f"  {comparison.canary_model}: {_shares(each.canary)}")
    verdict = "answers as well" if comparison.is_as_good else "answers worse"
    return [*lines, f"{comparison.canary_model} {verdict}."]


def _shares(figures: RankingFigures) -> str:
    return (
        f"first {figures.found_first:.0%}, among the first ten {figures.found:.0%}, "
        f"mean reciprocal rank {figures.mean_reciprocal_rank:.3f}"
    )
