"""How much of LoCoMo's observations the derived text of the offline model covers.

Observations are one-line facts about each session, each by a language model that read it. The step needs no database.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import UUID

from benchmarks.derived.scoring import Share
from benchmarks.quality.questions import DATA
from benchmarks.report import table
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import (
    ImportedConversation,
    Message,
    Segment,
    SegmentRef,
    SourceKind,
    TriggerType,
)
from neurigraph_pipelines.text.lexemes import lexer_of
from resources.offline.language_model import OfflineLanguageModel
from resources.tokens.estimate import estimate_tokens

FIRST = "0.64 0.52"
"""Scores of the offline model on 2026-11-22, before its rules were worked on."""

MOST = 2 / 3
"""Share of an observation's words from which most of it counts as covered."""

FILES = DATA / "locomo"
"""The conversations and their observations."""

_NOBODY = UUID(int=0)


@dataclass(frozen=True, slots=True)
class Coverage:
    """Words of observations that were found again, and observations most of which was."""

    words: Share = field(default_factory=Share)
    observations: Share = field(default_factory=Share)

    def __add__(self, other: Coverage) -> Coverage:
        """Return both together."""
        return Coverage(self.words + other.words, self.observations + other.observations)


def observation_table() -> str:
    """Return the coverage now and at first; why there is none if the data folder is absent."""
    found = list(coverages())
    if not found:
        return f"Observations of LoCoMo: skipped, because there are none in {FILES}."
    total = sum((one for _, one in found), Coverage())
    rows = [[name, str(one.words), str(one.observations)] for name, one in (*found, ("all", total))]
    header = ["LoCoMo", "words of observations in summary or keywords", "observations with two thirds of their words"]
    return table(header, [*rows, ["all, at first", *FIRST.split()]])


def coverages() -> Iterator[tuple[str, Coverage]]:
    """Yield each conversation of LoCoMo with its coverage."""
    model = OfflineLanguageModel(None)
    for path in sorted(FILES.glob("*.observations.json")):
        observed = json.loads(path.read_text(encoding="utf-8"))["observation"]
        sessions = path.with_name(path.name.replace(".observations", ""))
        total = Coverage()
        for session in read_conversations(sessions, "locomo"):
            if isinstance(session, ImportedConversation):
                number = session.external_id.rsplit("_", 1)[1]
                said = observed.get(f"session_{number}_observation", {})
                texts = [text for one in said.values() for text, _ in one]
                total += _coverage(model, segment_of(session), texts)
        yield sessions.stem, total


def _coverage(model: OfflineLanguageModel, segment: Segment, observations: list[str]) -> Coverage:
    lexer = lexer_of("english")
    summary, keywords = model.summarize(segment, 200), model.extract_keywords(segment)
    kept = (*keywords.entities, *keywords.topics, *keywords.dates, *keywords.relationships)
    stems = set(lexer.lexemes(" ".join((summary.title, summary.text, *kept))))
    speakers = {stem for message in segment.messages for stem in lexer.lexemes(message.author or "")}
    total = Coverage()
    for text in observations:
        wanted = set(lexer.lexemes(text)) - speakers
        if wanted:
            met = len(wanted & stems)
            total += Coverage(Share(met, len(wanted)), Share(int(met >= MOST * len(wanted)), 1))
    return total


def segment_of(session: ImportedConversation) -> Segment:
    """Return a session as the steps of the job see it."""
    messages = tuple(
        Message(
            n,
            one.role,
            one.content,
            estimate_tokens(one.content),
            one.occurred_at or datetime.now(UTC),
            one.author,
        )
        for n, one in enumerate(session.messages, start=1)
    )
    ref = SegmentRef(
        _NOBODY, _NOBODY, "locomo", SourceKind.CONVERSATION, _NOBODY, session.external_id, session.title,
        TriggerType.CONVERSATION_END, 1, len(messages), 1, 0,
    )  # fmt: skip
    return Segment(ref, messages)
