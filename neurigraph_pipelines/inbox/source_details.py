"""Checks of the details that writers state of sources: lengths, addresses, metadata, and redaction."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.ports import Redactor
from neurigraph_pipelines.model.sources import MAX_ORIGIN_LENGTH, MAX_URL_LENGTH, SourceDetails
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.text.flat_metadata import flat_metadata
from neurigraph_pipelines.text.hygiene import MAX_NAME_CHARACTERS, Policy, clean_text, utc


def checked_details(details: SourceDetails, policy: Policy, redactor: Redactor | None) -> dict[str, object]:
    """Return details, cleaned and redacted, as the columns of a source, without ``replaces``.

    Raises:
        InvalidInputError: One of them is not acceptable; the text says which and why.
    """

    def clean(text: str) -> str:
        cleaned = clean_text(text, policy)[0]
        return cleaned if redactor is None else redactor.redact(cleaned)[0]

    def short(name: str, text: str | None, most: int) -> str | None:
        words = " ".join(text.split()) if text is not None else ""
        if len(words) > most:
            raise InvalidInputError(f"the {name} has {len(words):,} characters and the limit is {most}: shorten it")
        return clean(words)[:most] or None

    metadata = flat_metadata(details.metadata, clean)
    return {
        "origin": short("origin", details.origin, MAX_ORIGIN_LENGTH),
        "document_type": details.document_type,
        "url": clean(_safe_address(details.url))[:MAX_URL_LENGTH] if details.url else None,
        "channel": details.channel,
        "author": short("author", details.author, MAX_NAME_CHARACTERS),
        "metadata": json.dumps(metadata, ensure_ascii=False) if metadata else None,
        "updated_at": utc(details.updated_at) if details.updated_at is not None else None,
        "tier": details.tier,
        "container_tags": ",".join(checked_tags(details.container_tags)),
    }


def _safe_address(url: str) -> str:
    """Return the address of a page that a reader may follow.

    Raises:
        InvalidInputError: It is no such address.
    """
    if len(url) > MAX_URL_LENGTH:
        raise InvalidInputError(f"the url has {len(url):,} characters and the limit is {MAX_URL_LENGTH:,}")
    # A backslash is a slash for browsers, and they drop tabs and line breaks: the host would be another one.
    if not url.isprintable() or " " in url or "\\" in url:
        raise InvalidInputError("the url has a space, a backslash or a control character: encode it as %20, %5C or so")
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        host = None
    if host is None or parts.scheme not in ("http", "https"):
        raise InvalidInputError("the url does not begin with http:// or https:// and a host")
    if "@" in parts.netloc:
        raise InvalidInputError("the url has a user name or a password in it: leave that out")
    return parts._replace(scheme=parts.scheme).geturl()
