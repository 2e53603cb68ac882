"""Searches and answers whose enrichments have defects: what is found is said without them, over HTTP too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

import httpx
import pytest

from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.model import Claims, Quotable, Statement
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.retrieval import ask as asking
from neurigraph_pipelines.retrieval import changed, excerpts, log, restating
from neurigraph_pipelines.retrieval.index.names import Names
from neurigraph_pipelines.retrieval.query import (
    find,
    found,
    gathering,
    hits,
    parse,
    rationale,
    search,
    signals,
    unstored,
)
from neurigraph_pipelines.retrieval.query.facts import FactScores
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.memories import PlainModel, WordEmbedder, converse, ingest, plain_context

SAID = "I planted the quince tree on May 3-4, 2024."
LONG = "The quince tree stood alone. " + "Nothing else grew there that year. " * 200
QUESTION = "When did I plant the quince tree last May?"
OWN_STEPS = [
    (parse, "unframed"),
    (parse, "role_asked"),
    (parse, "asks_when"),
    (parse, "asks_for_several"),
    (parse, "time_phrases"),
    (parse, "event_phrases"),
    (parse, "language_of"),
    (search, "named_times"),
    (search, "newest_first"),
    (find, "rationale_of"),
    (find, "fact_scores_of"),
    (find, "show_facts"),
    (find, "stage"),
    (FactScores, "best"),
    (gathering, "_embedded"),
    (gathering, "speakers_named"),
    (gathering, "without_names"),
    (Names, "named"),
    (unstored, "_words"),
    (unstored, "statement_key"),
    (unstored, "languages_of"),
    (excerpts, "_around_best"),
    (changed, "_conflicts"),
    (changed, "_may_conflict"),
    (restating._Said, "of"),
    (restating._Said, "adds_nothing"),
    (log, "_is_due"),
    (log, "retention_of"),
    (hits, "_anchors"),
    (rationale, "_name"),
    (signals, "nearness_to_periods"),
    (found, "_times_said"),
    (Lexer, "lexemes"),
    (Lexer, "stems"),
]


def defect(*_: object, **__: object) -> NoReturn:
    raise IndexError("no such group: quince")


class Failing:
    """A reranker and an expander with a defect."""

    name = "failing"

    def scores(self, question: str, texts: Sequence[str]) -> list[float]:
        raise KeyError(question)

    def wordings(self, question: str, most: int) -> list[str]:
        raise KeyError(question)


class Speechless(PlainModel):
    """A model whose answers have a defect."""

    def answer(self, question: str, asked_at: object, quotable: Sequence[Quotable]) -> list[Statement]:
        raise IndexError(question)


@pytest.fixture(scope="module")
def memory(shared_installation: Installation) -> Iterator[tuple[Context, str, str]]:
    """A context of an owner whose memories are partly stored, the address of the API, and the owner's key."""
    user, key = create_user(shared_installation.database, "orchard")
    claims = Claims.of_user(user.user_id)
    converse(shared_installation, claims, SAID, LONG)
    ingest(plain_context(shared_installation), user)
    converse(shared_installation, claims, "The quince tree bore no fruit, " + LONG, ended=False)
    with serving(shared_installation) as base:
        yield plain_context(shared_installation).acting_for(claims), base, key


@pytest.mark.parametrize(("place", "function"), OWN_STEPS, ids=lambda one: getattr(one, "__name__", one))
def test_defect_keeps_no_answer_from_being_given(
    memory: tuple[Context, str, str], place: object, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, base, key = memory
    monkeypatch.setattr(place, function, defect)
    query = f"{QUESTION} {function}"  # no answer is cached
    found = search.search(context, Question(query, explain=True, include_facts=True))
    assert any("quince" in hit.summary for hit in found.hits)
    reply = asking.ask(context, Question(query))
    assert reply.found
    assert "quince" in reply.answer
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        for path in ("/v1/search", "/v1/ask"):
            answer = client.post(path, json={"query": f"{query} again"})
            assert answer.status_code == 200, answer.text


def test_models_with_defects_are_left_out(memory: tuple[Context, str, str], caplog: pytest.LogCaptureFixture) -> None:
    context = memory[0]
    expanding = context.settings.changed(expansion_wordings=2)
    failing = context.using(reranker=Failing(), expander=Failing(), settings=expanding, language_model=Speechless())
    reply = asking.ask(failing.using(embedder=WordEmbedder(fault=IndexError("no"))), Question(QUESTION))
    assert "quince" in reply.answer
    said = " ".join(reply.notes)
    for part in ("could not rerank", "could not word the question", "plain gave no answer", "answer (IndexError)"):
        assert part in said
    assert "quince" not in caplog.text
    assert "left out because of a defect: reranking (KeyError)" in caplog.text
