"""A graph with digests: a node with two shared memories and a private one in one week, and a persona that reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph.navigation import find_node
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.knowledge import digesting, digests
from neurigraph_pipelines.model import Claims, NodeType, Privacy, SubjectType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.views.digests import Digest
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context, rows, stored


@dataclass(slots=True)
class DigestedGraph:
    """One graph, its digests, and those who read it."""

    here: Installation
    user: User
    claims: Claims
    sources: list[UUID]
    records: list[UUID]
    persona: Claims

    @property
    def context(self) -> Context:
        """The context of the owner."""
        return plain_context(self.here).acting_for(self.claims)

    @property
    def node_id(self) -> UUID:
        """The node of all memories."""
        with self.here.database.agent(self.claims) as tx:
            return find_node(tx, self.user.user_id, "Home")

    def say(self, text: str, node: str = "Home") -> tuple[UUID, UUID]:
        """Store a conversation in a node; return its source and its record."""
        source_id = converse(self.here, self.claims, f"#{node} {text}")
        (record,) = stored(ingest(plain_context(self.here), self.user))
        return source_id, record.record_id

    def sweep(self, limit: int = 100) -> digesting.Digested:
        """Make what is due."""
        return digesting.sweep(self.context, limit, self.user.user_id)

    def seen(self, claims: Claims | None = None) -> list[Digest]:
        """Return the digests that a caller sees."""
        found = digests.page_of_digests(self.here.listing(claims or self.claims))
        return list(found.items)

    def rows(self, query: str) -> list[dict[str, Any]]:
        """Return rows, with the user's id as the one parameter."""
        return rows(self.here, query, self.user.user_id)


def new_digested_graph(here: Installation) -> DigestedGraph:
    """Create the graph for a new user, without digests."""
    user, claims = new_user(here)
    graph = DigestedGraph(here, user, claims, [], [], claims)
    for text in ("Ana repaired the bicycle.", "Ana sold the bicycle.", "Ana hid the money in the teapot."):
        source_id, record_id = graph.say(text)
        graph.sources.append(source_id)
        graph.records.append(record_id)
    set_privacy(here.database, claims, graph.sources[2], Privacy.PRIVATE)
    persona = sharing.add_node(here.database, claims, user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    sharing.grant(here.database, claims, sharing.Subject(SubjectType.PERSONA, str(persona)), graph.node_id)
    graph.persona = Claims(str(persona), "persona", user.user_id)
    return graph
