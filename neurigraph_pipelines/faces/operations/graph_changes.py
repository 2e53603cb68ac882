"""Changes to the graph: move records, and rename, move, merge and split nodes."""

from __future__ import annotations

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import Field, model_validator
from pydantic.config import JsonDict

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.graph import moving, reshaping
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.model import ConceptKind
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.graph import GraphChange

operation = OperationGroup("graph")

_DRY_RUN = Field(default=False, description="Return the planned changes, and change nothing.")
_NAME_SCHEMA: JsonDict = {"minLength": 1, "maxLength": MAX_NAME_LENGTH}


class MoveRecord(Form):
    """The node to move a record to."""

    node_id: UUID
    dry_run: bool = _DRY_RUN


class MoveRecords(MoveRecord):
    """Records, and the node to move them to."""

    record_ids: list[UUID] = Field(min_length=1, max_length=moving.MAX_RECORDS)


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
    """A new node, and the records that move to it: all that meet the conditions."""

    name: str = Field(json_schema_extra=_NAME_SCHEMA)
    kind: ConceptKind = ConceptKind.TOPIC
    beside: bool = Field(default=False, description="Create the new node beside this one instead of below it.")
    record_ids: list[UUID] | None = Field(default=None, max_length=moving.MAX_RECORDS)
    keyword: str | None = Field(default=None, description="A keyword of the records; case is ignored.")
    occurred_after: datetime | None = Field(default=None, description="Records of events at this time or later.")
    occurred_before: datetime | None = Field(default=None, description="Records of events before this time.")
    dry_run: bool = _DRY_RUN

    @property
    def chosen(self) -> moving.RecordsToMove:
        """The conditions as a domain value."""
        return moving.RecordsToMove(self.record_ids, self.keyword, self.occurred_after, self.occurred_before)


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
    options={"occurred_after": "--after", "occurred_before": "--before"},
)
def split(call: Call, node_id: UUID, body: Split) -> GraphChange:
    """Move some records of a node to a new node."""
    return call.do(
        moving.split_node,
        node_id,
        body.name,
        body.chosen,
        beside=body.beside,
        kind=body.kind,
        dry_run=body.dry_run,
        guard=call.once,
    )
