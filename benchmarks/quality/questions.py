"""Real conversations and meetings with questions and their sources, from the data folder beside the project.

The readers of published formats are the product's; QMSum is read with the importer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bench import PROJECT_ROOT, SkippedError
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation
from neurigraph_pipelines.runtime.evaluation.published import beam_chat, beam_questions, leaves, read_published
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample

DATA = PROJECT_ROOT.parent / "shared" / "data"
MEETINGS = "meetings"
ASSISTANT = "user and assistant"
BELIEF = {
    "contradiction_resolution": "contradictions",
    "knowledge_update": "updates",
    "event_ordering": "order of events",
    "abstention": "never said",
}
"""BEAM's kinds of questions that are about what is believed."""


@dataclass(frozen=True, slots=True)
class BeliefQuestion:
    """A question about two statements of which the later one contradicts or updates the earlier one, as message ids.

    An ordering has only ``later``, and what was never said has neither.
    """

    text: str
    kind: str
    earlier: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()


def locomo() -> list[Sample]:
    """Read the conversations of LoCoMo (ACL 2024): two people over months, one user for each conversation."""
    return [sample.with_sources for path in _files("locomo") for sample in read_published("locomo", path)]


def qmsum() -> list[Sample]:
    """Read the meetings of QMSum (NAACL 2021), one user each; message ids include the meeting's name."""
    return [_meeting(path) for path in _files("qmsum")]


def beam() -> list[Sample]:
    """Read the chats of BEAM: a user and an assistant over months, one user for each chat."""
    samples = [sample.with_sources for path in _chats() for sample in read_published("beam", path)]
    return [
        replace(sample, questions=tuple(replace(asked, category=ASSISTANT) for asked in sample.questions))
        for sample in samples
    ]


def beam_beliefs() -> Iterator[tuple[Sample, list[BeliefQuestion]]]:
    """Yield the chats of BEAM with their questions about what is believed."""
    for path in _chats():
        given = json.loads(beam_questions(path).read_text(encoding="utf-8"))
        questions = []
        for name, kind in BELIEF.items():
            for item in given[name]:
                sides = item.get("source_chat_ids") or []
                groups = [
                    frozenset(map(str, leaves(side)))
                    for side in (sides.values() if isinstance(sides, dict) else [sides])
                ]
                earlier, later = groups if len(groups) == 2 else (frozenset(), groups[0])
                questions.append(BeliefQuestion(item["question"], kind, earlier, later))
        yield beam_chat(path), questions


def together(name: str, samples: Sequence[Sample]) -> Sample:
    """Combine samples into one user."""
    return Sample(
        name,
        tuple(conversation for sample in samples for conversation in sample.conversations),
        tuple(asked for sample in samples for asked in sample.questions),
    )


def _chats() -> list[Path]:
    return sorted((DATA / "beam").glob("*.chat.json"))


def _files(folder: str) -> list[Path]:
    files = sorted(path for path in (DATA / folder).glob("*.json") if "." not in path.stem)
    if not files:
        raise SkippedError(f"there is no data in {DATA / folder}")
    return files


def _meeting(path: Path) -> Sample:
    """Read one meeting. Sources are one or more runs of turns; empty turns are not messages."""
    conversations = tuple(
        replace(
            conversation,
            messages=tuple(
                replace(message, external_id=_turn(path, message.external_id)) for message in conversation.messages
            ),
        )
        for conversation in _conversations(path, "qmsum")
    )
    sample = Sample(path.stem.lower(), conversations, ())
    known = sample.messages.keys()
    questions = []
    for item in json.loads(path.read_text(encoding="utf-8"))["specific_query_list"]:
        runs = [range(int(first), int(last) + 1) for first, last in item["relevant_text_span"]]
        sources = known & {_turn(path, turn) for run in runs for turn in run}
        if sources:
            questions.append(LabelledQuestion(item["query"], frozenset(sources), MEETINGS))
    return replace(sample, questions=tuple(questions))


def _turn(path: Path, turn: object) -> str:
    return f"{path.stem}:{turn}"


def _conversations(path: Path, format_: str) -> tuple[ImportedConversation, ...]:
    read = tuple(read_conversations(path, format_))
    conversations = tuple(item for item in read if isinstance(item, ImportedConversation))
    assert len(conversations) == len(read), [item for item in read if item not in conversations]
    return conversations
