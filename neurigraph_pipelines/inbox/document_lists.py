"""Documents: sources of every kind with the status of their processing, as ``/v3`` shows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.model import Claims, Progress, SourceKind
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.sources import SourceState

_QUERIES = statements("documents")


class DocumentStatus(StrEnum):
    """How far the processing of a document is.

    A file that was read waits for a run that cuts it into segments, and that run embeds and stores them.
    """

    PENDING = "pending"
    PROCESSING = "processing"
    CHUNKING = "chunking"
    EMBEDDING = "embedding"
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Document:
    """A source of any kind, with the status of its processing and the spaces that it is in."""

    source: SourceState
    status: DocumentStatus
    container_tags: list[str]


def status_of(state: Progress, row: Mapping[str, object]) -> DocumentStatus:
    """Return the status of a document.

    Args:
        state: The state of its source.
        row: Of the query ``document``.
    """
    if state is Progress.FAILED:
        return DocumentStatus.FAILED
    if state is Progress.STORED:
        return DocumentStatus.COMPLETED
    if row["is_unread"]:
        return DocumentStatus.PROCESSING if row["is_being_read"] else DocumentStatus.PENDING
    if state is Progress.STORING:
        return DocumentStatus.EMBEDDING
    return DocumentStatus.CHUNKING if row["kind"] == SourceKind.UPLOAD else DocumentStatus.PENDING


def get_document(database: Database, claims: Claims, document_id: str) -> Document:
    """Return a source of any kind as a document.

    Args:
        document_id: Its id, or the external id of an upload.

    Raises:
        NotFoundError: There is no such source, or the caller did not hand it in and does not own it.
    """
    try:
        source_id = UUID(document_id)
    except ValueError:
        source_id = None
    known = {"source_id": source_id, "external_id": document_id}
    rows = database.ask(claims, _QUERIES["document"], {"user_id": claims.user_id, **known})
    if not rows:
        raise NotFoundError
    found = get_source(database, claims, SourceKind(rows[0]["kind"]), rows[0]["source_id"])
    return Document(found, status_of(found.state, rows[0]), rows[0]["container_tags"])
