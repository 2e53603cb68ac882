"""The context: adapters are read on use, and copies differ only in what was replaced."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.context import Context

CLAIMS = Claims.of_user(UUID(int=1))


class CountedSource:
    def __init__(self) -> None:
        self.reads: list[str] = []

    def __getattr__(self, name: str) -> Any:
        self.reads.append(name)
        return f"the {name}"


def test_adapter_is_read_on_use() -> None:
    source = CountedSource()
    another: Any = "another"
    context: Any = Context(source).acting_for(CLAIMS).using(embedder=another)
    assert source.reads == []
    assert [context.database, context.embedder, context.tokens] == ["the database", "another", "the tokens"]
    assert source.reads == ["database", "tokens"]


def test_copy_leaves_the_original_alone() -> None:
    context: Any = Context(SimpleNamespace(embedder="one", objects="store"))
    other = context.using(embedder="two").using(objects="elsewhere")
    assert (context.embedder, context.objects) == ("one", "store")
    assert (other.embedder, other.objects) == ("two", "elsewhere")


def test_claims_need_a_caller() -> None:
    context = Context(SimpleNamespace())
    assert context.acting_for(CLAIMS).claims == CLAIMS
    with pytest.raises(RuntimeError, match="acting_for"):
        _ = context.claims
