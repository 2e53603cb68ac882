"""Mentions of nodes, evidence of edges, and other names of nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import Field

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.graph import aliases, edge_statements
from neurigraph_pipelines.graph import mention_lists as listing
from neurigraph_pipelines.graph.aliases import MAX_VALUE
from neurigraph_pipelines.model import AliasType, MentionRole, Stance
from neurigraph_pipelines.views import evidence as views

router = APIRouter(tags=["graph"], responses=documented(401, 404, 422, 503))

_Value = Annotated[
    str, Query(min_length=1, max_length=MAX_VALUE, description="A name or an id; case and width are ignored.")
]
_Type = Annotated[AliasType | None, Query(alias="type", description="Only of this type.")]


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


@router.get("/nodes/{node_id}/mentions")
def mentions(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    role: Annotated[MentionRole | None, Query(description="Only in this role.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Mentions:
    """List the memories that speak of a node, the last stored first."""
    found = listing.page_of_mentions(
        installation.database, installation.cursors, caller, node_id, role, limit=limit, cursor=cursor
    )
    return views.Mentions(mentions=found.items, next_cursor=found.next_cursor)


@router.get("/edges/{edge_id}/evidence")
def evidence(
    edge_id: UUID, caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.Evidence:
    """Return an edge with its evidence, the newest first.

    Strength and counts are over the evidence that the caller sees. An edge without any such evidence gets 404.
    """
    edge = listing.edge_of(installation.database, caller, edge_id)
    found = listing.page_of_evidence(
        installation.database, installation.cursors, caller, edge_id, limit=limit, cursor=cursor
    )
    return views.Evidence(edge=edge, evidence=found.items, next_cursor=found.next_cursor)


@router.post(
    "/edges/{edge_id}/evidence",
    status_code=201,
    responses={
        200: {"model": views.StatedEvidence, "description": "You said the same already."},
        **documented(403, 409, 413),
    },
)
def state_evidence(
    edge_id: UUID, body: NewEvidence, response: Response, caller: Caller, installation: InstallationDep, once: Once
) -> views.StatedEvidence:
    """State by hand that an edge holds, has ended, or never was. Only the owner may, and only the owner sees it.

    It counts beside what memories state, until it is taken back. What only ends or denies an edge goes with the last
    memory that states the edge.
    """
    said = edge_statements.EdgeStatement(body.stance, body.valid_from, body.valid_until)
    stated = edge_statements.state_evidence(installation.database, caller, edge_id, said, once)
    response.status_code = 201 if stated.created else 200
    return stated


@router.delete("/edges/{edge_id}/evidence/{evidence_id}", status_code=204, responses=documented(403))
def take_back_evidence(edge_id: UUID, evidence_id: UUID, caller: Caller, installation: InstallationDep) -> None:
    """Take back a statement made by hand about an edge. A memory's statements go with the memory."""
    edge_statements.take_back_evidence(installation.database, caller, edge_id, evidence_id)


@router.get("/nodes/{node_id}/aliases")
def list_aliases(
    node_id: UUID, caller: Caller, installation: InstallationDep, limit: Limit = 50, cursor: Cursor = None
) -> views.Aliases:
    """List the other names and ids of a node, the oldest first."""
    found = listing.page_of_aliases(
        installation.database, installation.cursors, caller, node_id=node_id, limit=limit, cursor=cursor
    )
    return views.Aliases(aliases=found.items, next_cursor=found.next_cursor)


@router.post(
    "/nodes/{node_id}/aliases",
    status_code=201,
    responses=documented(403, 409, 413),
)
def give_alias(
    node_id: UUID, body: NewAlias, caller: Caller, installation: InstallationDep, once: Once
) -> views.NodeAlias:
    """Give a node another name or an id, which stands until somebody removes it."""
    return aliases.give_alias(
        installation.database, caller, node_id, body.type, body.value, verified=body.verified, guard=once
    )


@router.delete("/nodes/{node_id}/aliases", responses=documented(403))
def remove_alias(
    node_id: UUID, caller: Caller, installation: InstallationDep, value: _Value, alias_type: _Type = None
) -> views.RemovedAliases:
    """Remove a name or an id of a node. Memories that use a name may add it again."""
    removed = aliases.remove_alias(installation.database, caller, node_id, value, alias_type)
    return views.RemovedAliases(removed=removed)


@router.get("/aliases")
def find_aliases(
    caller: Caller,
    installation: InstallationDep,
    value: _Value,
    alias_type: _Type = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> views.Aliases:
    """Find the visible nodes that have a name as an alias, or an id."""
    found = listing.page_of_aliases(
        installation.database,
        installation.cursors,
        caller,
        value=value,
        alias_type=alias_type,
        limit=limit,
        cursor=cursor,
    )
    return views.Aliases(aliases=found.items, next_cursor=found.next_cursor)
