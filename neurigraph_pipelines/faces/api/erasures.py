"""Permanent erasure and its receipts. Only the owner of a graph may erase; all others get 404."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from neurigraph_pipelines.access.guards import FREE, Guard
from neurigraph_pipelines.faces.api.authentication import Caller, InstallationDep
from neurigraph_pipelines.faces.api.paging import Cursor, Limit
from neurigraph_pipelines.faces.api.preconditions import NodeGuard, RecordGuard
from neurigraph_pipelines.faces.api.problems import Responses, documented
from neurigraph_pipelines.lifecycle.erasure import forget, receipts
from neurigraph_pipelines.lifecycle.erasure.receipts import Subject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views.erasures import Erasures, ErasureWithObjects, Forgotten
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(tags=["forget"], responses=documented(401, 404, 409, 422, 503))

DryRun = Annotated[bool, Query(description="Return the counts of an erasure, and change nothing.")]


ACCEPTED: Responses = {
    202: {
        "model": ErasureWithObjects,
        "description": "Accepted: a part is erased, and the installation finishes the rest within an hour.",
    }
}
"""The answer for an erasure that has begun and could not be finished; ``finished_at`` is null."""


@router.delete(
    "/records/{record_id}",
    responses=ACCEPTED | documented(412),
)
def forget_record(
    record_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    guard: RecordGuard,
    response: Response,
    dry_run: DryRun = False,
) -> Forgotten:
    """Erase a record and everything derived from it, permanently. Repeating the call returns the same receipt."""
    return _forget(installation, caller, Subject(SubjectKind.RECORD, record_id), response, dry_run, guard)


@router.delete("/facts/{fact_id}", responses=ACCEPTED)
def forget_fact(
    fact_id: UUID, caller: Caller, installation: InstallationDep, response: Response, dry_run: DryRun = False
) -> Forgotten:
    """Erase a fact, permanently, so that its memory does not state it again. Repeating the call returns the receipt.

    A fact that was stated by hand goes with its memory. Of others the words stay in the file of their memory: forget
    that to erase them, too.
    """
    return _forget(installation, caller, Subject(SubjectKind.FACT, fact_id), response, dry_run)


@router.delete("/nodes/{node_id}", responses=ACCEPTED | documented(412))
def forget_node(
    node_id: UUID,
    caller: Caller,
    installation: InstallationDep,
    guard: NodeGuard,
    response: Response,
    dry_run: DryRun = False,
) -> Forgotten:
    """Erase a node, all nodes below it and their records, permanently. Repeating the call returns the same receipt."""
    return _forget(installation, caller, Subject(SubjectKind.NODE, node_id), response, dry_run, guard)


@router.delete("/users/{user_id}", responses=ACCEPTED)
def forget_user(
    user_id: UUID, caller: Caller, installation: InstallationDep, response: Response, dry_run: DryRun = False
) -> Forgotten:
    """Erase the calling user and all their data, keys included, permanently.

    The keys end first; from then on, 409 answers everything that writes.
    """
    return _forget(installation, caller, Subject(SubjectKind.USER, user_id), response, dry_run)


@router.get("/erasures")
def list_erasures(
    caller: Caller,
    installation: InstallationDep,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Erasures:
    """List the receipts of the caller's erasures, newest first."""
    found = receipts.page_of_receipts(installation.database, installation.cursors, caller, limit, cursor)
    return found.into(Erasures)


def _forget(
    installation: Installation,
    caller: Claims,
    subject: Subject,
    response: Response,
    dry_run: bool,
    guard: Guard = FREE,
) -> Forgotten:
    if dry_run:
        return forget.preview(installation.database, caller, subject)
    receipt = forget.forget(installation.acting_for(caller), subject, through="api", guard=guard)
    if receipt.finished_at is None:
        response.status_code = 202
    if subject.kind is SubjectKind.USER:
        installation.databases.directory.forget(subject.subject_id)
    return receipts.with_objects(installation.database, receipt)
