"""Answers to graph queries: facts, and the paths between them."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from neurigraph_pipelines.views.base import View
from neurigraph_pipelines.views.facts import FoundFact
from neurigraph_pipelines.views.kinds import EndKind


class WalkedEnd(View):
    """A memory on a path: a fact, a record, a node or a source."""

    kind: EndKind
    id: UUID
    label: str | None = Field(description="A fact: its statement. A node or source: its name. A record: its node.")


class WalkedLink(View):
    """A link of a path, in the direction in which it is stated."""

    link_id: UUID | None = Field(description="Null for versions, verdicts, and statements of a memory.")
    from_id: UUID
    to_id: UUID
    relation: str
    strength: Annotated[float, AfterValidator(lambda strength: round(strength, 6))]


class RelatedFact(View):
    """A fact that is related to a match, with how."""

    fact: FoundFact
    path: list[WalkedEnd] = Field(description="From a match to this fact, both included.")
    links: list[WalkedLink] = Field(description="The link from each memory of the path to the next.")
    path_description: str = Field(description="The path in words.")
    hops: int


class WalkedGraph(View):
    """All memories on the paths, and the links between them."""

    nodes: list[WalkedEnd]
    links: list[WalkedLink]


class QueriedFacts(View):
    """The facts that a graph query begins at, and related facts."""

    matches: list[FoundFact]
    related: list[RelatedFact]
    graph: WalkedGraph | None = Field(default=None, description="Only with `include_graph`.")
    notes: list[str] = Field(description="The parts that the answer lacks, such as memories beyond its bounds.")
