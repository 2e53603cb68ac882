"""Documents whose content somebody posts as text: read as uploads are, under a title of their own."""

from __future__ import annotations

import re
from datetime import datetime
from functools import partial

from neurigraph_pipelines.inbox.uploads import Received, Uploads
from neurigraph_pipelines.inbox.web_pages import receive_address
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES
from neurigraph_pipelines.model.ports import WebFetcher
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.external_ids import require_few_parts
from neurigraph_pipelines.text.hygiene import Policy, clean_text
from neurigraph_pipelines.views.kinds import DocumentType
from neurigraph_pipelines.views.scalars import ValuesByName

_TITLE_LENGTH = 80
_ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


def receive_document(
    uploads: Uploads,
    fetcher: WebFetcher,
    claims: Claims,
    content: str,
    unstorable_text: Policy,
    *,
    title: str | None,
    external_id: str | None,
    occurred_at: datetime | None,
    details: SourceDetails,
) -> Received:
    """Receive a text as a document. If the text is only the address of a repository, fetch the repository.

    Args:
        title: By default its first line.

    Raises:
        InvalidInputError: The content is too long or empty, or its title, id or a detail is not acceptable.
        NeurigraphError: As ``Uploads.receive`` and ``receive_address`` raise it.
    """
    require_few_parts("id of a document", external_id or "")
    stated: ValuesByName = {"external_id": external_id, "occurred_at": occurred_at, "details": details}
    if details.document_type is DocumentType.REPOSITORY and _ADDRESS.fullmatch(content.strip()):
        return receive_address(uploads, fetcher, claims, content.strip(), title=title, **stated)
    text = clean_text(content, unstorable_text)[0].encode()
    if len(text) > MAX_CONTENT_BYTES:
        raise InvalidInputError(
            f"the content has {len(text):,} bytes and the limit is {MAX_CONTENT_BYTES:,}: upload it"
        )
    lines = (line.strip() for line in content.splitlines())
    title = clean_text(title or next(filter(None, lines), "")[:_TITLE_LENGTH] or "document", "repair")[0]
    receive = partial(uploads.receive, claims, f"{title.replace('/', ' ')}.txt", [text], title=title)
    return receive(is_posted=True, is_document=True, **stated)
