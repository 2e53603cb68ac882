"""The samples and documented examples can be imported, and the questions name existing messages."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench import PROJECT_ROOT
from benchmarks.encoder import QUESTIONS, documents, statements
from benchmarks.subjects import half_of
from neurigraph_pipelines.inbox.imports import FORMATS, detect_format, read_conversations
from neurigraph_pipelines.model import ImportedConversation, Role
from neurigraph_pipelines.runtime.evaluation.own_questions import read_questions
from neurigraph_pipelines.text.hygiene import validate_message

SAMPLES = PROJECT_ROOT / "samples"
BOB = SAMPLES / "bob.jsonl"


@pytest.fixture(scope="module")
def conversations() -> dict[str, ImportedConversation]:
    read = list(read_conversations(BOB, detect_format(BOB)))
    assert all(isinstance(item, ImportedConversation) for item in read)
    by_id = {item.external_id: item for item in read if isinstance(item, ImportedConversation)}
    assert len(by_id) == len(read)
    return by_id


def test_conversations_match_readme(conversations: dict[str, ImportedConversation]) -> None:
    sizes = sorted(len(conversation.messages) for conversation in conversations.values())
    assert len(sizes) == 16
    assert sum(sizes) == 295
    assert (sizes[0], sizes[-1]) == (2, 72)
    for conversation in conversations.values():
        assert conversation.title
        times = [message.occurred_at for message in conversation.messages if message.occurred_at]
        assert times == sorted(set(times))
        assert len(times) == len(conversation.messages)
        assert (conversation.started_at, conversation.ended_at) == (times[0], times[-1])
        for message in conversation.messages:
            assert validate_message(message, "reject", 10_000) == (message, False)
            assert message.author == ("Bob" if message.role is Role.USER else None)


def test_dave_is_in_three_topics(conversations: dict[str, ImportedConversation]) -> None:
    with_dave = {
        key for key, item in conversations.items() if any("Dave" in message.content for message in item.messages)
    }
    assert with_dave == {
        *("dave-production-lead", "willow-launch-week"),
        *("ana-and-dave", "anniversary-party"),
        *("fishing-orrin-spring", "fishing-orrin-autumn"),
    }


def test_questions_point_at_messages(conversations: dict[str, ImportedConversation]) -> None:
    questions: list[dict[str, Any]] = json.loads((SAMPLES / "questions.json").read_text(encoding="utf-8"))
    assert len(questions) == 21
    assert "Dave" in questions[0]["question"]
    for question in questions:
        assert question["question"]
        assert question["answer"]
        assert question["sources"]
        for source in question["sources"]:
            ids = {message.external_id for message in conversations[source["conversation"]].messages}
            assert set(source["messages"]) <= ids
            assert source["messages"]


def test_hard_questions_point_at_messages_or_at_none(conversations: dict[str, ImportedConversation]) -> None:
    (meeting,) = read_conversations(SAMPLES / "allotment-meeting.json", "qmsum")
    assert isinstance(meeting, ImportedConversation)
    sources = {**conversations, meeting.external_id: meeting}
    questions: list[dict[str, Any]] = json.loads((SAMPLES / "hard_questions.json").read_text(encoding="utf-8"))
    kinds = {question["kind"] for question in questions}
    assert kinds == {"cold", "two_branches", "long_meeting", "time", "nothing"}
    for question in questions:
        assert bool(question["sources"]) == (question["kind"] != "nothing")
        for source in question["sources"]:
            ids = {message.external_id for message in sources[source["conversation"]].messages}
            assert set(source["messages"]) <= ids
            assert source["messages"]


@pytest.mark.parametrize("name", FORMATS)
def test_example_of_a_format_can_be_imported(name: str, tmp_path: Path) -> None:
    (example,) = (SAMPLES / "formats").glob(f"{name}.*")
    path = tmp_path / "example.txt"
    if name == "slack":  # the example is one file of the zip
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(example, "general/2024-05-20.json")
    else:
        path.write_bytes(example.read_bytes())
    assert detect_format(path) == name
    assert [type(item) for item in read_conversations(path, name)] == [ImportedConversation]


def test_questions_about_documents_name_words_of_their_pages() -> None:
    pages = {name.partition(".")[0]: content for name, content in documents() if name.endswith(".md")}
    records = {path.stem: path.read_bytes() for path in (PROJECT_ROOT / "docs" / "adr").glob("*.md")}
    texts = {name: _flat(content.decode()) for name, content in {**pages, **records}.items()}
    texts["caldera"] = _flat((SAMPLES / "documents" / "caldera.html").read_text(encoding="utf-8"))
    questions = read_questions(QUESTIONS)
    answered = [one for one in questions if all(_flat(said) in texts[Path(one.category).stem] for said in one.sources)]
    assert len(answered) >= 85, [one.text for one in questions if one not in answered]  # pages change


def test_statements_are_pairs_in_both_halves() -> None:
    given = statements()
    assert len({one.name for one in given}) == len(given)
    assert len({one.language for one in given}) >= 8
    pairs = [(half_of(one.name), one.said, text) for one in given for _, text in one.pairs]
    assert all(said != text for _, said, text in pairs)
    assert min(Counter(half for half, *_ in pairs).values()) >= 75


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())
