"""A slice of the seeded worlds, judged by rule and by a model on loopback: little is superseded wrongly."""

from __future__ import annotations

from contextlib import closing

import pytest

from resources.offline import verdicts
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import ModelProvider
from tests.support.told_facts import reconciled, score, superseding_of, world_of

FACTS = 1_500
WRONG = 0.01
BY_RULE = 0.4
BY_MODEL = 0.8


@pytest.mark.parametrize("seed", [1])
def test_rules_supersede_little_and_hardly_ever_wrongly(seed: int) -> None:
    world = world_of(seed, FACTS)
    decisions = reconciled(world, lambda pairs: [verdicts.judge(pair) for pair in pairs], by_model=False)
    found = score(world, superseding_of(list(decisions)))
    assert found.wrong_share <= WRONG
    assert found.recall >= BY_RULE


def test_a_model_finds_most() -> None:
    world = world_of(1, FACTS)
    with ModelProvider() as provider, closing(make_client(provider)) as client:
        model = make_model(client)
        found = score(world, superseding_of(list(reconciled(world, model.judge, by_model=True))))
        asked = sum(request.asks("", "VerdictsAnswer") for request in provider.requests)
    assert found.wrong_share <= WRONG
    assert found.recall >= BY_MODEL
    assert asked > 0
