"""A language model that gives fixed answers."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from neurigraph_pipelines.model import Quotable, Statement
from tests.support.memories import PlainModel


class SayingModel(PlainModel):
    """A model with fixed answers that records its input."""

    def __init__(self, *statements: Statement, fault: Exception | None = None) -> None:
        super().__init__()
        self.statements, self.fault = statements, fault
        self.given: list[Quotable] = []

    def answer(self, question: str, asked_at: datetime, quotable: Sequence[Quotable]) -> list[Statement]:
        self.given = list(quotable)
        if self.fault is not None:
            raise self.fault
        return list(self.statements)
