"""Fetching of web pages: users' addresses, so everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. Each
redirect is checked like the first address. The connection goes to the IP address that was checked, uses no proxy, and
has limits of time and size.
"""

from __future__ import annotations

import time
from pathlib import PurePosixPath
from urllib.parse import unquote, urljoin, urlsplit

from neurigraph_pipelines.model.errors import InvalidInputError, ProviderError, TransientError
from neurigraph_pipelines.model.ports import FetchedPage, FetchedRepository
from resources.allowed_hosts import AllowedHosts
from resources.answer_statuses import MAX_REDIRECTS, REDIRECTS, TRY_AGAIN
from resources.outgoing_request import Answer, content_of, send

_PAGES = ("text/html", "application/xhtml+xml")
_ENDINGS = (".html", ".htm", ".xhtml")
_HEADERS = {
    "Accept": "text/html, application/xhtml+xml, */*;q=0.5",
    "Accept-Encoding": "gzip",
    "User-Agent": "neurigraph",
}


class HttpWebFetcher:
    """Implements ``ports.WebFetcher`` over HTTP.

    Args:
        hosts: Names that may be called, as ``AllowedHosts`` says.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one page, with its redirects.
        max_bytes: Largest page, unpacked.
        repository: The same limits of a repository, as its server packs it.
    """

    def __init__(
        self,
        hosts: tuple[str, ...],
        local_hosts: tuple[str, ...],
        seconds: float,
        max_bytes: int,
        repository: tuple[float, int] = (60.0, 100_000_000),
    ) -> None:
        self._hosts = AllowedHosts(hosts, local_hosts, "page", "NEURIGRAPH_WEB_HOSTS")
        self._seconds = seconds
        self._max_bytes = max_bytes
        self._repository = repository

    def fetch(self, url: str) -> FetchedPage:
        """Fetch a page."""
        deadline = time.monotonic() + self._seconds
        for _ in range(MAX_REDIRECTS + 1):
            answer = self._ask(url, deadline)
            if answer.status not in REDIRECTS or "location" not in answer.headers:
                return self._page(url, answer)
            url = urljoin(url, answer.headers["location"]).partition("#")[0]
        raise InvalidInputError(
            f"the page redirects more than {MAX_REDIRECTS} times: give the address that it leads to"
        )

    def fetch_repository(self, url: str, known: str | None) -> FetchedRepository | None:
        """Fetch the newest commit of a repository."""
        from resources.repository_fetcher import fetch_repository

        return fetch_repository(self._hosts, url, known, *self._repository)

    def _ask(self, url: str, deadline: float) -> Answer:
        check_address = self._hosts.check(url)
        try:
            return send(
                "GET",
                url,
                headers=_HEADERS,
                seconds=max(deadline - time.monotonic(), 0.001),
                max_bytes=self._max_bytes + 1,
                check_address=check_address,
            )
        except ProviderError as error:
            raise InvalidInputError(f"the page cannot be fetched: {error}") from error
        except OSError as error:
            raise TransientError(f"the page could not be fetched in {self._seconds:g} seconds ({error})") from error

    def _page(self, url: str, answer: Answer) -> FetchedPage:
        if answer.status in TRY_AGAIN:
            raise TransientError(f"the page's server answered {answer.status}: try again later")
        if answer.status != 200:
            raise InvalidInputError(f"the page's server answered {answer.status}: check the address")
        try:
            content = content_of(answer, self._max_bytes)
        except OSError as error:
            raise TransientError(f"the page could not be fetched: {error}") from error
        if len(content) > self._max_bytes:
            raise InvalidInputError(f"the page exceeds {self._max_bytes:,} bytes: raise NEURIGRAPH_WEB_PAGE_BYTES")
        return FetchedPage(_name(url, answer.headers.get("content-type", "")), content)


def _name(url: str, content_type: str) -> str:
    """Return the file name of a page: the end of its address, or its host."""
    parts = urlsplit(url)
    name = PurePosixPath(unquote(parts.path)).name or parts.hostname or "page"
    is_page = content_type.partition(";")[0].strip().lower() in _PAGES
    return f"{name}.html" if is_page and not name.lower().endswith(_ENDINGS) else name
