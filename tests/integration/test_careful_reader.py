"""A story read by a language model that answers carefully: nothing of its answers is lost on the way to the graph."""

from __future__ import annotations

from collections import Counter

from benchmarks.stories import read_story, score
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.reconciling import reconcile_waiting
from neurigraph_pipelines.runtime.stack.demo import tell_story
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.careful_reader import STORY, careful_answer
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import ModelProvider


def test_story_fills_the_graph(installation: Installation, provider: ModelProvider) -> None:
    provider.answer_with(careful_answer)
    client = make_client(provider)
    context = installation.context.using(language_model=make_model(client))
    claims = tell_story(installation, STORY, "priya")
    list(run_due(context, "test", claims.user_id))
    read_waiting(context)
    reconcile_waiting(context)
    client.close()
    scores = score(STORY, read_story(installation, claims, STORY))
    missed = [line for line in scores.lines if line.startswith("-") and not line.startswith(("- wrong", "- alarms"))]
    assert missed == [f"- links: {label}" for label in STORY["links"] if label[1] == "decided_by"], "Tom has no node"
    assert scores.right["wrong links"] == 0
    assert scores.right["alarms"] == 1, "that the landlord changed, which no label has"
    asked = Counter(request.body["response_format"]["json_schema"]["name"] for request in provider.requests)
    conversations = len(STORY["conversations"])
    assert asked["PlacementsAnswer"] == asked["SegmentAnswer"] == conversations
    assert asked.keys() <= {"PlanAnswer", "PlacementsAnswer", "SegmentAnswer", "VerdictsAnswer"}
