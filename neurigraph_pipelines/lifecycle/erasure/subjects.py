"""Subjects of erasures: who may erase them, and which record goes with a fact."""

from __future__ import annotations

from contextlib import AbstractContextManager
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.ports import Database, Transaction

_QUERIES = statements("erasure")
_OWNER = "user"


def rows_of(database: Database, claims: Claims) -> AbstractContextManager[Transaction]:
    """Return a transaction that sees the rows that the caller may erase; for the owner, also rows in quarantine.

    Every query names the user, and the caller is checked first.
    """
    return database.owner() if claims.role == _OWNER else database.agent(claims)


def require_unmirrored(database: Database, subject: ErasureSubject) -> None:
    """Require that a subject is not part of a mirror, where it would come back with the next pull.

    Raises:
        ConflictError: It is mirrored from another installation.
    """
    with database.pipeline() as tx:
        row = tx.execute(_QUERIES["is_mirrored"], {"subject_id": subject.subject_id}).fetchone()
    if row is not None and row["mirrored"]:
        raise ConflictError("this is mirrored from another installation: forget it there, or remove the peer")


def require_subject(tx: Transaction, claims: Claims, subject: ErasureSubject) -> None:
    """Require the owner and an existing subject; for others the subject does not exist."""
    if claims.role != _OWNER:
        raise NotFoundError
    values = {"user_id": claims.user_id, "record_id": subject.subject_id, "node_id": subject.subject_id}
    if subject.kind is SubjectKind.FACT:
        found = tx.execute(_QUERIES["record_of_fact"], {**values, "fact_id": subject.subject_id}).fetchone()
    elif subject.kind is SubjectKind.RECORD:
        found = tx.execute(_QUERIES["node_of_record"], values).fetchone()
    elif subject.kind is SubjectKind.NODE:
        found = tx.execute(_QUERIES["node_of_user"], values).fetchone()
        if found is not None and found["layer_depth"] == 0:
            raise InvalidInputError("this node is the root of the graph: erase the user instead")
    else:
        found = (
            tx.execute(_QUERIES["slug_of_user"], values).fetchone() if subject.subject_id == claims.user_id else None
        )
    if found is None:
        raise NotFoundError


def record_of(tx: Transaction, user_id: UUID, subject: ErasureSubject) -> UUID | None:
    """Return the record to erase: for a fact that is stated by hand, the one of its note; for other facts none."""
    if subject.kind is SubjectKind.RECORD:
        return subject.subject_id
    row = tx.execute(_QUERIES["record_of_fact"], {"user_id": user_id, "fact_id": subject.subject_id}).fetchone()
    return row["record_id"] if row is not None and row["is_by_hand"] else None
