"""Web pages and repositories by address: fetched once, and stored like an upload; one that changed is a new version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit
from uuid import UUID

from neurigraph_pipelines.inbox.repository_files import pack_name
from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.inbox.uploads import Received, Uploads
from neurigraph_pipelines.model import Claims, Privacy, ReceivedThrough
from neurigraph_pipelines.model.ports import WebFetcher
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.text.external_ids import external_id_of
from neurigraph_pipelines.views.kinds import DocumentType

_ENDING = ".git"
_READ_BYTES = 1 << 20


def receive_address(
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
    """Fetch the page at an address and receive its bytes; an unchanged page is the same upload.

    An address that ends with ``.git``, or is said to be of a repository, is fetched as one: the files of its newest
    commit. That of any other is a page.

    Args:
        uploads: Receives the bytes.
        fetcher: Fetches the page or the repository.
        claims: The caller, whatever the door: the bytes came through the web.
        external_id: Of the page or repository and its versions; default: made of the address.

    Raises:
        ConflictError: The settings allow no host; or it was last changed before the newest version.
        InvalidInputError: The address may not be called, nothing usable is there, or a detail is not acceptable.
        TransientError: It could not be fetched now.
    """
    details = replace(details, url=url)
    checked_details(details, "repair", None)
    is_repository = details.document_type is DocumentType.REPOSITORY or urlsplit(url).path.endswith(_ENDING)
    if external_id is None:
        external_id = external_id_of("repository" if is_repository else "page", url.partition("#")[0])
    receive = partial(
        uploads.receive,
        claims.through(ReceivedThrough.WEB),
        title=title,
        external_id=external_id,
        occurred_at=occurred_at,
        privacy=privacy,
    )
    if not is_repository:
        page = fetcher.fetch(url)
        return receive(page.file_name, [page.content], details=details)
    known = uploads.known_commit(claims, external_id) if details.replaces is None else None
    received = _receive_repository(fetcher, url, known, details, receive)
    if known is not None and details.container_tags:  # files that did not change are in none of them yet
        uploads.add_to_spaces(claims, known[0], external_id, details.container_tags)
    return received


def _receive_repository(
    fetcher: WebFetcher,
    url: str,
    known: tuple[UUID, str] | None,
    details: SourceDetails,
    receive: Callable[..., Received],
) -> Received:
    """Fetch the newest commit of a repository, unless it is known already."""
    fetched = fetcher.fetch_repository(url, known[1] if known is not None else None)
    if fetched is None:
        assert known is not None  # the known commit is the newest
        return Received(known[0], new=False)
    name = PurePosixPath(unquote(urlsplit(url).path)).name.removesuffix(_ENDING) or "repository"
    with fetched.pack as pack:
        pieces = iter(partial(pack.read, _READ_BYTES), b"")
        details = replace(details, document_type=DocumentType.REPOSITORY)
        return receive(pack_name(name, fetched.commit), pieces, details=details)
