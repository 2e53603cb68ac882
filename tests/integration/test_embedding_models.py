"""The registry of embedding models, and canary runs: in the domain, on the command line and in Dagster."""

from __future__ import annotations

import base64
import json

import dagster as dg
import pytest

from neurigraph_pipelines.definitions import defs
from neurigraph_pipelines.ingestion.embedding_models import begin_moves
from neurigraph_pipelines.ingestion.model_comparison import CanaryModel, compare_models, kept_questions, regression_set
from neurigraph_pipelines.ingestion.model_registry import list_models
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.command_line import describe, run_cli
from tests.support.erasures import USER, erase
from tests.support.graphs import Graph, new_graph
from tests.support.memories import WordEmbedder, plain_context
from tests.support.model_provider import ModelProvider
from tests.support.vectors import NamedEmbedder

# Dagster's own: it reads pydantic's models by an attribute that pydantic has given up.
pytestmark = pytest.mark.filterwarnings("ignore:The `__fields__` attribute:DeprecationWarning")

BOATS = "#Hobbies Orrin keeps a wooden boat on the lake."
QUESTION = "Who keeps a boat?"


def statuses(here: Installation) -> dict[str, str]:
    return {one.model: one.status for one in list_models(here.database)}


def ask_and_open(graph: Graph, question: str) -> None:
    """Search with a log that keeps questions, and open what was found first."""
    here = graph.here
    retrieval = here.settings.retrieval.model_copy(update={"retrieval_log_days": 1, "retrieval_log_questions": True})
    settings = here.settings.model_copy(update={"retrieval": retrieval})
    context = plain_context(here).using(settings=settings).acting_for(graph.claims)
    first = search(context, Question(question)).hits[0]
    here.database.wait_for_background()
    open_file(context, file_of_record(here.database, graph.claims, first.key))
    here.database.wait_for_background()


def test_status_follows_from_what_users_have(here: Installation) -> None:
    graph = new_graph(here)
    boats, *_ = graph.remember(BOATS, "#Family Ana sings.", "#Work Dave works.")
    assert statuses(here)["words"] == "active"
    ask_and_open(graph, QUESTION)
    kept = kept_questions(here.database, graph.user.user_id)
    assert kept.questions == (QUESTION,)
    assert [kept.texts[number] for number in kept.wanted[0]] == [BOATS]

    narrow = NamedEmbedder("narrow", dimensions=2)
    done = compare_models(here.database, WordEmbedder(), CanaryModel(narrow, "tests"), graph.user.user_id)
    assert [each.name for each in done.sets] == ["regression set", "kept questions"]
    samples, own = done.sets
    assert samples.questions == len(regression_set().questions) > 30
    assert samples.canary.found < samples.current.found
    assert own.current.found_first == 1
    assert not done.is_as_good
    assert QUESTION not in json.dumps(done.figures())
    with pytest.raises(InvalidInputError, match="current model"):
        compare_models(here.database, narrow, CanaryModel(narrow, "tests"))
    (noted,) = (one for one in list_models(here.database) if one.model == "narrow")
    assert (noted.status, noted.provider, noted.dimensions, noted.users) == ("canary", "tests", 2, 0)
    assert noted.comparison == json.loads(json.dumps(done.figures()))

    begin_moves(here.database, [graph.user.user_id], "next")
    assert statuses(here)["next"] == "canary"
    erase(here, graph.claims, USER, graph.user.user_id)
    found = statuses(here)
    assert (found["words"], found["next"], found["narrow"]) == ("archived", "archived", "canary")
    assert boats is not None


def test_canary_run_in_dagster_and_on_the_command_line(
    installation: Installation, settings: Settings, provider: ModelProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = {"OPENAI_API_KEY": "test", "OPENAI_BASE_URL": provider.base_url, "NEURIGRAPH_EMBEDDER": "openai"}
    describe(settings, monkeypatch, **served)
    job = defs.resolve_job_def("embedding_canary_job")

    plotted: dict[str, float] = {}

    def check(**config: str) -> dg.AssetCheckEvaluation:
        chosen = {"ops": {"embedding_models_candidate_model_answers_canaries_as_well": {"config": config}}}
        with dg.DagsterInstance.ephemeral() as instance:
            result = job.execute_in_process(run_config=chosen, instance=instance)
            for seen in instance.fetch_observations(dg.AssetKey("embedding_models"), limit=5).records:
                assert seen.asset_observation is not None
                plotted.update({name: value.value for name, value in seen.asset_observation.metadata.items()})  # type: ignore[misc]
        (evaluation,) = result.get_asset_check_evaluations()
        return evaluation

    assert check().metadata["canary"].value == "none is configured"
    assert not plotted
    found = check(canary="openai", model="text-embedding-ada-002")
    assert found.passed, "the stand-in has the same directions for every model"
    assert (found.metadata["current"].value, found.metadata["canary"].value) == (
        "text-embedding-3-small",
        "text-embedding-ada-002",
    )
    figures = found.metadata["figures"]
    assert isinstance(figures, dg.TableMetadataValue)
    assert [row.data["figure"] for row in figures.records] == ["first", "among the first 10", "mean reciprocal rank"]
    assert len(plotted) == 2 * len(figures.records)
    first = figures.records[1].data
    name = "regression set, among the first 10"
    assert (plotted[f"{name}: current"], plotted[f"{name}: canary"]) == (first["current"], first["canary"])
    plot = str(found.metadata["plot"].value)
    image = base64.b64decode(plot.rpartition(",")[2].rstrip(")")).decode()
    assert image.count("<rect ") == 6
    assert "regression set: first" in image

    assert_on_the_command_line(settings, served)


def assert_on_the_command_line(settings: Settings, served: dict[str, str]) -> None:
    """Check what the commands say of a canary that was compared."""
    listed = run_cli(settings, "admin", "embedding-models", "--json", more=served)
    assert listed.returncode == 0, listed.stderr
    models = {one["model"]: one for one in json.loads(listed.stdout)["models"]}
    assert (models["text-embedding-ada-002"]["status"], models["text-embedding-ada-002"]["provider"]) == (
        "canary",
        "openai",
    )
    assert models["text-embedding-3-small"]["status"] == "archived", "nobody has a memory yet"
    alone = run_cli(settings, "admin", "embedding-models", "--model", "text-embedding-3-large", more=served)
    assert alone.returncode == 2
    shown = run_cli(
        settings, "admin", "embedding-models", "--canary", "openai", "--model", "text-embedding-3-large", more=served
    )
    assert shown.returncode == 0, shown.stderr
    assert "text-embedding-3-large answers as well" in " ".join(shown.stdout.split())
