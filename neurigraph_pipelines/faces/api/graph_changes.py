"""Changes to the graph: move records, and rename, move, merge and split nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.preconditions import NodeGuard, RecordGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.graph import moving, reshaping
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.model import ConceptKind
from neurigraph_pipelines.views.graph import GraphChange

router = APIRouter(tags=["graph"], responses=documented(401, 403, 404, 409, 412, 422, 503))

_DRY_RUN = Field(default=False, description="Return the planned changes, and change nothing.")
_NAME_SCHEMA: JsonDict = {"minLength": 1, "maxLength": MAX_NAME_LENGTH}


class MoveRecord(Form):
    """The node to move a record to."""

    node_id: UUID
    dry_run: bool = _DRY_RUN


class ChangeNode(Form):
    """A new name or a new parent of a node: exactly one of them."""

    name: str | None = Field(default=None, json_schema_extra=_NAME_SCHEMA)
    parent_node_id: UUID | None = None
    dry_run: bool = _DRY_RUN

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.name is None) == (self.parent_node_id is None):
            raise ValueError("give either name or parent_node_id")
        return self


class Merge(Form):
    """The node to merge this one into."""

    into_node_id: UUID
    dry_run: bool = _DRY_RUN


class Split(Form):
    """A new node, and the records that move to it: those that meet all the conditions."""

    name: str = Field(json_schema_extra=_NAME_SCHEMA)
    kind: ConceptKind = ConceptKind.TOPIC
    beside: bool = Field(default=False, description="Create the new node beside this one instead of below it.")
    record_ids: list[UUID] | None = Field(default=None, max_length=moving.MAX_RECORDS)
    keyword: str | None = Field(default=None, description="A keyword of the records; case is ignored.")
    occurred_after: datetime | None = Field(default=None, description="Records of events at this time or later.")
    occurred_before: datetime | None = Field(default=None, description="Records of events before this time.")
    dry_run: bool = _DRY_RUN

    @property
    def chosen(self) -> moving.RecordFilter:
        """The conditions as a domain value."""
        return moving.RecordFilter(self.record_ids, self.keyword, self.occurred_after, self.occurred_before)


@router.post("/records/{record_id}/move")
def move_record(
    record_id: UUID, body: MoveRecord, caller: Caller, installation: InstallationDep, guard: RecordGuard
) -> GraphChange:
    """Move a record to another node, with its file, its history and its state."""
    look(installation, caller, node_id=body.node_id)
    return moving.move_records(
        installation.database, caller, [record_id], body.node_id, dry_run=body.dry_run, guard=guard
    )


@router.patch("/nodes/{node_id}")
def change_node(
    node_id: UUID, body: ChangeNode, caller: Caller, installation: InstallationDep, guard: NodeGuard
) -> GraphChange:
    """Rename a node, which keeps its old name as an alias, or move it with all nodes below it."""
    database = installation.database
    if body.name is not None:
        return reshaping.rename_node(database, caller, node_id, body.name, dry_run=body.dry_run, guard=guard)
    assert body.parent_node_id is not None
    look(installation, caller, parent_node_id=body.parent_node_id)
    return reshaping.move_node(database, caller, node_id, body.parent_node_id, dry_run=body.dry_run, guard=guard)


@router.post("/nodes/{node_id}/merge")
def merge(node_id: UUID, body: Merge, caller: Caller, installation: InstallationDep, guard: NodeGuard) -> GraphChange:
    """Move the records, children, edges and names of this node into another, and remove this node.

    Children with the same name are merged in the same way. Grants of removed nodes end.
    """
    look(installation, caller, into_node_id=body.into_node_id)
    return reshaping.merge_nodes(
        installation.database, caller, node_id, body.into_node_id, dry_run=body.dry_run, guard=guard
    )


@router.post("/nodes/{node_id}/split")
def split(node_id: UUID, body: Split, caller: Caller, installation: InstallationDep, guard: NodeGuard) -> GraphChange:
    """Move some records of a node to a new node."""
    return moving.split_node(
        installation.database,
        caller,
        node_id,
        body.name,
        body.chosen,
        beside=body.beside,
        kind=body.kind,
        dry_run=body.dry_run,
        guard=guard,
    )
