"""Feeds and calendars of the web as drop places: each look fetches the address, and each entry is a file.

``web_fetcher`` fetches, so that its rules for hosts, addresses, sizes and time hold. ``inbox.drop_intake`` stores what
is new or changed.
"""

from __future__ import annotations

import hashlib
import html
import io
import re
from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin, urlsplit

import feedparser

from neurigraph_pipelines.model import DroppedFile
from neurigraph_pipelines.model.errors import InvalidInputError, StorageError, TransientError
from neurigraph_pipelines.model.ports import WebFetcher

MOST_ENTRIES = 2_000
"""Most entries of one feed that are read, in the order of the feed."""

_STAMPS = re.compile(rb"^(?:DTSTAMP|LAST-MODIFIED|SEQUENCE)[;:].*\r?\n(?:[ \t].*\r?\n)*", re.MULTILINE)
"""Lines of a calendar that a server changes at each fetch."""


_ENTRY = re.compile(rb"^BEGIN:V(?:EVENT|TODO|JOURNAL)\b", re.MULTILINE | re.IGNORECASE)


class _FetchedPlace:
    """A ``DropPlace`` at an address, whose files are known once it was fetched.

    Args:
        fetcher: Fetches the address.
        url: The address.
        owner: User and source that all files belong to.
    """

    def __init__(self, fetcher: WebFetcher, url: str, owner: tuple[str, str]) -> None:
        self._fetcher = fetcher
        self._url = url
        self._owner = owner
        self._contents: dict[str, bytes] = {}

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Yield the bytes of a file that was listed.

        Raises:
            StorageError: It was not.
        """
        if file.name not in self._contents:
            raise StorageError(f"{file.name} was not listed: look at its address again")
        yield self._contents[file.name]

    def _file(self, name: str, content: bytes, version: bytes, **stated: Any) -> DroppedFile:
        user, source = self._owner
        self._contents[f"{source}/{name}"] = content
        changed = stated.pop("modified_at", None) or datetime.now(UTC)
        return DroppedFile(user, f"{source}/{name}", hashlib.sha256(version).hexdigest(), changed, **stated)


class CalendarPlace(_FetchedPlace):
    """A calendar (``.ics``): one file, whose next version lacks removed entries.

    Readers of its memories see its host alone: the address of a private calendar is its key.
    """

    def files(self) -> Iterator[DroppedFile]:
        """Yield the calendar, unless it is empty: a server that has a bad day must not supersede all that it said.

        Raises:
            InvalidInputError: It may not be fetched, or there is no calendar.
            TransientError: It could not be fetched now, or not all of it.
        """
        content = self._fetcher.fetch(self._url).content
        if b"BEGIN:VCALENDAR" not in content[:4_096].upper():
            raise InvalidInputError("there is no calendar at this address: give the one of its .ics file")
        if b"END:VCALENDAR" not in content[-4_096:].upper():
            raise TransientError("the calendar was cut off: look again")
        if _ENTRY.search(content):
            yield self._file("calendar.ics", content, _STAMPS.sub(b"", content), url=urljoin(self._url, "/"))


class FeedPlace(_FetchedPlace):
    """A feed (RSS, Atom): each entry is a page with its title, date, author and address."""

    def files(self) -> Iterator[DroppedFile]:
        """Yield the entries, the first of those with one id; those that a feed no longer shows are only older.

        Raises:
            InvalidInputError: The feed may not be fetched, or there is none.
            TransientError: It could not be fetched now.
        """
        # A stream, because feedparser opens texts as addresses and paths.
        found = feedparser.parse(io.BytesIO(self._fetcher.fetch(self._url).content))
        if not found.version and not found.entries:
            raise InvalidInputError("there is no feed at this address: give the one of its RSS or Atom")
        names: set[str] = set()
        for entry in found.entries[:MOST_ENTRIES]:
            title, url = str(entry.get("title", ""))[:500], _address(entry.get("link"))
            known = str(entry.get("id") or url or title)
            words = [str(one.get("value", "")) for one in entry.get("content", [])] or [str(entry.get("summary", ""))]
            page = f"<article><h1>{html.escape(title)}</h1>\n{' '.join(words)}</article>"
            name = f"{hashlib.sha256(known.encode('utf-8', 'replace')).hexdigest()[:32]}.html"
            if not known or name in names or not (title or any(words)):
                continue
            names.add(name)
            yield self._file(
                name,
                f"<!DOCTYPE html><html><body>{page}</body></html>".encode("utf-8", "replace"),
                page.encode("utf-8", "replace"),
                title=title or None,
                url=url,
                author=str(entry.get("author", ""))[:200] or None,
                modified_at=_time(entry, "updated_parsed", "published_parsed"),
                occurred_at=_time(entry, "published_parsed", "updated_parsed"),
            )


def _address(link: Any) -> str | None:
    """Return the address of an entry if a reader may follow it."""
    text = str(link or "")
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return None
    return text if is_usable and len(text) <= 2_000 and text.isprintable() and not {" ", "\\"} & set(text) else None


def _time(entry: Any, *names: str) -> datetime | None:
    """Return the first of some times that an entry has, in UTC; None if there is none, or it is unusable."""
    stated = dict(entry)  # feedparser's own `get` answers an absent change with the publication, and warns
    parsed = next((stated[name] for name in names if stated.get(name)), None)
    try:
        return datetime.fromtimestamp(timegm(parsed), UTC) if parsed else None
    except (ValueError, OverflowError, TypeError, OSError):
        return None
