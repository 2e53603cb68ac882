"""What facts cost a warm search: the same question without them, with them, and with their scores lent."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import cache
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Bench, in_turns
from benchmarks.derived.labels import load
from benchmarks.report import Section, number, spread, table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.ports import Embedder
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.wiring.installation import Installation

REPEATS, QUICK_REPEATS = 1_000, 5
QUICK_CONVERSATIONS = 3

_METHOD = """The labelled conversations of `samples/labelled` in one graph, with the facts that rules found in them.
Their questions one after the other, in turns: without facts, with facts beside memories and messages
(`include_facts`), and with facts that lend scores to messages besides (`NEURIGRAPH_FACT_LENDING=true`). Layers are
cached, answers are not, and the question's embedding is looked up."""


class _Remembering:
    """Implements ``ports.Embedder``: embeds each question once."""

    def __init__(self, inner: Embedder) -> None:
        self.model, self.dimensions, self.prefix_trained = inner.model, inner.dimensions, inner.prefix_trained
        self.is_remote, self.max_tokens = inner.is_remote, inner.max_tokens
        self._one = cache(lambda text, kind: inner.embed([text], kind)[0])

    def embed(self, texts: Sequence[str], kind: str = "document") -> NDArray[np.float32]:
        """Return the vectors of texts."""
        return np.stack([self._one(text, kind) for text in texts])


def run(bench: Bench) -> Section:
    """Measure the three kinds in turns."""
    with bench.installation() as installation:
        context, questions, facts = _graph(bench, installation)
        lending = context.using(settings=context.settings.changed(fact_lending=True))
        kinds = {
            "without facts": _asker(context, questions, include_facts=False),
            "with facts": _asker(context, questions, include_facts=True),
            "with facts that lend scores": _asker(lending, questions, include_facts=True),
        }
        for ask in kinds.values():
            for _ in questions:
                ask()
        taken = in_turns(list(kinds.values()), QUICK_REPEATS if bench.quick else REPEATS)
    bare = statistics.median(taken[0])
    rows = [
        [kind, f"{facts:,}", spread([1_000 * seconds for seconds in each]), number(statistics.median(each) / bare)]
        for kind, each in zip(kinds, taken, strict=True)
    ]
    return Section("Facts in search", _METHOD, table(("a search", "facts", "ms", "÷ without facts"), rows))


def _graph(bench: Bench, installation: Installation) -> tuple[Context, list[str], int]:
    """Store the conversations and read their facts; return the context, the questions, and how many facts there are."""
    given = load()[: QUICK_CONVERSATIONS if bench.quick else None]
    user, _ = create_user(installation.database, "measured")
    claims = Claims.of_user(user.user_id)
    bench.say(f"storing {len(given)} conversations")
    with installation.database.agent(claims) as tx:
        for labelled in given:
            Inbox(installation.context).add_conversations(tx, user.user_id, [labelled.conversation()])
    for result in run_due(installation.context, "benchmark", user.user_id):
        if result.returned:
            raise RuntimeError(f"a conversation was not stored: {result.returned[0][0].error}")
    facts = 0
    while (done := read_waiting(installation.context)).records:
        facts += done.facts
    context = installation.acting_for(claims).using(
        embedder=_Remembering(installation.embedder), settings=installation.settings.changed(answer_cache_entries=0)
    )
    return context, [one.question for labelled in given for one in labelled.labels.questions], facts


def _asker(context: Context, texts: Sequence[str], *, include_facts: bool) -> Callable[[], object]:
    questions = cycle(texts)
    return lambda: search(context, Question(next(questions), include_facts=include_facts))
