"""Canary runs: another embedding model answers the same questions as the current one, before anybody moves to it.

Both models embed the same texts in memory and rank them by cosine alone; nothing of a user is written. The regression
set is the sample conversations with their questions, ranked message by message. A user's own questions are those kept
in the log of retrievals, ranked by the summaries of the records.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import UUID

import numpy as np
from psycopg import sql

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.imports.reader import read_conversations
from neurigraph_pipelines.ingestion.model_registry import describe_model, note_comparison
from neurigraph_pipelines.model import ImportedConversation
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Database, Embedder
from neurigraph_pipelines.settings.shipped import shipped

REGRESSION_SET = shipped("samples")
"""The folder with the conversations and questions of the regression set."""

MOST_KEPT_QUESTIONS = 100
MOST_RECORDS = 400
"""Records of a user that the questions are ranked among: those they should find, and a sample of others."""

FIRST = 10
TOLERATED_LOSS = 0.02
"""A canary answers as well if no figure falls by more: one question of the regression set."""

_EMBEDDED_AT_ONCE = 128
_FILES = (("bob.jsonl", "jsonl"), ("allotment-meeting.json", "qmsum"))
_QUESTIONS = ("questions.json", "hard_questions.json")
_QUERIES = statements("embedding_models")


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, with the texts that each should find.

    Attributes:
        wanted: For each question the numbers of the texts that answer it.
    """

    name: str
    texts: tuple[str, ...]
    questions: tuple[str, ...]
    wanted: tuple[frozenset[int], ...]


@dataclass(frozen=True, slots=True)
class RankingFigures:
    """How well a model ranks the texts of a question set.

    Attributes:
        found_first: Share of the questions whose first text answers them.
        found: Share of the questions with an answering text among the first ``FIRST``.
        mean_reciprocal_rank: Mean of one by the place of the first answering text.
    """

    found_first: float
    found: float
    mean_reciprocal_rank: float


@dataclass(frozen=True, slots=True)
class SetCompared:
    """Both models' figures for a question set."""

    name: str
    questions: int
    texts: int
    current: RankingFigures
    canary: RankingFigures

    @property
    def is_as_good(self) -> bool:
        """Whether no figure of the canary is lower by more than ``TOLERATED_LOSS``."""
        pairs = zip(asdict(self.current).values(), asdict(self.canary).values(), strict=True)
        return all(canary >= current - TOLERATED_LOSS for current, canary in pairs)


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a canary run."""

    current_model: str
    canary_model: str
    sets: tuple[SetCompared, ...]

    @property
    def is_as_good(self) -> bool:
        """Whether the canary answers as well as the current model, set by set."""
        return all(each.is_as_good for each in self.sets)

    def figures(self) -> dict[str, object]:
        """Return the figures as a dictionary, without any text."""
        return {**asdict(self), "is_as_good": self.is_as_good}


@dataclass(frozen=True, slots=True)
class CanaryModel:
    """A model that might become the current one, and who computes it."""

    embedder: Embedder
    provider: str


def compare_models(
    database: Database,
    current: Embedder,
    canary: CanaryModel,
    user_id: UUID | None = None,
    folder: Path = REGRESSION_SET,
) -> Comparison:
    """Compare a canary with the current model, and note the figures in the registry.

    Args:
        database: Used as the pipeline.
        current: The embedder that the settings choose.
        canary: The other model.
        user_id: Also compare on this user's kept questions; their words and summaries go to the canary's provider.
        folder: The folder of the regression set.

    Raises:
        InvalidInputError: Both are the same model.
        TransientError: A provider is down.
        ProviderError: A provider refused a text.
    """
    if canary.embedder.model == current.model:
        raise InvalidInputError(f"{current.model} is the current model: name another one as the canary")
    sets = [regression_set(folder)]
    if user_id is not None:
        sets.append(kept_questions(database, user_id))
    done = Comparison(
        current.model,
        canary.embedder.model,
        tuple(
            SetCompared(
                each.name,
                len(each.questions),
                len(each.texts),
                _figures(current, each),
                _figures(canary.embedder, each),
            )
            for each in sets
            if each.questions
        ),
    )
    describe_model(database, canary.embedder, canary.provider)
    note_comparison(database, canary.embedder.model, done.figures())
    return done


def regression_set(folder: Path = REGRESSION_SET) -> QuestionSet:
    """Return the messages of the sample conversations, and the questions that some of them answer."""
    texts: list[str] = []
    numbers: dict[tuple[str, str | None], int] = {}
    for name, form in _FILES:
        for conversation in read_conversations(folder / name, form):
            if isinstance(conversation, ImportedConversation):
                for message in conversation.messages:
                    numbers[conversation.external_id, message.external_id] = len(texts)
                    texts.append(message.content)
    asked: dict[str, frozenset[int]] = {}
    for name in _QUESTIONS:
        for question in json.loads((folder / name).read_text(encoding="utf-8")):
            places = {
                numbers[each["conversation"], message] for each in question["sources"] for message in each["messages"]
            }
            if places:
                asked[question["question"]] = frozenset(places)
    return QuestionSet("regression set", tuple(texts), tuple(asked), tuple(asked.values()))


def kept_questions(database: Database, user_id: UUID) -> QuestionSet:
    """Return a user's questions in the log of retrievals, with summaries of the records that they should find."""
    summaries: dict[UUID, str] = {}
    with database.pipeline() as tx:
        values = {"user_id": user_id, "limit": MOST_KEPT_QUESTIONS}
        asked = tx.execute(_QUERIES["kept_questions"], values).fetchall()
        wanted = sorted({record_id for row in asked for record_id in row["record_ids"]})
        most = max(MOST_RECORDS, len(wanted)) if asked else 0
        places = {"user_id": user_id, "record_ids": wanted, "limit": most}
        for row in tx.execute(_QUERIES["records_to_compare"], places).fetchall():
            query = _QUERIES["summaries"].format(schema=sql.Identifier(row["schema_name"]))
            found = tx.execute(query, {"record_ids": row["record_ids"]}).fetchall()
            summaries |= {each["record_id"]: each["summary"] for each in found}
    numbers = {record_id: number for number, record_id in enumerate(summaries)}
    return QuestionSet(
        "kept questions",
        tuple(summaries.values()),
        tuple(row["question"] for row in asked),
        tuple(frozenset(numbers[one] for one in row["record_ids"] if one in numbers) for row in asked),
    )


def _figures(embedder: Embedder, asked: QuestionSet) -> RankingFigures:
    """Rank the texts of a set for each of its questions by the cosine of a model's vectors."""
    texts = np.concatenate([embedder.embed(group) for group in _groups(asked.texts)])
    questions = np.concatenate([embedder.embed(group, "query") for group in _groups(asked.questions)])
    ranks = []
    for scores, wanted in zip(questions @ texts.T, asked.wanted, strict=True):
        best = max(scores[sorted(wanted)], default=-np.inf)
        ranks.append(1 + int(np.count_nonzero(scores > best)))
    places = np.array(ranks)
    return RankingFigures(
        round(float(np.mean(places == 1)), 4),
        round(float(np.mean(places <= FIRST)), 4),
        round(float(np.mean(1 / places)), 4),
    )


def _groups(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[start : start + _EMBEDDED_AT_ONCE] for start in range(0, len(texts), _EMBEDDED_AT_ONCE)]
