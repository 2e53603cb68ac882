"""Real conversations and meetings with questions and their evidence, from the data folder beside the project.

Conversations are read with the importer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.bench import PROJECT_ROOT, SkippedError
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, Role

DATA = PROJECT_ROOT.parent / "shared" / "data"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's categories of questions; the adversarial ones name the wrong speaker."""
MEETINGS = "meetings"
ASSISTANT = "user and assistant"
_MARK_OF_TURN = re.compile(r"\s*->->[\s\w,/.-]*$")
"""What BEAM appends to a user's message: the number of its turn."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and the ids of the messages that hold its answer, at least one; ``answer`` is empty if not known."""

    text: str
    evidence: frozenset[str]
    category: str
    answer: str = ""


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


@dataclass(frozen=True, slots=True)
class Sample:
    """Conversations of one user, and questions about them. External ids of messages are unique."""

    name: str
    conversations: tuple[ImportedConversation, ...]
    questions: tuple[LabelledQuestion, ...]

    @property
    def messages(self) -> dict[str, IncomingMessage]:
        """Return every message by its id, in order."""
        return {
            message.external_id: message
            for conversation in self.conversations
            for message in conversation.messages
            if message.external_id is not None
        }

    @property
    def sessions(self) -> dict[str, str]:
        """Return the conversation of every message, both by their ids."""
        return {
            message.external_id: conversation.external_id
            for conversation in self.conversations
            for message in conversation.messages
            if message.external_id is not None
        }

    def beginning(self, messages: int) -> Sample:
        """Return the first ``messages`` messages, and the questions that they answer."""
        conversations, left = [], messages
        for conversation in self.conversations:
            conversations.append(replace(conversation, messages=conversation.messages[:left]))
            left -= len(conversations[-1].messages)
            if not left:
                break
        beginning = replace(self, conversations=tuple(conversations))
        known = beginning.messages.keys()
        return replace(beginning, questions=tuple(asked for asked in self.questions if asked.evidence <= known))


def locomo() -> list[Sample]:
    """Read the conversations of LoCoMo (ACL 2024): two people over months, one user for each conversation."""
    return [_locomo(path) for path in _files("locomo")]


def qmsum() -> list[Sample]:
    """Read the meetings of QMSum (NAACL 2021), one user each; message ids include the meeting's name."""
    return [_meeting(path) for path in _files("qmsum")]


def beam() -> list[Sample]:
    """Read the chats of BEAM: a user and an assistant over months, one user for each chat."""
    return [_chat(path) for path in sorted((DATA / "beam").glob("*.chat.json"))]


def beam_beliefs() -> Iterator[tuple[Sample, list[BeliefQuestion]]]:
    """Yield the chats of BEAM with their questions about what is believed."""
    for path in sorted((DATA / "beam").glob("*.questions.json")):
        given = json.loads(path.read_text(encoding="utf-8"))
        questions = []
        for name, kind in BELIEF.items():
            for item in given[name]:
                sides = item.get("source_chat_ids") or []
                groups = [
                    frozenset(map(str, _leaves(side)))
                    for side in (sides.values() if isinstance(sides, dict) else [sides])
                ]
                earlier, later = groups if len(groups) == 2 else (frozenset(), groups[0])
                questions.append(BeliefQuestion(item["question"], kind, earlier, later))
        yield _chat(path.with_name(path.name.replace("questions", "chat"))), questions


def together(name: str, samples: Sequence[Sample]) -> Sample:
    """Combine samples into one user."""
    return Sample(
        name,
        tuple(conversation for sample in samples for conversation in sample.conversations),
        tuple(asked for sample in samples for asked in sample.questions),
    )


def _files(folder: str) -> list[Path]:
    files = sorted(path for path in (DATA / folder).glob("*.json") if "." not in path.stem)
    if not files:
        raise SkippedError(f"there is no data in {DATA / folder}")
    return files


def _locomo(path: Path) -> Sample:
    """Read one conversation. Evidence strings with several ids are split, and unknown ids are dropped."""
    sample = Sample(path.stem.lower(), _conversations(path, "locomo"), ())
    known = sample.messages.keys()
    questions = []
    for item in json.loads(path.read_text(encoding="utf-8"))["qa"]:
        evidence = known & set(re.split(r"[;\s]+", " ".join(item.get("evidence") or ())))
        if evidence:
            gold = str(item.get("answer", ""))
            questions.append(
                LabelledQuestion(item["question"], frozenset(evidence), CATEGORIES[item["category"]], gold)
            )
    return replace(sample, questions=tuple(questions))


def _meeting(path: Path) -> Sample:
    """Read one meeting. Evidence is one or more runs of turns; empty turns are not messages."""
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
        evidence = known & {_turn(path, turn) for run in runs for turn in run}
        if evidence:
            questions.append(LabelledQuestion(item["query"], frozenset(evidence), MEETINGS))
    return replace(sample, questions=tuple(questions))


def _chat(path: Path) -> Sample:
    """Read one chat; each of its batches is a conversation. Questions without evidence are left out."""
    name = path.name.partition(".")[0]
    batches = json.loads(path.read_text(encoding="utf-8"))
    sample = Sample(f"beam-{name}", tuple(_batch(name, n, batch) for n, batch in enumerate(batches, 1)), ())
    known = sample.messages.keys()
    questions = [
        LabelledQuestion(item["question"], evidence, ASSISTANT)
        for items in json.loads(path.with_name(f"{name}.questions.json").read_text(encoding="utf-8")).values()
        for item in items
        if (evidence := frozenset(map(str, _leaves(item.get("source_chat_ids")))) & known)
    ]
    return replace(sample, questions=tuple(questions))


def _batch(chat: str, number: int, batch: dict[str, Any]) -> ImportedConversation:
    """Read one batch, whose first message alone has a date."""
    turns = [message for turn in batch["turns"] for message in turn]
    messages = tuple(
        IncomingMessage(
            Role(turn["role"]), _MARK_OF_TURN.sub("", turn["content"]), occurred_at=date, external_id=str(turn["id"])
        )
        for date in [datetime.strptime(turns[0]["time_anchor"], "%B-%d-%Y").replace(tzinfo=UTC)]
        for turn in turns
    )
    date = messages[0].occurred_at
    return ImportedConversation(f"beam-{chat}:{number}", messages, started_at=date, ended_at=date)


def _leaves(ids: Any) -> Iterator[Any]:
    """Yield the ids of lists and of dictionaries of lists."""
    if isinstance(ids, dict | list):
        for item in ids.values() if isinstance(ids, dict) else ids:
            yield from _leaves(item)
    elif ids is not None:
        yield ids


def _turn(path: Path, turn: object) -> str:
    return f"{path.stem}:{turn}"


def _conversations(path: Path, format_: str) -> tuple[ImportedConversation, ...]:
    read = tuple(read_conversations(path, format_))
    conversations = tuple(item for item in read if isinstance(item, ImportedConversation))
    assert len(conversations) == len(read), [item for item in read if item not in conversations]
    return conversations
