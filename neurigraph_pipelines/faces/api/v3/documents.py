"""``/v3``: add a document, read how far it is, and search documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from neurigraph_pipelines.faces.api.authentication import Author, Caller, InstallationDep
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.api.v3 import forms, responses
from neurigraph_pipelines.faces.operations.documents import found_document, shown
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.faces.operations.versions import read_record
from neurigraph_pipelines.inbox.document_lists import DocumentStatus, get_document
from neurigraph_pipelines.inbox.posted_documents import receive_document
from neurigraph_pipelines.retrieval.documents import full_text, search_documents
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH

router = APIRouter(prefix="/v3", tags=["v3"], responses=documented(401, 404, 422, 503))


@router.post(
    "/documents",
    dependencies=[NotesLag],
    status_code=202,
    responses={
        200: {"model": responses.AddedDocument, "description": "The same content was added before."},
        **documented(403, 409, 413),
    },
)
def add_document(
    body: forms.NewDocument, response: Response, caller: Author, installation: InstallationDep
) -> responses.AddedDocument:
    """Add a document, which is read and stored in the background as an uploaded file is.

    The same content is one document, which is also put into the spaces that a later call names. Another content
    under the same `customId` is its next version, whose memories supersede those before. A content that is the address
    of a `repository` is fetched.
    """
    received = receive_document(
        *(installation.uploads, installation.web, caller, body.content),
        installation.settings.ingestion.unstorable_text,
        title=body.title,
        external_id=body.custom_id or body.stated.custom_id,
        occurred_at=body.stated.published_at,
        details=body.details,
    )
    if not received.new:
        response.status_code = 200
    response.headers["Location"] = f"/v3/documents/{received.upload_id}"
    found = get_document(installation.database, caller, str(received.upload_id))
    return responses.AddedDocument(id=received.upload_id, status=found.status)


@router.get("/documents/{document_id:path}")
def document(
    document_id: Annotated[str, Path(max_length=MAX_EXTERNAL_ID_LENGTH, description="Its id, or its `customId`.")],
    caller: Caller,
    installation: InstallationDep,
) -> responses.Document:
    """Return a document of any kind, also an upload, a note or a conversation, and how far its processing is."""
    found = get_document(installation.database, caller, document_id)
    source = found.source
    records = source.record_ids if found.status is DocumentStatus.COMPLETED else []
    lost: list[str] = []
    content = full_text(installation.acting_for(caller), source.KIND, records, lost) if records else None
    first = read_record(installation, caller, records[0])[1] if records else None
    return responses.Document(
        id=source.source_id,
        custom_id=source.external_id,
        content=content,
        summary=first.summary if first is not None else None,
        container_tags=list(found.container_tags),
        status=found.status,
        error=source.error or "; ".join(lost) or None,
        **shown(source.title or (first.title if first is not None else None), source, source.received_at),
    )


@router.post("/search", response_model_exclude_unset=True)
def search(body: forms.SearchDocuments, caller: Caller, installation: InstallationDep) -> responses.FoundDocuments:
    """Search documents: sources of every kind, each with the passages that match, joined to chunks.

    The messages of the chunks are read, which counts as an access of their files.
    """
    caller = caller.within(checked_tags(body.container_tags))
    for document_id in body.scoped_document_ids:
        look(installation.database, caller, document_id=document_id)
    found = search_documents(installation.acting_for(caller), body.wanted)
    return responses.FoundDocuments(
        count=len(found.documents),
        results=[found_document(one, with_summary=body.include_summary) for one in found.documents],
        search_path=found.search_path,
        notes=list(found.notes),
    )
