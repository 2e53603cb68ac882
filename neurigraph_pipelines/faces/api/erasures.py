"""Permanent erasure and its receipts. Only the owner of a graph may erase; all others get 404."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.faces import presentation
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import NodeGuard, RecordGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.responses.pages import NEXT_CURSOR
from neurigraph_pipelines.lifecycle.erasure import forget, receipts
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(tags=["forgetting"], responses=documented(401, 404, 409, 422, 503))

DryRun = Annotated[bool, Query(description="Return what would be erased, and change nothing.")]


class ErasurePreview(BaseModel):
    """What an erasure would remove."""

    subject_kind: SubjectKind
    subject_id: UUID
    nodes: list[str] = Field(description="Paths of the nodes that would be erased, parents first.")
    records: int
    deltas: int
    files: int
    object_bytes: int
    sources: int = Field(description="Conversations, events and uploads that would be erased completely.")
    shared_sources: int = Field(
        description="Conversations, events and uploads of which other records or unstored parts remain."
    )


class ErasedObject(BaseModel):
    """An object in the object store that held an erased file."""

    sha256: str | None = Field(description="SHA-256 of the stored bytes, in hex.")
    size_bytes: int
    removed: bool


class Erasure(BaseModel):
    """The receipt of an erasure: what was erased and what remains. It contains no erased text."""

    erasure_id: UUID
    user_id: UUID = Field(description="The owner, who requested the erasure.")
    subject_kind: SubjectKind
    subject_id: UUID
    requested_through: str
    requested_at: datetime
    finished_at: datetime | None = Field(description="Null until all rows and objects are removed.")
    erased: dict[str, int] = Field(description="Number of erased rows and objects by kind.")
    kept: dict[str, list[UUID]] = Field(
        description="Ids that remain because other records need them: `sources`, and `originals` of uploads."
    )


class ErasureWithObjects(Erasure):
    """The receipt of an erasure, with the checksums of all objects."""

    objects: list[ErasedObject]


class Erasures(BaseModel):
    """A page of receipts, newest first."""

    erasures: list[Erasure]
    next_cursor: str | None = NEXT_CURSOR


ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": ErasureWithObjects,
        "description": "Accepted: a part is erased, and the installation finishes the rest within an hour.",
    }
}
"""The answer for an erasure that has begun and could not be finished; ``finished_at`` is null."""


@router.delete(
    "/records/{record_id}",
    response_model=ErasureWithObjects | ErasurePreview,
    responses=ACCEPTED | documented(412),
)
def forget_record(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    response: Response,
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Erase a record and everything derived from it, permanently. Repeating the call returns the same receipt."""
    return _forget(installation, caller, Subject(SubjectKind.RECORD, record_id), response, dry_run, guard)


@router.delete("/facts/{fact_id}", response_model=ErasureWithObjects | ErasurePreview, responses=ACCEPTED)
def forget_fact(
    fact_id: UUID, caller: Caller, installation: InstallationDep, response: Response, dry_run: DryRun = False
) -> dict[str, Any]:
    """Erase a fact, permanently, so that its memory does not state it again. Repeating the call returns the receipt.

    A fact that was stated by hand goes with its memory. Of others the words stay in the file of their memory: forget
    that to erase them, too.
    """
    return _forget(installation, caller, Subject(SubjectKind.FACT, fact_id), response, dry_run)


@router.delete(
    "/nodes/{node_id}", response_model=ErasureWithObjects | ErasurePreview, responses=ACCEPTED | documented(412)
)
def forget_node(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    guard: NodeGuard,
    response: Response,
    dry_run: DryRun = False,
) -> dict[str, Any]:
    """Erase a node, all nodes below it and their records, permanently. Repeating the call returns the same receipt."""
    return _forget(installation, caller, Subject(SubjectKind.NODE, node_id), response, dry_run, guard)


@router.delete("/users/{user_id}", response_model=ErasureWithObjects | ErasurePreview, responses=ACCEPTED)
def forget_user(
    user_id: UUID, caller: Caller, installation: InstallationDep, response: Response, dry_run: DryRun = False
) -> dict[str, Any]:
    """Erase the calling user and all their data, keys included, permanently.

    The keys end first; from then on, 409 answers everything that writes.
    """
    return _forget(installation, caller, Subject(SubjectKind.USER, user_id), response, dry_run)


@router.get("/erasures", response_model=Erasures)
def list_erasures(
    caller: Caller,
    installation: InstallationDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> dict[str, Any]:
    """List the receipts of the caller's erasures, newest first."""
    found = receipts.page_of_receipts(installation.database, installation.cursors, caller, limit, cursor)
    return found.shown("erasures", presentation.receipt)


def _forget(
    installation: Installation,
    caller: Claims,
    subject: Subject,
    response: Response,
    dry_run: bool,
    guard: Guard = FREE,
) -> dict[str, Any]:
    if dry_run:
        return asdict(forget.preview(installation.database, caller, subject))
    receipt = forget.forget(installation.acting_for(caller), subject, through="api", guard=guard)
    if receipt.finished_at is None:
        response.status_code = 202
    if subject.kind is SubjectKind.USER:
        installation.homes.directory.forget(subject.subject_id)
    with installation.database.pipeline() as tx:  # the claims of an erased user are no longer valid
        return presentation.receipt(receipt, receipts.objects_of(tx, receipt.erasure_id))
