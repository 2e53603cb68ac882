"""The measure of changes of subject."""

from __future__ import annotations

import pytest

from benchmarks.subjects import hits, meetings, p_k, written


@pytest.mark.parametrize(("found", "error"), [([5], 0.0), ([], 0.25), ([6], 0.25), ([5, 8], 0.25)])
def test_p_k(found: list[int], error: float) -> None:
    assert p_k([5], found, 10) == pytest.approx(error, abs=0.16)
    assert (p_k([5], found, 10) == 0) == (error == 0)


def test_a_boundary_is_found_once() -> None:
    assert hits([4, 5], [4], near=1) == 1
    assert hits([4, 9], [5, 8, 12], near=1) == 2
    assert hits([4], [6], near=1) == 0


def test_written_talks_are_whole() -> None:
    talks = written()
    assert len(talks) == len({talk.name for talk in talks}) == 40
    for talk in talks:
        assert len(talk.titles) == len(talk.boundaries) + 1
        assert all(0 < len(title) <= 60 for title in talk.titles)
        assert [message.seq for message in talk.messages] == list(range(1, len(talk.subjects) + 1))
    assert {talk.half for talk in talks} == {"development", "held out"}


def test_topics_of_a_meeting() -> None:
    found = list(meetings())
    if not found:
        pytest.skip("QMSum's meetings are not here: ../shared/data/qmsum")
    assert all(talk.boundaries for talk in found)
