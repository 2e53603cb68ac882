"""The benchmark of derived content: its reader of labels and its comparison of text with labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bench import SkippedError
from benchmarks.derived.labels import LabelError, Labelled, load, read
from benchmarks.derived.scoring import (
    MEASURES,
    Derived,
    Reply,
    holds_fact,
    is_answered,
    mistakes,
    name_matches,
    relationship_matches,
    scores,
    sentences_of,
)
from neurigraph_pipelines.model import EventKind

EXAMPLE: dict[str, Any] = {
    "id": "90-ana",
    "held_out": False,
    "language": "english",
    "form": "assistant",
    "owner": "nora",
    "title": None,
    "messages": [
        {
            "role": "user",
            "author": "Nora",
            "occurred_at": "2025-03-04T18:02:00+00:00",
            "content": "My sister Ana Ribeiro moved to Porto today. The van was 250 euros.",
        },
        {
            "role": "assistant",
            "author": None,
            "occurred_at": "2025-03-04T18:03:00+00:00",
            "content": "When will you visit her at the Cais do Sodré?",
        },
    ],
    "labels": {
        "dates": ["2025-03-04", "2025-04"],
        "entities": ["Ana Ribeiro", "Porto", "Cais do Sodré"],
        "relationships": [["Ana Ribeiro", "sister", "nora"], ["Ana Ribeiro", "works at", "Northwind"]],
        "facts": [
            {"fact": "Ana moved to Porto.", "words": ["Ana", "Porto", "moved|move"]},
            {"fact": "The van cost 250 euros.", "words": ["van", "250"]},
        ],
        "node": ["Family", "Ana"],
        "questions": [
            {"question": "Where did Ana move?", "answers": ["Porto"]},
            {"question": "What did the van cost?", "answers": ["250|two hundred and fifty"]},
            {"question": "What does Ana earn?", "answers": []},
            {"question": "Who drove the van?", "answers": []},
        ],
    },
}


def labelled(**changed: object) -> Labelled:
    """The example, with other values for some of its fields."""
    return Labelled.model_validate({**EXAMPLE, **changed})


def written(folder: Path, value: Mapping[str, object], name: str = "90-ana") -> Path:
    """A file with that content."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def test_reads_conversations_in_order(tmp_path: Path) -> None:
    written(tmp_path, {**EXAMPLE, "id": "91-last", "form": "meeting", "held_out": True}, "91-last")
    written(tmp_path, EXAMPLE)
    first, last = load(tmp_path)
    assert (first.id, first.half, last.half) == ("90-ana", "development", "held out")
    conversation = first.conversation()
    assert [one.external_id for one in conversation.messages] == ["m1", "m2"]
    assert (conversation.ended_at, conversation.event_kind) == (first.messages[-1].occurred_at, None)
    assert last.conversation().event_kind is EventKind.MEETING


def test_samples_are_conversations_of_twenty_to_sixty_messages() -> None:
    given = load()
    assert len(given) >= 40
    assert [one.id for one in given if not 20 <= len(one.messages) <= 60] == []
    assert sum(one.held_out for one in given) * 2 == len(given)
    for one in given:
        times = [message.occurred_at for message in one.messages]
        assert times == sorted(times), one.id


def test_answers_of_samples_stand_in_messages() -> None:
    missing = [
        f"{one.id}, question {number}"
        for one in load()
        for number, asked in enumerate(one.labels.questions, start=1)
        if not is_answered(asked, [message.content for message in one.messages])
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"id": "other"}, "90-ana.json, id"),
        ({"form": "letter"}, "90-ana.json, form"),
        ({"colour": "red"}, "90-ana.json, colour"),
        ({"owner": "Nora Ito"}, "90-ana.json, owner"),
        ({"messages": []}, "90-ana.json, messages"),
        ({"labels": {**EXAMPLE["labels"], "dates": ["2025-02-30"]}}, "there is no '2025-02-30'"),
        ({"labels": {**EXAMPLE["labels"], "dates": ["4 March"]}}, "'4 March' is no date"),
        ({"labels": {**EXAMPLE["labels"], "facts": [{"fact": "x", "words": []}]}}, "90-ana.json, labels.facts.0.words"),
        ({"labels": {**EXAMPLE["labels"], "node": []}}, "90-ana.json, labels.node"),
    ],
)
def test_wrong_labels_are_refused(tmp_path: Path, changed: dict[str, object], told: str) -> None:
    assert read(written(tmp_path, EXAMPLE)).owner == "nora"
    with pytest.raises(LabelError) as refused:
        read(written(tmp_path, {**EXAMPLE, **changed}))
    assert told in str(refused.value)


def test_what_is_no_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "90-ana.json"
    path.write_bytes(b"{")
    with pytest.raises(LabelError, match=r"90-ana\.json is no JSON"):
        read(path)
    with pytest.raises(SkippedError):
        load(tmp_path / "absent")


def test_scores_of_a_conversation() -> None:
    derived = Derived(
        dates=("2025-03-04", "2024-03-04"),
        entities=("Ana", "Cais do Sodre", "Sodré", "Monday"),
        relationships=("sister: Ana", "brother: Ana"),
        summaries=("Ana is moving to Porto. It was 250 euros for the van.",),
        titles=("Ana moves",),
        paths=(("Family", "Ana"), ("Family",), ("Work", "Ana"), ("Family", "Dave")),
        replies=(
            Reply(("Nora: Ana moved to Porto.",), ("Ana moved.",)),
            Reply(("No.", "250 euros.")),
            Reply(),
            Reply(("Dave.",)),
        ),
    )
    found = {name: (share.right, share.of) for name, share in scores(labelled(), derived).items()}
    assert found == {
        "dates P": (1, 2),
        "dates R": (1, 2),
        "entities P": (3, 4),
        "entities R": (2, 3),
        "relations P": (1, 2),
        "relations R": (1, 2),
        "facts": (2, 2),
        "dependent": (1, 2),
        "node": (2, 4),
        "area": (3, 4),
        "quoted": (2, 2),
        "first": (1, 2),
        "cited": (0, 2),
        "declined": (1, 2),
    }
    assert tuple(found) == MEASURES
    told = list(mistakes(labelled(), derived))
    assert "wrong date: 2024-03-04" in told
    assert "missed date: 2025-04" in told
    assert "wrong entity: Monday" in told
    assert "missed relationship: Ana Ribeiro, works at, Northwind" in told
    assert "wrong node: Work/Ana, not Family/Ana" in told
    assert "wrong answer: Who drove the van? (not known) Dave." in told
    assert not [line for line in told if "fact" in line]


@pytest.mark.parametrize(
    ("found", "label", "expected"),
    [
        ("ANA RIBEIRO", "Ana Ribeiro", True),
        ("Ana", "Ana Ribeiro", True),
        ("the Northwind office", "Northwind", True),
        ("Ana Ribeiro", "Ana Costa", False),
        ("North", "Northwind", False),
        ("", "Ana", False),
    ],
)
def test_names(found: str, label: str, expected: bool) -> None:
    assert name_matches(found, label) is expected


@pytest.mark.parametrize(
    ("found", "label", "expected"),
    [
        ("sister: Ana", ("Ana Ribeiro", "sister", "nora"), True),
        ("older sister: Ana", ("Ana Ribeiro", "sister", "nora"), True),
        ("Nora's sister: Ana", ("Ana Ribeiro", "sister", "nora"), True),
        ("Dave's sister: Ana", ("Ana Ribeiro", "sister", "nora"), False),
        ("Dave's wife: Lena", ("Lena", "wife", "Dave"), True),
        ("sister: Bea", ("Ana Ribeiro", "sister", "nora"), False),
        ("sister-in-law: Ana", ("Ana Ribeiro", "sister", "nora"), False),
        ("works at: Northwind", ("Ana", "works at", "Northwind"), True),
        ("Ana's works at: Northwind", ("Ana", "works at", "Northwind"), True),
        ("Dave's works at: Northwind", ("Ana", "works at", "Northwind"), False),
        ("sister: Nora", ("Ana", "sister", "nora"), False),
        ("Ana", ("Ana", "sister", "nora"), False),
    ],
)
def test_relationships(found: str, label: tuple[str, str, str], expected: bool) -> None:
    assert relationship_matches(found, label, "nora", "english") is expected


def test_sentences() -> None:
    text = "Dr. Costa called. She paid 11.50 to no. 4! “Fine.” Ana left\n- The end"
    assert sentences_of(text, "english") == [
        "Dr. Costa called.",
        "She paid 11.50 to no. 4!",
        "“Fine.”",
        "Ana left",
        "The end",
    ]
    assert sentences_of("Am 14. März kam Ana. Gut.", "german") == ["Am 14. März kam Ana.", "Gut."]
    assert sentences_of(" - ", "english") == []


def test_facts_need_one_sentence() -> None:
    words = ("Ana", "Porto", "moved|went")
    assert holds_fact(["In 2025 Ana is moving to Porto."], words, "english")
    assert holds_fact(["Ana goes to Porto."], words, "english")
    assert holds_fact(["It is on the 29th."], ("29",), "english")
    assert not holds_fact(["It is on the 2nd of March."], ("29",), "english")
    assert not holds_fact(["Ana moved.", "Porto is warm."], words, "english")
    assert not holds_fact([], words, "english")
    assert holds_fact(["It is 1,200 euros, not 12."], ("1,200", "not"), "english")
    assert not holds_fact(["It is 12 euros."], ("1,200",), "english")
    assert holds_fact(["Die Wohnungen kosten 900 Euro."], ("Wohnung", "900"), "german")
