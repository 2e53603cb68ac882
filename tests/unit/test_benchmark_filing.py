"""The measure of filing into a tree that exists."""

from __future__ import annotations

import pytest

from benchmarks.filing import OWNER, Outcome, Subject, figures, filed, written
from neurigraph_pipelines.model import ConceptKind, NodeProposal, Outline, Placement, Segment
from resources.offline.language_model import OfflineLanguageModel


class Decided(OfflineLanguageModel):
    """A model that always answers with one path."""

    def __init__(self, path: str) -> None:
        super().__init__(None)
        kind = ConceptKind.TOPIC
        self._steps = tuple(NodeProposal(name, kind, 1.0) for name in path.split("/") if name)

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        return [Placement(self._steps, 1, len(segment.messages))]


def subject(name: str) -> Subject:
    return next(one for one in written() if one.name == name)


@pytest.mark.parametrize(
    ("path", "is_exact", "is_right", "is_foreign"),
    [
        ("Hobbies/Fishing", True, True, False),
        ("Hobbies", False, True, False),
        ("Hobbies/Fishing/Pike", False, True, False),
        ("Hobbies/Apple trees", False, False, False),
        ("Home", False, False, True),
        ("Business/Dave", False, False, True),
        ("", False, False, False),
    ],
)
def test_outcome(path: str, is_exact: bool, is_right: bool, is_foreign: bool) -> None:
    outcome = filed(subject("pike-spinners"), Decided(path))
    assert (outcome.is_exact, outcome.is_right, outcome.is_foreign) == (is_exact, is_right, is_foreign)


def test_other_names_of_an_area() -> None:
    assert filed(subject("release-date"), Decided("Business/Atlas")).is_foreign is False


def test_figures() -> None:
    right = Outcome(subject("passport"), ("Travel",), is_exact=True, is_right=True, is_foreign=False, is_found=True)
    root = Outcome(subject("passport"), (), is_exact=False, is_right=False, is_foreign=False, is_found=True)
    assert figures([right, root]) == ["2", "0.500", "0.500", "1.00", "1.00", "0.500"]


def test_written_subjects_are_whole() -> None:
    subjects = written()
    assert len(subjects) == len({one.name for one in subjects}) >= 150
    assert {one.language for one in subjects} == {"en", "de", "es", "fr", "it"}
    assert {one.half for one in subjects} == {"development", "held out"}
    for one in subjects:
        assert one.segment.ref.user_id == OWNER
        assert [message.seq for message in one.segment.messages] == list(range(1, len(one.segment.messages) + 1))
        assert all(len(path) <= 5 and all(path) for path in one.nodes)
