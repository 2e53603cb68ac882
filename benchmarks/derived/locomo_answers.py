"""Answers to LoCoMo's questions: whether the gold answer is quoted, and what declining costs.

Figures of one run on people's long chats, beside those on the labelled conversations; the data are in the data folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from benchmarks.bench import Bench
from benchmarks.derived.observe import statements_of
from benchmarks.quality.questions import locomo
from benchmarks.report import table
from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.runtime.evaluation.published import CATEGORIES
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample
from neurigraph_pipelines.text.lexemes import Lexer
from neurigraph_pipelines.views.answers import Reply
from neurigraph_pipelines.wiring.installation import Installation

ASKED_AT = datetime(2024, 6, 1, 12, tzinfo=UTC)
"""After the last conversation."""

QUICK_MESSAGES = 60
SAID = 0.6
"""Share of the words of a gold answer from which it is quoted."""


@dataclass(frozen=True, slots=True)
class Asked:
    """How one question was answered.

    Attributes:
        is_cited, is_first: Whether a message that holds the answer is behind a statement, or behind the first one.
        is_said: Whether the words of the gold answer stand in the statements.
    """

    category: str
    is_cited: bool
    is_first: bool
    is_said: bool
    is_declined: bool


def answers_table(bench: Bench) -> str:
    """Return how LoCoMo's questions are answered, by category.

    Raises:
        SkippedError: The data folder does not have them.
    """
    samples = locomo()
    if bench.quick:
        samples = [samples[0].beginning(QUICK_MESSAGES)]
    asked: list[Asked] = []
    for sample in samples:
        bench.say(f"{sample.name}: storing and asking {len(sample.questions)} questions")
        with bench.installation(own_model=True) as installation:
            asked += _ask_all(installation, sample)
    rows = []
    for category in CATEGORIES.values():
        among = [one for one in asked if one.category == category]
        if among:
            rows.append([category, str(len(among)), *_shares(among)])
    return table(["LoCoMo", "questions", "cited", "first", "quoted", "declined"], rows)


def _shares(among: Sequence[Asked]) -> list[str]:
    counts = (
        sum(one.is_cited for one in among),
        sum(one.is_first for one in among),
        sum(one.is_said for one in among),
        sum(one.is_declined for one in among),
    )
    return [f"{count / len(among):.2f}" for count in counts]


def _ask_all(installation: Installation, sample: Sample) -> Iterator[Asked]:
    user, _ = create_user(installation.database, sample.name.replace("_", "-"))
    claims = Claims.of_user(user.user_id)
    for conversation in sample.conversations:
        with installation.database.agent(claims) as tx:
            Inbox(installation.context).add_conversations(tx, user.user_id, [conversation])
    for result in run_due(installation.context, "benchmark", user.user_id):
        assert not result.returned, result.returned
    for question in sample.questions:
        reply = ask(installation.acting_for(claims), Question(question.text), asked_at=ASKED_AT)
        yield _judged(question, reply)


def _judged(question: LabelledQuestion, reply: Reply) -> Asked:
    lexer = Lexer()
    wanted = set(lexer.lexemes(question.answer))
    said = len(wanted.intersection(lexer.lexemes(" ".join(statements_of(reply))))) / len(wanted) if wanted else 0.0
    cited = [one.external_id in question.sources for one in reply.citations]
    return Asked(question.category, any(cited), any(cited[:1]), reply.found and said >= SAID, not reply.found)
