"""Forgetting for good, and the receipts of it. Only the owner of a graph forgets; for all others nothing is there."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.erasure import forget, receipts
from neurigraph_pipelines.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring import Installation

router = APIRouter(tags=["forgetting"], responses=documented(401, 404, 409, 422, 503))

DryRun = Annotated[bool, Query(description="Say what would go, and change nothing.")]


class ErasurePreview(BaseModel):
    """What forgetting would erase."""

    subject_kind: SubjectKind
    subject_id: UUID
    nodes: list[str] = Field(description="Paths of the nodes that would go, parents first.")
    records: int
    deltas: int
    files: int
    object_bytes: int
    sources: int = Field(description="Conversations, events and uploads that would go whole.")
    shared_sources: int = Field(description="Those of which other parts, or what is not stored yet, remain.")


class ErasedObject(BaseModel):
    """An object of a file that was on record."""

    sha256: str | None = Field(description="Of the bytes as they lay in the store, in hex.")
    size_bytes: int
    removed: bool


class Erasure(BaseModel):
    """A receipt: what was erased, and what stays. It holds none of the text."""

    erasure_id: UUID
    user_id: UUID = Field(description="Whose it was, and who asked for it.")
    subject_kind: SubjectKind
    subject_id: UUID
    requested_through: str
    w: datetime = Field(description="When it was asked for.")
    finished_at: datetime | None = Field(description="Null while rows or objects are left.")
    erased: dict[str, int] = Field(description="How many of what.")
    kept: dict[str, list[UUID]] = Field(
        description="What stays because other records need it: `sources`, and `originals` of uploads."
    )


class ErasureWithObjects(Erasure):
    """A receipt with the checksums of all objects."""

    objects: list[ErasedObject]


class Erasures(BaseModel):
    """A page of receipts, newest first."""

    erasures: list[Erasure]
    next_offset: int | None = Field(description="Where the next page begins; null on the last one.")


@router.delete("/records/{record_id}", response_model=ErasureWithObjects | ErasurePreview)
def forget_record(record_id: UUID, caller: Caller, installation: Here, dry_run: DryRun = False) -> dict[str, Any]:
    """Erase a record with everything that was made of it, for good. Repeating it gives the receipt again."""
    return _forget(installation, caller, Subject(SubjectKind.RECORD, record_id), dry_run)


@router.delete("/nodes/{node_id}", response_model=ErasureWithObjects | ErasurePreview)
def forget_node(node_id: UUID, caller: Caller, installation: Here, dry_run: DryRun = False) -> dict[str, Any]:
    """Erase a node, all nodes below it and their records, for good. Repeating it gives the receipt again."""
    return _forget(installation, caller, Subject(SubjectKind.NODE, node_id), dry_run)


@router.delete("/users/{user_id}", response_model=ErasureWithObjects | ErasurePreview)
def forget_user(user_id: UUID, caller: Caller, installation: Here, dry_run: DryRun = False) -> dict[str, Any]:
    """Erase the caller with all there is of them, their keys included, for good."""
    return _forget(installation, caller, Subject(SubjectKind.USER, user_id), dry_run)


@router.get("/erasures", response_model=Erasures)
def list_erasures(
    caller: Caller,
    installation: Here,
    limit: Annotated[int, Query(ge=1, le=receipts.MAX_RECEIPTS)] = 50,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
) -> dict[str, Any]:
    """Receipts of what the caller forgot, newest first."""
    with installation.database.agent(caller) as tx:
        found = receipts.receipts(tx, caller.user_id, limit=limit + 1, offset=offset)
    next_offset = offset + limit if len(found) > limit else None
    return {"erasures": [asdict(each) for each in found[:limit]], "next_offset": next_offset}


def _forget(installation: Installation, caller: Claims, subject: Subject, dry_run: bool) -> dict[str, Any]:
    here = installation
    if dry_run:
        return asdict(forget.preview(here.database, caller, subject))
    receipt = forget.forget(here.acting_for(caller), subject, through="api")
    with here.database.pipeline() as tx:  # of a user who is gone nobody has the claims any more
        return {**asdict(receipt), "objects": [asdict(each) for each in receipts.objects_of(tx, receipt.erasure_id)]}
