"""Seconds that each step took, with the part that the embedder took of them."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from neurigraph_pipelines.model.measuring import Attribute, listen

STEPS = {
    "model.plan": "plan nodes",
    "model.place": "place",
    "model.summarize": "summarise",
    "model.extract_keywords": "extract keywords",
    "ingestion.embed": "embed passages and summaries",
    "ingestion.commit": "commit",
    "model.answer": "answer",
    "ask": "ask, with search and answer",
}
"""What is timed, by the name of its span."""

_EMBEDDER = "model.embed"


class StepTimes:
    """A listener that adds up the seconds of ``STEPS``. Calls that run at the same time count each.

    Attributes:
        calls: Calls by span.
        seconds: Seconds by span.
        embedding: Seconds of these in the embedder.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.embedding: dict[str, float] = {}
        self._lock = threading.Lock()
        self._open = threading.local()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen within the block."""
        stop = listen(self)
        try:
            yield
        finally:
            stop()

    def begin(self, name: str, parent: str | None) -> object:
        """Remember which spans of this thread are open."""
        self._names().append(name)
        return None

    def end(
        self,
        name: str,
        begun: object,
        seconds: float,
        attributes: Mapping[str, Attribute],
        error: type[BaseException] | None,
    ) -> None:
        """Add the seconds of a step, or of the embedder to the steps around it."""
        names = self._names()
        names.pop()
        with self._lock:
            if name in STEPS:
                self.calls[name] += 1
                self.seconds[name] = self.seconds.get(name, 0.0) + seconds
            elif name == _EMBEDDER:
                for outer in STEPS.keys() & names:
                    self.embedding[outer] = self.embedding.get(outer, 0.0) + seconds

    def done(self, name: str, seconds: float, attributes: Mapping[str, Attribute]) -> None:
        """Ignore blocks that hold no other: none of them is a step."""

    def report(self, event: str, values: Mapping[str, float]) -> None:
        """Ignore numbers."""

    def _names(self) -> list[str]:
        names: list[str] | None = getattr(self._open, "names", None)
        if names is None:
            names = self._open.names = []
        return names
