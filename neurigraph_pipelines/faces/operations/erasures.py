"""Permanent erasure and its receipts. Only the owner of a graph may erase; all others get 404."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.forms import Cursor, Limit
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.lifecycle.erasure import forget, receipts
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.views.erasures import Erasures, ErasureWithObjects, Forgotten

operation = OperationGroup("forget")

DryRun = Annotated[bool, Field(description="Return the counts of an erasure, and change nothing.")]


ACCEPTED: Mapping[int, Mapping[str, object]] = {
    202: {
        "model": ErasureWithObjects,
        "description": "Accepted: a part is erased, and the installation finishes the rest within an hour.",
    }
}
"""The answer for an erasure that has begun and could not be finished; ``finished_at`` is null."""


@operation("DELETE /records/{record_id}", tool="forget", destroys=True, guarded="record_id", answers=ACCEPTED)
def forget_record(call: Call, record_id: UUID, dry_run: DryRun = False) -> Forgotten:
    """Erase a record and everything derived from it, permanently. Repeating the call returns the same receipt."""
    return _forget(call, ErasureSubject(SubjectKind.RECORD, record_id), dry_run)


@operation("DELETE /facts/{fact_id}", destroys=True, answers=ACCEPTED)
def forget_fact(call: Call, fact_id: UUID, dry_run: DryRun = False) -> Forgotten:
    """Erase a fact, permanently, so that its memory does not state it again. Repeating the call returns the receipt.

    A fact that was stated by hand goes with its memory. Of others the words stay in the file of their memory: forget
    that to erase them, too.
    """
    return _forget(call, ErasureSubject(SubjectKind.FACT, fact_id), dry_run)


@operation("DELETE /nodes/{node_id}", tool="forget", destroys=True, guarded="node_id", answers=ACCEPTED)
def forget_node(call: Call, node_id: UUID, dry_run: DryRun = False) -> Forgotten:
    """Erase a node, all nodes below it and their records, permanently. Repeating the call returns the same receipt."""
    return _forget(call, ErasureSubject(SubjectKind.NODE, node_id), dry_run)


@operation("DELETE /users/{user_id}", destroys=True, answers=ACCEPTED)
def forget_user(call: Call, user_id: UUID, dry_run: DryRun = False) -> Forgotten:
    """Erase the calling user and all their data, keys included, permanently.

    The keys end first; from then on, 409 answers everything that writes.
    """
    return _forget(call, ErasureSubject(SubjectKind.USER, user_id), dry_run)


@operation("GET /erasures")
def list_erasures(call: Call, limit: Limit = 50, cursor: Cursor = None) -> Erasures:
    """List the receipts of the caller's erasures, newest first."""
    return call.page(Erasures, receipts.page_of_receipts, limit=limit, cursor=cursor)


def _forget(call: Call, subject: ErasureSubject, dry_run: bool) -> Forgotten:
    if dry_run:
        return call.do(forget.preview, subject)
    receipt = forget.forget(call.context, subject, through=call.door, guard=call.once)
    if receipt.finished_at is None:
        call.told.status = 202
    if subject.kind is SubjectKind.USER:
        call.installation.databases.directory.forget(subject.subject_id)
    return receipts.with_objects(call.database, receipt)
