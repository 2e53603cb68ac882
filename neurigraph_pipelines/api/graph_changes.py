"""Changes of the graph: records that lie elsewhere, and nodes that are renamed, moved, merged and split."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field, model_validator

from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.api.requests import Form
from neurigraph_pipelines.graph import moving, reshaping
from neurigraph_pipelines.graph.naming import MAX_NAME_LENGTH
from neurigraph_pipelines.model import ConceptKind

router = APIRouter(tags=["graph"], responses=documented(401, 403, 404, 409, 422, 503))

_DRY_RUN = Field(default=False, description="Say what would be done, and change nothing.")
_NAME_SCHEMA: dict[str, Any] = {"minLength": 1, "maxLength": MAX_NAME_LENGTH}


class MoveRecord(Form):
    """Where a record is to lie."""

    node_id: UUID
    dry_run: bool = _DRY_RUN


class ChangeNode(Form):
    """Another name of a node, or another node for it to lie below: one of them."""

    name: str | None = Field(default=None, json_schema_extra=_NAME_SCHEMA)
    parent_node_id: UUID | None = None
    dry_run: bool = _DRY_RUN

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.name is None) == (self.parent_node_id is None):
            raise ValueError("give a name or a parent_node_id: one of them")
        return self


class Merge(Form):
    """The node that takes over what this one has."""

    into_node_id: UUID
    dry_run: bool = _DRY_RUN


class Split(Form):
    """A new node, and the records that it gets: those of which all that is said is true."""

    name: str = Field(json_schema_extra=_NAME_SCHEMA)
    kind: ConceptKind = ConceptKind.TOPIC
    beside: bool = Field(default=False, description="Beside this node; else below it.")
    record_ids: list[UUID] | None = Field(default=None, max_length=moving.MAX_RECORDS)
    keyword: str | None = Field(default=None, description="One of their keywords, in any case.")
    occurred_after: datetime | None = Field(default=None, description="What happened then or later.")
    occurred_before: datetime | None = Field(default=None, description="What happened before then.")
    dry_run: bool = _DRY_RUN

    @property
    def chosen(self) -> moving.Chosen:
        """The records as the domain takes them."""
        return moving.Chosen(self.record_ids, self.keyword, self.occurred_after, self.occurred_before)


class GraphChange(BaseModel):
    """What was done, or would be."""

    node_id: UUID | None = Field(
        description="The node that was changed, or that what was moved lies in now; null for one that a dry run does "
        "not make."
    )
    node_path: str = Field(description="Where that node lies now.")
    records: int = Field(description="That lie in another node now.")
    nodes_moved: int = Field(description="That lie elsewhere now, with all below them.")
    nodes_removed: int = Field(description="That were merged into others.")
    grants_ended: int = Field(description="Grants of nodes that were removed.")
    dry_run: bool


@router.post("/records/{record_id}/move", response_model=GraphChange)
def move_record(record_id: UUID, body: MoveRecord, caller: Caller, installation: Here) -> dict[str, Any]:
    """Let a record lie in another node, with its file, its history and its state."""
    return asdict(moving.move_records(installation.database, caller, [record_id], body.node_id, dry_run=body.dry_run))


@router.patch("/nodes/{node_id}", response_model=GraphChange)
def change_node(node_id: UUID, body: ChangeNode, caller: Caller, installation: Here) -> dict[str, Any]:
    """Rename a node, which goes on being found by its former name; or move it with all that lies below it."""
    database = installation.database
    if body.name is not None:
        return asdict(reshaping.rename_node(database, caller, node_id, body.name, dry_run=body.dry_run))
    assert body.parent_node_id is not None
    return asdict(reshaping.move_node(database, caller, node_id, body.parent_node_id, dry_run=body.dry_run))


@router.post("/nodes/{node_id}/merge", response_model=GraphChange)
def merge(node_id: UUID, body: Merge, caller: Caller, installation: Here) -> dict[str, Any]:
    """Let another node take over the records, children, edges and names of this one, which is gone then.

    Children that bear the same name become one in the same way. Grants of nodes that go end.
    """
    return asdict(
        reshaping.merge_nodes(installation.database, caller, node_id, body.into_node_id, dry_run=body.dry_run)
    )


@router.post("/nodes/{node_id}/split", response_model=GraphChange)
def split(node_id: UUID, body: Split, caller: Caller, installation: Here) -> dict[str, Any]:
    """Let some records of a node have a node of their own."""
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
        )
    )
