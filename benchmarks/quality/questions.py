"""Real conversations and meetings with questions whose evidence is known, read from the folder beside the project.

What is said is read as the importer reads it; nothing is asked or counted here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bench import PROJECT_ROOT, SkippedError
from neurigraph_pipelines.ingestion.imports import read_conversations
from neurigraph_pipelines.model import NewConversation, NewMessage

DATA = PROJECT_ROOT.parent / "shared" / "data"
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
"""LoCoMo's categories of questions; the adversarial ones name the wrong speaker."""
MEETINGS = "meetings"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the ids of the messages that hold its answer, at least one."""

    text: str
    evidence: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Sample:
    """What one user remembers and is asked about. The external ids of its messages differ."""

    name: str
    conversations: tuple[NewConversation, ...]
    questions: tuple[Asked, ...]

    @property
    def messages(self) -> dict[str, NewMessage]:
        """Every message by its id, in order."""
        return {
            message.external_id: message
            for conversation in self.conversations
            for message in conversation.messages
            if message.external_id is not None
        }

    def beginning(self, messages: int) -> Sample:
        """The first so many messages, and what can be answered from them."""
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
    """The conversations of LoCoMo (ACL 2024): two people over months, each conversation a user's."""
    return [_locomo(path) for path in _files("locomo")]


def qmsum() -> list[Sample]:
    """The meetings of QMSum (NAACL 2021), each a user's; message ids bear the meeting's name."""
    return [_meeting(path) for path in _files("qmsum")]


def together(name: str, samples: Sequence[Sample]) -> Sample:
    """One user who remembers all of it."""
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
    """Lists of evidence are not clean: several ids in one string are split, and what is no message is dropped."""
    sample = Sample(path.stem.lower(), _conversations(path, "locomo"), ())
    known = sample.messages.keys()
    questions = []
    for item in json.loads(path.read_text(encoding="utf-8"))["qa"]:
        evidence = known & set(re.split(r"[;\s]+", " ".join(item.get("evidence") or ())))
        if evidence:
            questions.append(Asked(item["question"], frozenset(evidence), CATEGORIES[item["category"]]))
    return replace(sample, questions=tuple(questions))


def _meeting(path: Path) -> Sample:
    """The evidence is a run of turns, or several; turns in which nothing is said are no messages."""
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
            questions.append(Asked(item["query"], frozenset(evidence), MEETINGS))
    return replace(sample, questions=tuple(questions))


def _turn(path: Path, turn: object) -> str:
    return f"{path.stem}:{turn}"


def _conversations(path: Path, format_: str) -> tuple[NewConversation, ...]:
    read = tuple(read_conversations(path, format_))
    conversations = tuple(item for item in read if isinstance(item, NewConversation))
    assert len(conversations) == len(read), [item for item in read if item not in conversations]
    return conversations
