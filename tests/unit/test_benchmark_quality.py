"""The quality benchmark: reading its data and counting recall."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.measure import DEPTHS, WORDS, recalls
from benchmarks.quality.questions import CATEGORIES, LabelledQuestion, Sample, locomo, qmsum, together
from benchmarks.ranking import fuse_by_rank
from neurigraph_pipelines.model import NewConversation, NewMessage, Role


def sample(*words: int) -> Sample:
    """Messages ``m0``, ``m1`` … of so many words."""
    messages = tuple(NewMessage(Role.USER, "word " * count, external_id=f"m{i}") for i, count in enumerate(words))
    return Sample("sample", (NewConversation("talk", messages),), ())


def test_recall_at_depth_and_words() -> None:
    given = sample(WORDS - 1, 1, 1, *[1] * 20)
    asked = LabelledQuestion("?", frozenset({"m1", "m2"}), "any")
    assert DEPTHS == (1, 5, 10, 20)
    assert recalls(["m1", "m3", "m2"], asked, given) == (0.5, 1.0, 1.0, 1.0, 1.0)
    assert recalls(["m0", "m1", "m2"], asked, given) == (0.0, 1.0, 1.0, 1.0, 0.5)
    assert recalls([f"m{i}" for i in range(22, 0, -1)], asked, given) == (0.0, 0.0, 0.0, 0.0, 1.0)
    assert recalls([], asked, given) == (0.0,) * 5


def test_fusion_prefers_common_hits() -> None:
    fused = fuse_by_rank(lambda _: ["a", "b", "c", "d"], lambda _: ["d", "b", "a", "c"])
    assert fused("?") == ["a", "b", "d", "c"]


def test_questions_have_existing_evidence(data_folder: Path) -> None:
    assert [(len(s.conversations), len(s.messages), len(s.questions)) for s in locomo()] == [
        (19, 419, 197),
        (29, 629, 260),
        (25, 509, 196),
    ]
    meetings = together("meetings", qmsum())
    assert (len(meetings.conversations), len(meetings.questions)) == (8, 53)
    for given in (*locomo(), meetings):
        assert len(given.messages) == sum(len(conversation.messages) for conversation in given.conversations)
        assert all(asked.evidence <= given.messages.keys() for asked in given.questions)
    assert {asked.category for given in locomo() for asked in given.questions} == set(CATEGORIES.values())


@pytest.mark.parametrize("messages", [1, 3, 4, 9])
def test_prefix_has_answerable_questions_only(messages: int) -> None:
    first, second = sample(1, 1, 1).conversations[0], sample(1, 1, 1, 1, 1, 1).conversations[0].messages[3:]
    questions = (
        LabelledQuestion("early", frozenset({"m0"}), "any"),
        LabelledQuestion("late", frozenset({"m0", "m3"}), "any"),
    )
    beginning = Sample("both", (first, NewConversation("more", second)), questions).beginning(messages)
    assert list(beginning.messages) == [f"m{i}" for i in range(min(messages, 6))]
    assert [asked.text for asked in beginning.questions] == (["early", "late"] if messages > 3 else ["early"])
