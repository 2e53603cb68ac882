"""The schemas of a language model's answers, and their conversion to domain values.

Belongs here: the schemas sent with a request, and the checks and repairs of answers. Instructions are in ``prompts``;
requests in ``providers.language_model``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from neurigraph_pipelines.model import (
    MAX_LAYER_DEPTH,
    ConceptKind,
    Keywords,
    NodeProposal,
    Placement,
    PlannedNode,
    Relation,
    Segment,
    Statement,
    Summary,
)
from neurigraph_pipelines.text.iso_periods import is_period
from resources.well_formed import well_formed

MAX_NAME_CHARACTERS = 120
MAX_SUMMARY_CHARACTERS = 8_000
MAX_PLACEMENTS, MAX_PLANNED = 8, 60
_MAX_STEPS = MAX_LAYER_DEPTH + 1
_SURE = 1.0
MAX_ENTITIES, MAX_TOPICS, MAX_DATES, MAX_RELATIONSHIPS = 60, 30, 60, 40

MAX_STATEMENTS, MAX_STATEMENT_CHARACTERS, MAX_CITED = 20, 2_000, 20
MAX_WORDING_CHARACTERS = 200

_CITATION = re.compile(r"\s*\[(?:passages? )?\d{1,3}(?:\s*[,;-]\s*\d{1,3})*\]", re.IGNORECASE)


class StrictAnswer(BaseModel):
    """All fields are required and no others allowed, as structured outputs demand."""

    model_config = ConfigDict(extra="forbid")


class SummaryAnswer(StrictAnswer):
    """An index entry."""

    title: str
    summary: str


class KeywordsAnswer(StrictAnswer):
    """Structured keywords."""

    entities: list[str]
    topics: list[str]
    dates: list[str]
    relationships: list[str]


class StepAnswer(StrictAnswer):
    """One node on the way down."""

    name: str
    kind: Literal["topic", "person", "project", "organization", "place", "thing"]
    confidence: float
    summary: str
    keywords: list[str]
    aliases: list[str]


class RelationAnswer(StrictAnswer):
    """A relation that the content states."""

    other: str
    kind: Literal["topic", "person", "project", "organization", "place", "thing"]
    label: str
    strength: float


class PlacementAnswer(StrictAnswer):
    """A node for a range of messages."""

    first_message: int
    last_message: int
    steps: list[StepAnswer]
    relations: list[RelationAnswer]


class PlacementsAnswer(StrictAnswer):
    """The nodes that a segment belongs to."""

    placements: list[PlacementAnswer]


class PlannedNodeAnswer(StrictAnswer):
    """A node that several segments will need."""

    path: list[str]
    kind: Literal["topic", "person", "project", "organization", "place", "thing"]
    summary: str
    keywords: list[str]


class PlanAnswer(StrictAnswer):
    """The nodes that several segments will need."""

    nodes: list[PlannedNodeAnswer]


class StatementAnswer(StrictAnswer):
    """A part of an answer and the numbers of the passages it rests on."""

    text: str
    passages: list[int]


class StatementsAnswer(StrictAnswer):
    """An answer to a question; empty if the passages do not contain one."""

    statements: list[StatementAnswer]


class WordingsAnswer(StrictAnswer):
    """Phrases to search for beside a question."""

    wordings: list[str]


class OrderAnswer(StrictAnswer):
    """The numbers of the passages that answer a question, the best first."""

    passages: list[int]


def read_plan(answer: PlanAnswer) -> list[PlannedNode]:
    """Return the planned nodes that have a path."""
    return [
        PlannedNode(path, ConceptKind(node.kind), _SURE, _sentence(node.summary), _names(node.keywords)[:8])
        for node in answer.nodes[:MAX_PLANNED]
        if (path := tuple(filter(None, map(_name, node.path))))
    ]


def read_statements(answer: StatementsAnswer) -> list[Statement]:
    """Return the statements that have text, without citation marks inside the text."""
    read = []
    for item in answer.statements[:MAX_STATEMENTS]:
        text = " ".join(_CITATION.sub("", well_formed(item.text)).split())[:MAX_STATEMENT_CHARACTERS]
        if text:
            read.append(Statement(text, tuple(dict.fromkeys(item.passages))[:MAX_CITED]))
    return read


def read_wordings(answer: WordingsAnswer, question: str) -> list[str]:
    """Return distinct phrases of one line each that are not the question itself."""
    phrases = (" ".join(well_formed(wording).split())[:MAX_WORDING_CHARACTERS] for wording in answer.wordings)
    distinct = {phrase.casefold(): phrase for phrase in phrases if any(map(str.isalnum, phrase))}
    distinct.pop(" ".join(question.split()).casefold(), None)
    return list(distinct.values())


def read_summary(answer: SummaryAnswer) -> Summary | None:
    """Return a summary, or None if it has no text."""
    text = well_formed(answer.summary).strip()[:MAX_SUMMARY_CHARACTERS]
    title = _name(answer.title) or _name(text)
    return Summary(title, text) if text else None


def read_keywords(answers: Sequence[KeywordsAnswer]) -> Keywords:
    """Merge the keywords of a segment's windows; keywords of several windows come first."""
    return Keywords(
        entities=_merged((answer.entities for answer in answers), MAX_ENTITIES),
        topics=_merged((answer.topics for answer in answers), MAX_TOPICS),
        dates=tuple(sorted({d for answer in answers for d in map(str.strip, answer.dates) if is_period(d)}))[
            :MAX_DATES
        ],
        relationships=_merged((answer.relationships for answer in answers), MAX_RELATIONSHIPS),
    )


def read_placements(answer: PlacementsAnswer, segment: Segment) -> list[Placement]:
    """Return the usable placements, which have a path and a range with messages of the segment.

    Ranges are clipped to the segment, confidences to 0..1; empty names are dropped. Paths may be a step deeper than
    the graph: the domain's rules end them, and note it.
    """
    first, last = segment.messages[0].seq, segment.messages[-1].seq
    placements = []
    for item in answer.placements[:MAX_PLACEMENTS]:
        steps = tuple(step for step in map(_read_step, item.steps) if step.name)[:_MAX_STEPS]
        start, end = max(first, item.first_message), min(last, item.last_message)
        if steps and start <= end:
            placements.append(Placement(steps, start, end, _read_relations(item.relations)))
    return placements


def _read_step(step: StepAnswer) -> NodeProposal:
    """Convert one step; its name may be empty."""
    return NodeProposal(
        name=_name(step.name),
        kind=ConceptKind(step.kind),
        confidence=_fraction(step.confidence),
        summary=_sentence(step.summary),
        keywords=_names(step.keywords)[:8],
        aliases=_names(step.aliases)[:8],
    )


def _read_relations(relations: Iterable[RelationAnswer]) -> tuple[Relation, ...]:
    """Return the relations that have both a name and a label."""
    read = (
        Relation(_name(r.other), _name(r.label), _fraction(r.strength), kind=ConceptKind(r.kind)) for r in relations
    )
    return tuple(relation for relation in read if relation.other and relation.label)[:20]


def _sentence(text: str) -> str:
    return " ".join(well_formed(text).split())[:500]


def _merged(lists: Iterable[Sequence[str]], limit: int) -> tuple[str, ...]:
    """Return distinct names, ordered by how many lists contain them, then by appearance."""
    counts: Counter[str] = Counter()
    spelling: dict[str, str] = {}
    for names in lists:
        distinct = {name.casefold(): name for name in reversed(_names(names))}
        counts.update(dict.fromkeys(reversed(distinct), 1))
        for key, name in distinct.items():
            spelling.setdefault(key, name)
    return tuple(spelling[key] for key, _ in counts.most_common(limit))


def _names(names: Iterable[str]) -> tuple[str, ...]:
    """Return cleaned, distinct names without empty ones."""
    return tuple(dict.fromkeys(filter(None, map(_name, names))))


def _name(text: str) -> str:
    """Clean a name: one line, at most ``MAX_NAME_CHARACTERS``, no control characters."""
    printable = "".join(c if c.isprintable() else " " for c in well_formed(text))
    return " ".join(printable.split())[:MAX_NAME_CHARACTERS].rstrip()


def _fraction(number: float) -> float:
    """Clip a number to 0..1; NaN counts as 0."""
    return min(1.0, max(0.0, number)) if number == number else 0.0
