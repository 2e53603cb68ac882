"""Placement of batches: order, concurrency, isolation of failures and users."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from neurigraph_pipelines.ingestion.assign import assign_batch
from neurigraph_pipelines.model import Alias, ItemFailure, Outline, OutlineNode, Placement, Segment
from neurigraph_pipelines.model.errors import ProviderError, TransientError
from resources.offline.language_model import OfflineLanguageModel
from tests.support.proposals import MARTA, START, USER, outline, person, placed, segment_of, topic


class Scripted(OfflineLanguageModel):
    """Places by the time of the segment as written down, and keeps which outlines it was shown."""

    def __init__(self, answers: dict[datetime, list[Placement] | Exception], concurrency: int = 1) -> None:
        super().__init__(None)
        self.concurrency = concurrency
        self.seen: dict[datetime, Outline] = {}
        self.threads: set[str] = set()
        self._answers = answers

    def place(self, segment: Segment, outline: Outline) -> list[Placement]:
        self.seen[segment.occurred_at] = outline
        self.threads.add(threading.current_thread().name)
        answer = self._answers[segment.occurred_at]
        if isinstance(answer, Exception):
            raise answer
        return answer


def days(*answers: list[Placement] | Exception) -> tuple[list[Segment], dict[datetime, list[Placement] | Exception]]:
    times = [START + timedelta(days=n) for n in range(len(answers))]
    return [segment_of([None] * 4, at=at) for at in times], dict(zip(times, answers, strict=True))


def test_batch_is_ordered_and_sees_own_plans() -> None:
    segments, answers = days([placed(topic("Business"), person("Dave"))], [placed(topic("Hobbies"), person("Dave"))])
    model = Scripted(answers)
    done: list[UUID] = []
    later, earlier = assign_batch(segments[::-1], {}, model, 0.75, lambda ref: done.append(ref.trigger_id))
    assert isinstance(earlier, list)
    assert isinstance(later, list)
    assert earlier[0].path == ("Business", "Dave")
    assert later[0].path == ("Hobbies",)
    assert later[0].edges[0].to_path == ("Business", "Dave")
    assert ("Business", "Dave") in {node.path for node in model.seen[segments[1].occurred_at].nodes}
    assert done == [segment.ref.trigger_id for segment in segments]


def test_placement_uses_nodes_planned_by_neighbour() -> None:
    segments, answers = days([placed(topic("Business"))], [placed(topic("Business", 0.0), topic("Products"))])
    _, second = assign_batch(segments, {}, Scripted(answers), 0.75)
    assert isinstance(second, list)
    assert [node.path for node in second[0].new_nodes] == [("Business",), ("Business", "Products")]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_failure_is_isolated(concurrency: int) -> None:
    segments, answers = days(
        [placed(topic("Business"))],
        TransientError("Asked to wait.", retry_after=7.0),
        ProviderError("Refused."),
        OSError("surprise"),
        KeyError("defect"),
        [placed(topic("Business", 0.1))],
    )
    first, wait, refused, surprise, defect, last = assign_batch(segments, {}, Scripted(answers, concurrency), 0.75)
    assert isinstance(first, list)
    assert isinstance(last, list)
    assert last[0].path == ("Business",)
    assert isinstance(wait, ItemFailure)
    assert (wait.step, wait.transient, wait.retry_after) == ("assign_nodes", True, 7.0)
    assert isinstance(refused, ItemFailure)
    assert (refused.transient, refused.error) == (False, "Refused.")
    assert isinstance(surprise, ItemFailure)
    assert surprise.transient
    assert surprise.error.startswith("OSError")
    assert isinstance(defect, list)
    assert [(one.path, one.left_out) for one in defect] == [((), "filing (KeyError)")]
    assert wait.trigger_id == segments[1].ref.trigger_id


def test_concurrent_calls_agree_on_one_person() -> None:
    both = [placed(topic("Business"), person("Dave"))], [placed(topic("Hobbies"), person("Dave"))]
    segments, answers = days(*both)
    model = Scripted(answers, concurrency=4)
    first, second = assign_batch(segments, {USER: outline("Home")}, model, 0.75)
    assert all(seen.nodes for seen in model.seen.values())
    assert not any(name.startswith("MainThread") for name in model.threads)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert second[0].path == ("Hobbies",)
    assert first[0].path == ("Business", "Dave")


def test_users_are_isolated() -> None:
    segments, answers = days([placed(topic("Business"))], [placed(topic("Business", 0.1))])
    stranger = segment_of([None] * 4, at=segments[1].occurred_at, user=UUID(int=2))
    first, second = assign_batch([segments[0], stranger], {}, Scripted(answers), 0.75)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert first[0].path == ("Business",)
    assert second[0].path == ()


def test_batch_equals_one_by_one() -> None:
    segments, answers = days(
        [placed(topic("Business"), person("Dave"))],
        [placed(topic("Hobbies"), person("Dave"))],
        [placed(topic("Business", 0.2), topic("Products"))],
    )
    together = assign_batch(segments, {}, Scripted(answers), 0.75)
    nodes: list[OutlineNode] = []
    for segment, expected in zip(segments, together, strict=True):
        (alone,) = assign_batch([segment], {USER: Outline(tuple(nodes))}, Scripted(answers), 0.75)
        assert isinstance(alone, list)
        assert isinstance(expected, list)
        assert [(f.path, f.edges, f.notes) for f in alone] == [(f.path, f.edges, f.notes) for f in expected]
        nodes += [OutlineNode(n.path, n.kind, n.summary, n.keywords, n.aliases) for f in alone for n in f.new_nodes]


def test_later_segments_know_earlier_ones() -> None:
    named = replace(placed(topic("Business"), person("Dave"), relations=(MARTA,)), aliases=(Alias("Dave", "Davy"),))
    segments, answers = days(
        [named],
        [placed(topic("Business"), person("Davy", 0.1), relations=(MARTA,))],
        [placed(topic("Hobbies"), relations=(MARTA,))],
        [placed(topic("Hobbies"), person("Marta"))],
    )
    first, second, third, fourth = assign_batch(segments, {}, Scripted(answers), 0.75)
    assert isinstance(first, list)
    assert isinstance(second, list)
    assert isinstance(third, list)
    assert isinstance(fourth, list)
    assert second[0].path == ("Business", "Dave")
    assert [node.path for node in third[0].beside] == [("Business", "Marta")]
    assert fourth[0].path == ("Hobbies",)
    assert fourth[0].edges[0].to_path == ("Business", "Marta")
