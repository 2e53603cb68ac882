"""Step 2 of a search: when the question is embedded, and which shells it rests on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from numpy.typing import NDArray

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import NotFoundError, TransientError
from neurigraph_pipelines.retrieval.query import gathering
from neurigraph_pipelines.retrieval.query.parse import parse
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.settings import Settings
from tests.unit.test_shells import id_of, row_of

NO_SHELLS: dict[str, Any] = dict.fromkeys(row_of())


@dataclass(eq=False)
class Asked:
    """Database and embedder in one; ``events`` is what they were asked, in order."""

    row: dict[str, Any] | None
    is_remote: bool = False
    fails: bool = False
    events: list[str] = field(default_factory=list)
    model: str = "words"
    dimensions: int = 3
    prefix_trained: bool = False
    max_tokens: int = 100

    def embed(self, texts: Any, kind: str) -> NDArray[np.float32]:
        self.events.append(f"embed {texts[0]}")
        if self.fails:
            raise TransientError("down")
        return np.ones((1, 3), np.float32)

    @contextmanager
    def asking(
        self, _claims: Any, _statement: Any, parameters: Mapping[str, Any], **_how: Any
    ) -> Iterator[Callable[[], list[dict[str, Any]]]]:
        rows = self.ask(_claims, _statement, parameters)
        yield lambda: rows

    def ask(self, _claims: Any, _statement: Any, parameters: Mapping[str, Any], **_how: Any) -> list[dict[str, Any]]:
        self.events.append(f"ask {parameters['known_version']}")
        return [self.row] if self.row is not None else []


def gate_row(version: str, shells: dict[str, Any] | None = None) -> dict[str, Any]:
    """A row of ``neurigraph.search_gate``; without shells those of the version are known."""
    rest = dict.fromkeys(("words", "said_by", "unstored_version", "unstored_horizon", "unstored"))
    return (shells if shells is not None else NO_SHELLS) | rest | {"data_version": version}


def gather(asked: Asked, query: str = "boats of Dave", **more: Any) -> Any:
    claims = Claims.of_user(UUID(int=7))
    context = Context(SimpleNamespace(database=asked, embedder=asked, settings=Settings()), claims)
    asked.events.clear()
    return gathering.gather(context, parse(Question(query, **more), "english"))


@pytest.mark.parametrize("is_remote", [False, True])
def test_question_is_embedded_once(is_remote: bool) -> None:
    asked = Asked(gate_row("1", row_of()), is_remote)
    first = gather(asked)
    assert asked.events == ["ask None", "embed boats of"], "the speaker's name is known only from the shells"
    asked.row = gate_row("1")
    again = gather(asked)
    assert asked.events == (["embed boats of", "ask 1"] if is_remote else ["ask 1", "embed boats of"])
    assert again.view.shells is first.view.shells


@pytest.mark.parametrize("is_remote", [False, True])
def test_shells_that_changed_meanwhile_count(is_remote: bool) -> None:
    asked = Asked(gate_row("1", row_of()), is_remote)
    gather(asked)
    asked.row = gate_row("2", row_of(edges=[(2, 3)], version="2"))
    gathered = gather(asked)
    assert sorted(asked.events) == ["ask 1", "embed boats of"], "the same text is not embedded again"
    assert gathered.view.scores.linked[3] > 0
    asked.row = gate_row("3", row_of(version="3") | {"speakers": []})
    assert gather(asked).view.speakers == ()
    assert asked.events[-1] == "embed boats of Dave", "nobody of that name speaks any more"


def test_without_vectors_of_the_same_model_nothing_is_compared() -> None:
    other = gather(Asked(gate_row("1", row_of()), model="other")).view
    assert (other.passage_vector, other.embedding.passage is None) == (None, False)
    down = gather(Asked(gate_row("1", row_of()), fails=True)).view
    assert (down.record_vector, down.embedding.record) == (None, None)


def test_nothing_is_gathered_for_who_sees_nothing() -> None:
    assert gather(Asked(None)) is None
    assert gather(Asked(gate_row("1", NO_SHELLS))) is None
    for row in (None, gate_row("1", row_of())):
        with pytest.raises(NotFoundError):
            gather(Asked(row), node_id=id_of(99))
