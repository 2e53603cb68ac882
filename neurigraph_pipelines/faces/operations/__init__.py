"""Operations: each is declared once, and the routes of the API and the commands follow from its declaration."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neurigraph_pipelines.faces.operations.registry import Operation, OperationGroup

SUBJECTS = (
    "inbox",
    "sources",
    "search",
    "accounts",
    "files",
    "nodes",
    "memories",
    "facts",
    "digests",
    "links",
    "graph_changes",
    "evidence",
    "erasures",
    "sharing",
    "organizations",
    "spaces",
    "webhooks",
    "actions",
    "quarantines",
    "retention",
    "failures",
)
"""Modules of this room with operations, in the order of the documentation of the API."""


def subjects() -> Iterator[OperationGroup]:
    """Yield the subjects with their operations."""
    for name in SUBJECTS:
        yield import_module(f"{__name__}.{name}").operation


@cache
def declarations() -> Mapping[Callable[..., object], Operation]:
    """Return the declarations of operations by their functions."""
    return {one.function: one for subject in subjects() for one in subject.operations}


def operations_of(tool: str) -> list[Operation]:
    """Return the operations that a tool for agents does."""
    return [one for subject in subjects() for one in subject.operations if one.tool == tool]
