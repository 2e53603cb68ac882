"""Web pages by address: fetched once, and stored like an upload whose next version is the page when it has changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from neurigraph_pipelines.ingestion.source_details import checked_details
from neurigraph_pipelines.ingestion.uploads import Received, Uploads
from neurigraph_pipelines.model import Claims, Privacy, ReceivedThrough
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.ports import WebFetcher
from neurigraph_pipelines.text.external_ids import external_id_of


def receive_page(
    uploads: Uploads,
    fetcher: WebFetcher,
    claims: Claims,
    url: str,
    *,
    title: str | None = None,
    external_id: str | None = None,
    occurred_at: datetime | None = None,
    privacy: Privacy | None = None,
    details: SourceDetails = NO_DETAILS,
) -> Received:
    """Fetch a page and receive its bytes; one that has not changed is the same upload.

    Args:
        uploads: Receives the bytes.
        fetcher: Fetches the page.
        claims: The caller, whatever the door: the page came through the web.
        url: The address of the page.
        external_id: Of the page and its versions; default: made of the address.

    Raises:
        ConflictError: The settings allow no host; or it was last changed before the newest version.
        InvalidInputError: The address may not be called, the page is no page, or a detail is not acceptable.
        TransientError: The page could not be fetched now.
    """
    details = replace(details, url=url)
    checked_details(details, "repair", None)
    page = fetcher.fetch(url)
    return uploads.receive(
        claims.through(ReceivedThrough.WEB),
        page.file_name,
        [page.content],
        title=title,
        external_id=external_id if external_id is not None else external_id_of("page", url.partition("#")[0]),
        occurred_at=occurred_at,
        privacy=privacy,
        details=details,
    )
