"""Mentions of nodes, evidence of edges, and other names of nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph import aliases, edge_statements
from neurigraph_pipelines.graph import mention_lists as listing
from neurigraph_pipelines.graph.aliases import MAX_VALUE
from neurigraph_pipelines.model import AliasType, MentionRole, Stance
from neurigraph_pipelines.views import evidence as views
from neurigraph_pipelines.views.base import Form

operation = OperationGroup("graph")

_Value = Annotated[
    str, Field(min_length=1, max_length=MAX_VALUE, description="A name or an id; case and width are ignored.")
]
_Type = Annotated[AliasType | None, Field(alias="type", description="Only of this type.")]


class NewAlias(Form):
    """Another name or a typed id of a node."""

    value: str = Field(json_schema_extra={"minLength": 1, "maxLength": MAX_VALUE})
    type: AliasType = AliasType.NAME
    verified: bool = Field(default=False, description="Whether you vouch for it.")


class NewEvidence(Form):
    """A statement about an edge."""

    stance: Stance = Field(description="`asserts` that it holds, `ends` it, or `denies` that it ever held.")
    valid_from: datetime | None = Field(default=None, description="Since when it holds, or does not; not of an end.")
    valid_until: datetime | None = Field(default=None, description="Until when. Default of an end: now.")


@operation("GET /nodes/{node_id}/mentions", "node mentions")
def mentions(
    call: Call,
    node_id: UUID,
    role: Annotated[MentionRole | None, Field(description="Only in this role.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Mentions:
    """List the memories that speak of a node, the last stored first."""
    return call.page(views.Mentions, listing.page_of_mentions, node_id, role, limit=limit, cursor=cursor)


@operation("GET /edges/{edge_id}/evidence", "node evidence list")
def evidence(call: Call, edge_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> views.Evidence:
    """Return an edge with its evidence, the newest first.

    Strength and counts are over the evidence that the caller sees. An edge without any such evidence gets 404.
    """
    edge = call.do(listing.edge_of, edge_id)
    found = listing.page_of_evidence(call.listing(limit, cursor), edge_id)
    return views.Evidence(edge=edge, evidence=found.items, next_cursor=found.next_cursor)


@operation(
    "POST /edges/{edge_id}/evidence",
    "node evidence add",
    status=201,
    refusals=(409,),
    answers={200: {"model": views.StatedEvidence, "description": "You said the same already."}},
)
def state_evidence(call: Call, edge_id: UUID, body: NewEvidence) -> views.StatedEvidence:
    """State by hand that an edge holds, has ended, or never was. Only the owner may, and only the owner sees it.

    It counts beside what memories state, until it is taken back. What only ends or denies an edge goes with the last
    memory that states the edge.
    """
    said = edge_statements.EdgeStatement(body.stance, body.valid_from, body.valid_until)
    stated = call.do(edge_statements.state_evidence, edge_id, said, call.once)
    call.told.status = 201 if stated.created else 200
    return stated


@operation("DELETE /edges/{edge_id}/evidence/{evidence_id}", "node evidence remove", status=204)
def take_back_evidence(call: Call, edge_id: UUID, evidence_id: UUID) -> None:
    """Take back a statement made by hand about an edge. A memory's statements go with the memory."""
    call.do(edge_statements.take_back_evidence, edge_id, evidence_id)


@operation("GET /nodes/{node_id}/aliases", "node alias list")
def list_aliases(call: Call, node_id: UUID, limit: Limit = 50, cursor: Cursor = None) -> views.Aliases:
    """List the other names and ids of a node, the oldest first."""
    return call.page(views.Aliases, listing.page_of_aliases, node_id=node_id, limit=limit, cursor=cursor)


@operation("POST /nodes/{node_id}/aliases", "node alias add", status=201, refusals=(409,))
def give_alias(call: Call, node_id: UUID, body: NewAlias) -> views.NodeAlias:
    """Give a node another name or an id, which stands until somebody removes it."""
    return call.do(aliases.give_alias, node_id, body.type, body.value, verified=body.verified, guard=call.once)


@operation("DELETE /nodes/{node_id}/aliases", "node alias remove")
def remove_alias(call: Call, node_id: UUID, value: _Value, alias_type: _Type = None) -> views.RemovedAliases:
    """Remove a name or an id of a node. Memories that use a name may add it again."""
    removed = call.do(aliases.remove_alias, node_id, value, alias_type)
    return views.RemovedAliases(removed=removed)


@operation("GET /aliases", "node find")
def find_aliases(
    call: Call, value: _Value, alias_type: _Type = None, limit: Limit = 50, cursor: Cursor = None
) -> views.Aliases:
    """Find the visible nodes that have a name as an alias, or an id."""
    return call.page(
        views.Aliases, listing.page_of_aliases, value=value, alias_type=alias_type, limit=limit, cursor=cursor
    )
