"""The quality benchmark: reading its data and counting recall."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.quality.application import Found
from benchmarks.quality.measure import DEPTHS, SESSIONS, WORDS, scores
from benchmarks.quality.questions import beam, locomo, qmsum, together
from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, Role
from neurigraph_pipelines.runtime.evaluation.published import CATEGORIES
from neurigraph_pipelines.runtime.evaluation.ranking import fuse_by_rank
from neurigraph_pipelines.runtime.evaluation.samples import LabelledQuestion, Sample


def sample(*words: int) -> Sample:
    """Messages ``m0``, ``m1`` … of so many words."""
    messages = tuple(IncomingMessage(Role.USER, "word " * count, external_id=f"m{i}") for i, count in enumerate(words))
    return Sample("sample", (ImportedConversation("talk", messages),), ())


def test_recall_of_messages_and_words() -> None:
    given = sample(WORDS - 1, 1, 1, *[1] * 20)
    asked = LabelledQuestion("?", frozenset({"m1", "m2"}), "any")
    assert (DEPTHS, SESSIONS) == ((1, 5, 10, 20), (1, 5))

    def of_messages(*names: str) -> tuple[float, ...]:
        return scores(Found(list(names), []), asked, given)[:7]

    assert of_messages("m1", "m3", "m2") == (0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    assert of_messages("m0", "m1", "m2") == (0.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.5)
    assert of_messages(*(f"m{i}" for i in range(22, 0, -1))) == (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1 / 21)
    assert of_messages() == (0.0,) * 7


def test_recall_of_sessions() -> None:
    first, second = sample(1, 1).conversations[0].messages
    given = Sample("both", (ImportedConversation("talk 0", (first,)), ImportedConversation("talk 1", (second,))), ())
    asked = LabelledQuestion("?", frozenset({"m0", "m1"}), "any")
    assert scores(Found([], ["talk 1", "talk 0"]), asked, given)[-2:] == (0.5, 1.0)
    assert scores(Found([], ["another"]), asked, given)[-2:] == (0.0, 0.0)


def test_fusion_prefers_common_hits() -> None:
    fused = fuse_by_rank(lambda _: ["a", "b", "c", "d"], lambda _: ["d", "b", "a", "c"])
    assert fused("?") == ["a", "b", "d", "c"]


def test_questions_have_existing_sources(data_folder: Path) -> None:
    assert [(len(s.conversations), len(s.messages), len(s.questions)) for s in locomo()] == [
        (19, 419, 197),
        (29, 629, 260),
        (25, 509, 196),
    ]
    meetings = together("meetings", qmsum())
    assert (len(meetings.conversations), len(meetings.questions)) == (8, 53)
    chats = beam()
    assert [(len(s.conversations), len(s.messages), len(s.questions)) for s in chats] == [
        (5, 272, 18),
        (3, 200, 18),
        (3, 238, 18),
    ]
    for given in (*locomo(), *chats, meetings):
        assert len(given.messages) == sum(len(conversation.messages) for conversation in given.conversations)
        assert all(asked.sources <= given.messages.keys() for asked in given.questions)
    assert {asked.category for given in locomo() for asked in given.questions} == set(CATEGORIES.values())


@pytest.mark.parametrize("messages", [1, 3, 4, 9])
def test_prefix_has_answerable_questions_only(messages: int) -> None:
    first, second = sample(1, 1, 1).conversations[0], sample(1, 1, 1, 1, 1, 1).conversations[0].messages[3:]
    questions = (
        LabelledQuestion("early", frozenset({"m0"}), "any"),
        LabelledQuestion("late", frozenset({"m0", "m3"}), "any"),
    )
    beginning = Sample("both", (first, ImportedConversation("more", second)), questions).beginning(messages)
    assert list(beginning.messages) == [f"m{i}" for i in range(min(messages, 6))]
    assert [asked.text for asked in beginning.questions] == (["early", "late"] if messages > 3 else ["early"])
