"""Changes to the graph: move records, and rename, move, merge and split nodes."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field, model_validator

from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.preconditions import NodeGuard, RecordGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.requests import Form
from neurigraph_pipelines.faces.api.sight import look
from neurigraph_pipelines.graph import moving, reshaping
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.model import ConceptKind

router = APIRouter(tags=["graph"], responses=documented(401, 403, 404, 409, 412, 422, 503))

_DRY_RUN = Field(default=False, description="Return the planned changes, and change nothing.")
_NAME_SCHEMA: dict[str, Any] = {"minLength": 1, "maxLength": MAX_NAME_LENGTH}


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


class GraphChange(BaseModel):
    """The result of a change to the graph, or of its dry run."""

    node_id: UUID | None = Field(
        description="The node that was changed, or that the records moved to; null if a dry run would create it."
    )
    node_path: str = Field(description="New path of that node.")
    records: int = Field(description="Number of records that moved to another node.")
    nodes_moved: int = Field(description="Number of nodes with a new path, nodes below included.")
    nodes_removed: int = Field(description="Number of nodes that were merged into others.")
    grants_ended: int = Field(description="Number of grants that ended because their node was removed.")
    dry_run: bool


@router.post("/records/{record_id}/move", response_model=GraphChange)
def move_record(
    record_id: UUID, body: MoveRecord, caller: Caller, installation: InstallationDep, guard: RecordGuard
) -> dict[str, Any]:
    """Move a record to another node, with its file, its history and its state."""
    look(installation, caller, node_id=body.node_id)
    return asdict(
        moving.move_records(installation.database, caller, [record_id], body.node_id, dry_run=body.dry_run, guard=guard)
    )


@router.patch("/nodes/{node_id}", response_model=GraphChange)
def change_node(
    node_id: UUID, body: ChangeNode, caller: Caller, installation: InstallationDep, guard: NodeGuard
) -> dict[str, Any]:
    """Rename a node, which keeps its old name as an alias, or move it with all nodes below it."""
    database = installation.database
    if body.name is not None:
        return asdict(reshaping.rename_node(database, caller, node_id, body.name, dry_run=body.dry_run, guard=guard))
    assert body.parent_node_id is not None
    look(installation, caller, parent_node_id=body.parent_node_id)
    return asdict(
        reshaping.move_node(database, caller, node_id, body.parent_node_id, dry_run=body.dry_run, guard=guard)
    )


@router.post("/nodes/{node_id}/merge", response_model=GraphChange)
def merge(
    node_id: UUID, body: Merge, caller: Caller, installation: InstallationDep, guard: NodeGuard
) -> dict[str, Any]:
    """Move the records, children, edges and names of this node into another, and remove this node.

    Children with the same name are merged in the same way. Grants of removed nodes end.
    """
    look(installation, caller, into_node_id=body.into_node_id)
    return asdict(
        reshaping.merge_nodes(
            installation.database, caller, node_id, body.into_node_id, dry_run=body.dry_run, guard=guard
        )
    )


@router.post("/nodes/{node_id}/split", response_model=GraphChange)
def split(
    node_id: UUID, body: Split, caller: Caller, installation: InstallationDep, guard: NodeGuard
) -> dict[str, Any]:
    """Move some records of a node to a new node."""
    return asdict(
        moving.split_node(
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
    )
