"""Uploads: receive a file, store its records, find and open them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from neurigraph_pipelines.graph.provisioning import create_user
from neurigraph_pipelines.inbox.source_lists import SourceFilter, get_source, list_sources
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.model import Claims, SourceKind
from neurigraph_pipelines.retrieval.open import OpenedFile, file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.documents import pdf_of

FERRY = pdf_of("The ferry to Tresco leaves at nine.", "The ferry returns at dusk, if the captain is sober.")


def user(installation: Installation, slug: str) -> Claims:
    return Claims.of_user(create_user(installation.database, slug)[0].user_id)


def upload(installation: Installation, claims: Claims, name: str, content: bytes, **values: Any) -> UUID:
    return installation.uploads.receive(claims, name, [content], **values).upload_id


def read_upload(installation: Installation, claims: Claims, upload_id: UUID) -> dict[str, Any]:
    return get_source(installation.database, claims, SourceKind.UPLOAD, upload_id).model_dump()


def store(installation: Installation) -> list[str]:
    """Read and store all waiting uploads; return the titles of the records."""
    installation.uploads.read_due(installation.text_extractor)
    results = list(run_due(installation.context, "tests"))
    assert [returned for result in results for returned in result.returned] == []
    installation.uploads.clear()
    return [record.title for result in results for record in result.stored]


def found(installation: Installation, claims: Claims, query: str) -> Found:
    return search(installation.acting_for(claims), Question(query))


def opened(installation: Installation, claims: Claims, record_id: UUID | None, **how: Any) -> OpenedFile:
    assert record_id is not None
    file_id = file_of_record(installation.database, claims, record_id)
    return open_file(installation.acting_for(claims), file_id, **how)


def uploads_of(installation: Installation, claims: Claims) -> list[dict[str, Any]]:
    """Return the uploads of a user, the last received first."""
    found = list_sources(installation.listing(claims), SourceKind.UPLOAD, SourceFilter()).items
    return [one.model_dump() for one in found]


def staged(installation: Installation) -> list[str]:
    return list(installation.objects.keys("staging/"))
