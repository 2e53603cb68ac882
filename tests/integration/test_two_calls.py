"""A language model gets the text of a short conversation twice: to file it, and to read all else in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.graph.record_lists import RecordFilter, list_records
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.ingestion import batch, step_results
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.knowledge.reading import read_again, read_waiting
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.measuring import spending
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.retries import UNUSABLE_RETRIES, ProviderClient
from tests.support.memories import converse, ingest, rows, stored
from tests.support.model_clients import make_client, make_model
from tests.support.model_provider import Fault, ModelProvider
from tests.support.model_rules import answer_chat

TOLD = ("Yesterday the doctor at Mercy Hospital said I can run again.", "The marathon with Dave is in October.")


@pytest.fixture
def client(provider: ModelProvider) -> Iterator[ProviderClient]:
    opened = make_client(provider)
    yield opened
    opened.close()


@pytest.fixture
def asked(context: Context, client: ProviderClient) -> Context:
    return context.using(language_model=make_model(client))


def calls(provider: ModelProvider) -> Counter[str]:
    """Return how often each kind of answer was asked for with the text of the conversation."""
    asks = (request for request in provider.requests if request.asks("Mercy Hospital"))
    return Counter(request.body["response_format"]["json_schema"]["name"] for request in asks)


def facts(here: Installation, user: User) -> list[str]:
    return [
        row["statement"]
        for row in rows(here, "SELECT statement FROM neurigraph.facts WHERE user_id = %s", user.user_id)
    ]


def waiting_windows(here: Installation, user: User) -> int:
    return len(rows(here, "SELECT FROM neurigraph.read_windows WHERE user_id = %s", user.user_id))


def test_text_is_sent_twice(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    converse(here, claims, *TOLD)
    with spending() as spent:
        (record,) = stored(ingest(asked, user))
        assert waiting_windows(here, user) == 1
        read = read_waiting(asked, user_id=user.user_id)
    assert (read.records, read.failed) == (1, [])
    assert calls(provider) == {"PlacementsAnswer": 1, "SegmentAnswer": 1}
    assert (spent.calls, spent.sent, spent.received) == (2, 2, 2)  # each call takes one token of this provider
    assert any("Mercy Hospital" in statement for statement in facts(here, user))
    (found,) = list_records(here.listing(claims, limit=10), RecordFilter()).items
    assert "Mercy Hospital" in found.summary
    assert "Mercy" in " ".join(found.entities)
    assert waiting_windows(here, user) == 0
    assert read_again(asked, [record.record_id]).facts == len(TOLD)
    assert calls(provider)["FactsAnswer"] == 1, "who asks for another reading gets one"


def test_another_process_goes_on(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    converse(here, claims, *TOLD)
    detect(asked)
    leased = triggers.lease_due(asked, "tests", user.user_id)
    assert leased is not None
    assigned = batch.assign_nodes(asked, leased.batch_id)
    step_results.keep_summarized(asked.database, assigned, batch.summarize(asked, assigned))
    summarized = step_results.find_summarized(asked.database, assigned)
    described = batch.extract_keywords(asked, assigned, summarized)
    batch.commit(asked, assigned, summarized, described, batch.embed(asked, assigned, summarized))
    assert read_waiting(asked, user_id=user.user_id).records == 1
    assert calls(provider) == {"PlacementsAnswer": 1, "SegmentAnswer": 1}


def test_model_that_cannot_do_all_at_once_is_asked_one_by_one(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    provider.fail_when("Mercy Hospital", Fault("wrong_shape", answer={"entry": "?"}), "SegmentAnswer")
    converse(here, claims, *TOLD)
    assert len(stored(ingest(asked, user))) == 1
    assert waiting_windows(here, user) == 0
    assert read_waiting(asked, user_id=user.user_id).records == 1
    made = calls(provider)
    assert made.pop("SegmentAnswer") == 1 + UNUSABLE_RETRIES
    assert made == {"PlacementsAnswer": 1, "SummaryAnswer": 1, "KeywordsAnswer": 1, "FactsAnswer": 1}


def test_model_that_is_too_slow_for_all_at_once_is_asked_one_by_one(
    here: Installation, context: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    provider.fail_when("Mercy Hospital", Fault("stall", seconds=60), "SegmentAnswer")
    converse(here, claims, *TOLD)
    client = make_client(provider, timeout=0.5, max_retries=1)
    try:
        assert len(stored(ingest(context.using(language_model=make_model(client)), user))) == 1
    finally:
        client.close()
    made = calls(provider)
    assert made.pop("SegmentAnswer") == 2
    assert made == {"PlacementsAnswer": 1, "SummaryAnswer": 1, "KeywordsAnswer": 1}


def test_plan_for_the_end_of_the_calendar_costs_no_summary(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob

    def answer_late(shape: str, question: str) -> dict[str, Any]:
        answer = answer_chat(shape, question)
        if shape == "SegmentAnswer":
            for fact in answer["facts"]["facts"]:
                fact |= {"kind": "plan", "occurred": "9999-12-30"}
        return answer

    provider.answer_with(answer_late)
    converse(here, claims, *TOLD)
    (record,) = stored(ingest(asked, user))
    assert record.left_out == ()
    assert read_waiting(asked, user_id=user.user_id).facts == len(TOLD)
    assert calls(provider) == {"PlacementsAnswer": 1, "SegmentAnswer": 1}


@pytest.mark.parametrize("context_tokens", [4_000, 100_000])
def test_small_contexts_and_long_texts_are_read_one_by_one(
    here: Installation, context: Context, client: ProviderClient, bob: tuple[User, Claims], provider: ModelProvider,
    context_tokens: int,
) -> None:  # fmt: skip
    user, claims = bob
    asked = context.using(language_model=make_model(client, context_tokens))
    told = TOLD if context_tokens < 16_000 else [f"{text} {'It rained on the way. ' * 1_200}" for text in TOLD]
    converse(here, claims, *told)
    assert len(stored(ingest(asked, user))) == 1
    assert calls(provider)["SegmentAnswer"] == 0


def test_forgotten_record_leaves_no_window(here: Installation, asked: Context, bob: tuple[User, Claims]) -> None:
    user, claims = bob
    converse(here, claims, *TOLD)
    (record,) = stored(ingest(asked, user))
    assert waiting_windows(here, user) == 1
    forget(asked.acting_for(claims), ErasureSubject(SubjectKind.RECORD, record.record_id), through="test")
    assert waiting_windows(here, user) == 0


def test_facts_that_nobody_wants_are_not_asked_for(
    here: Installation, asked: Context, bob: tuple[User, Claims], provider: ModelProvider
) -> None:
    user, claims = bob
    settings = here.settings.model_copy(
        update={"ingestion": here.settings.ingestion.model_copy(update={"facts": False})}
    )
    converse(here, claims, *TOLD)
    assert len(stored(ingest(asked.using(settings=settings), user))) == 1
    assert calls(provider) == {"PlacementsAnswer": 1, "SummaryAnswer": 1, "KeywordsAnswer": 1}
