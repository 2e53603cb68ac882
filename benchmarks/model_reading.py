"""What other wordings and reranking by a language model cost a question, in calls and milliseconds."""

from __future__ import annotations

import time
from typing import Any

from pydantic import SecretStr

from benchmarks.bench import Bench
from benchmarks.quality.questions import locomo
from benchmarks.report import Section, number, percentile, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.model_provider import ModelProvider

WORDINGS, READ, QUESTIONS = 4, 50, 100
DELAYS = (0.0, 0.3)
"""Seconds after which the provider answers: at once, and about as a small model does."""

_WAYS: dict[str, dict[str, Any]] = {
    "neither": {},
    f"{WORDINGS} other wordings": {"expansion_wordings": WORDINGS},
    f"reranking of {READ}": {"reranker": "language_model", "reranker_top_n": READ},
    "both": {"expansion_wordings": WORDINGS, "reranker": "language_model", "reranker_top_n": READ},
}

_METHOD = f"""One conversation of LoCoMo is stored with offline models. {QUESTIONS} of its questions are searched in one
process, with a provider on loopback as language model that answers at once or after {DELAYS[1] * 1000:.0f} ms. No
answers are cached. A wording is the question with a word added, so each costs a whole search."""


def run(bench: Bench) -> Section:
    """Ask the same questions in every way."""
    sample = locomo()[0]
    delays, sample = (DELAYS[:1], sample.beginning(60)) if bench.quick else (DELAYS, sample)
    asked = [one.text for one in sample.questions[: 10 if bench.quick else QUESTIONS]]
    rows = []
    with bench.installation() as installation, ModelProvider() as provider:
        user, _ = create_user(installation.database, sample.name)
        claims = Claims.of_user(user.user_id)
        with installation.database.agent(claims) as tx:
            for conversation in sample.conversations:
                Inbox(installation.context).add_conversations(tx, user.user_id, [conversation])
        for result in run_due(installation.context, "benchmark"):
            assert not result.returned, result.returned
        for delay in delays:
            for name, chosen in _WAYS.items():
                if chosen or not delay:
                    rows.append(
                        [name, f"{delay * 1000:.0f}", *_measured(installation, claims, provider, chosen, delay, asked)]
                    )
    header = ("", "provider's ms", "calls a question", "p50 ms", "p95 ms")
    return Section("Reading of questions by a language model", _METHOD, table(header, rows))


def _measured(
    installation: Installation,
    claims: Claims,
    provider: ModelProvider,
    chosen: dict[str, Any],
    delay: float,
    asked: list[str],
) -> list[str]:
    """Return calls a question and the times of a search."""
    model = {
        "language_model": "openai",
        "openai_api_key": SecretStr("loopback"),
        "openai_base_url": provider.base_url,
        "answer_cache_entries": 0,
    }
    with Installation(installation.settings.changed(**model, **chosen)) as here:
        context = here.acting_for(claims).using(embedder=installation.embedder)
        search(context, Question(asked[0]))  # reads the layers and opens connections
        provider.reset()
        provider.slow_down(delay)
        seconds = []
        for text in asked:
            started = time.perf_counter()
            assert not search(context, Question(text)).notes
            seconds.append(time.perf_counter() - started)
        calls = len(provider.requests) / len(asked)
    return [number(calls), *(number(1_000 * percentile(seconds, share)) for share in (50, 95))]
