"""Changes to the graph: move records, and rename, move, merge and split nodes."""

from __future__ import annotations

from typing import Self
from uuid import UUID

from pydantic import Field, model_validator

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph import moving, reshaping
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.graph import GraphChange

operation = OperationGroup("graph")


class MoveRecord(Form):
    """The node to move a record to."""

    node_id: UUID
    dry_run: bool = moving.DRY_RUN


class MoveRecords(MoveRecord):
    """Records, and the node to move them to."""

    record_ids: list[UUID] = Field(min_length=1, max_length=moving.MAX_RECORDS)


class ChangeNode(Form):
    """A new name or a new parent of a node: exactly one of them."""

    name: str | None = Field(default=None, json_schema_extra={"minLength": 1, "maxLength": MAX_NAME_LENGTH})
    parent_node_id: UUID | None = None
    dry_run: bool = moving.DRY_RUN

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if (self.name is None) == (self.parent_node_id is None):
            raise ValueError("give either name or parent_node_id")
        return self


class Merge(Form):
    """The node to merge this one into."""

    into_node_id: UUID
    dry_run: bool = moving.DRY_RUN


@operation("POST /records/{record_id}/move", guarded="record_id")
def move_record(call: Call, record_id: UUID, body: MoveRecord) -> GraphChange:
    """Move a record to another node, with its file, its history and its state."""
    return call.do(moving.move_records, [record_id], body.node_id, dry_run=body.dry_run, guard=call.once)


@operation("POST /records/move", "memory move", options={"node_id": "--to"})
def move_records(call: Call, body: MoveRecords) -> GraphChange:
    """Move records to another node, with their files, history and states. Either all are moved or none."""
    return call.do(moving.move_records, body.record_ids, body.node_id, dry_run=body.dry_run, guard=call.once)


@operation("PATCH /nodes/{node_id}", "node edit", guarded="node_id", options={"parent_node_id": "--under"})
def change_node(call: Call, node_id: UUID, body: ChangeNode) -> GraphChange:
    """Rename a node, which keeps its old name as an alias, or move it with all nodes below it."""
    database = call.database
    if body.name is not None:
        return reshaping.rename_node(database, call.caller, node_id, body.name, dry_run=body.dry_run, guard=call.once)
    assert body.parent_node_id is not None
    return reshaping.move_node(
        database, call.caller, node_id, body.parent_node_id, dry_run=body.dry_run, guard=call.once
    )


@operation("POST /nodes/{node_id}/merge", "node merge", guarded="node_id", options={"into_node_id": "--into"})
def merge(call: Call, node_id: UUID, body: Merge) -> GraphChange:
    """Move the records, children, edges and names of this node into another, and remove this node.

    Children with the same name are merged in the same way. Grants of removed nodes end.
    """
    return call.do(reshaping.merge_nodes, node_id, body.into_node_id, dry_run=body.dry_run, guard=call.once)


@operation(
    "POST /nodes/{node_id}/split",
    "node split",
    guarded="node_id",
)
def split(call: Call, node_id: UUID, body: moving.Split) -> GraphChange:
    """Move some records of a node to a new node."""
    return call.do(moving.split_node, node_id, body, guard=call.once)
