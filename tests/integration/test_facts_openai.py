"""Facts from a server on loopback: windows, unusable answers, and what does not belong to the transcript."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from neurigraph_pipelines.knowledge.grounding import Said
from neurigraph_pipelines.model.facts import Slot
from neurigraph_pipelines.views.kinds import FactKind, Impact, StatedAs
from neurigraph_pipelines.views.search import Period
from resources.providers.retries import ProviderClient
from tests.support.model_clients import TALK, TOKENS, make_client, make_model, make_segment
from tests.support.model_provider import Fault, ModelProvider


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


def answered(**changes: Any) -> dict[str, Any]:
    """Return a fact as a model answers it."""
    fact = {
        "reason": "", "statement": "Caroline met Dave.", "first_message": 1, "last_message": 1, "kind": "event",
        "stated_as": "statement", "who": [], "where": "", "why": "", "how": "", "subject": "", "predicate": "",
        "object": "", "occurred": "", "confidence": 0.9, "importance": 0.5, "impact": "high",
    }  # fmt: skip
    return fact | changes


def test_facts_of_a_short_talk_take_one_call(provider: ModelProvider, client: ProviderClient) -> None:
    found = make_model(client).extract_facts(TALK)
    (request,) = provider.requests
    assert "Each message begins with its number" in request.body["messages"][0]["content"]
    assert request.body["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
    assert [fact.first_message for fact in found] == sorted(fact.first_message for fact in found)
    first = found[0]
    assert (first.kind, first.stated_as, first.impact) == (FactKind.EVENT, StatedAs.STATEMENT, Impact.LOW)
    assert (first.author, first.who, first.confidence) == ("Caroline", ("Caroline",), 1.0)
    assert first.occurred == Period(
        words="", starts_at=datetime(2023, 5, 7, tzinfo=UTC), ends_at=datetime(2023, 5, 8, tzinfo=UTC), certain=False
    )
    assert first.slot == Slot("Caroline", "said", TALK.messages[0].content[:200].strip())
    assert all(Said(TALK.messages).grounds(fact) for fact in found)


def test_long_talks_are_read_in_small_windows(provider: ModelProvider, client: ProviderClient) -> None:
    segment = make_segment(*[f"Item{number} was sold to Dave for {number} euros." for number in range(1_200)])
    found = make_model(client, context_tokens=100_000).extract_facts(segment)
    asked = [request.body["messages"][1]["content"] for request in provider.requests]
    assert len(asked) > 2
    assert max(map(TOKENS.count, asked)) < 8_400
    assert [fact.first_message for fact in found] == list(range(1, 1_201))


@pytest.mark.parametrize(
    "changes",
    [
        {"first_message": 7, "last_message": 7},
        {"first_message": 2, "last_message": 1},
        {"statement": " \n "},
    ],
)
def test_facts_of_no_message_are_left_out(
    provider: ModelProvider, client: ProviderClient, changes: dict[str, Any]
) -> None:
    answer = {"facts": [answered(**changes), answered(), answered(statement="caroline met dave.")], "links": []}
    provider.fail_next(Fault("wrong_shape", answer=answer))
    (found,) = make_model(client).extract_facts(TALK)
    assert (found.statement, found.slot, found.occurred, found.where) == ("Caroline met Dave.", None, None, None)


def test_odd_values_are_repaired(provider: ModelProvider, client: ProviderClient) -> None:
    odd = answered(
        statement="Caroline\x00 met\n Dave.",
        occurred="last week",
        confidence=-3.0,
        kind="plan",
        who=["", "Dave", "Dave"],
    )
    provider.fail_next(Fault("wrong_shape", answer={"facts": [odd], "links": []}))
    (found,) = make_model(client).extract_facts(TALK)
    assert found.statement == "Caroline\N{REPLACEMENT CHARACTER} met Dave."
    assert (found.occurred, found.expires_at, found.confidence, found.who) == (None, None, 0.0, ("Dave",))


def test_no_facts_is_an_answer(provider: ModelProvider, client: ProviderClient) -> None:
    provider.fail_next(Fault("wrong_shape", answer={"facts": [], "links": []}))
    assert make_model(client).extract_facts(TALK) == []
