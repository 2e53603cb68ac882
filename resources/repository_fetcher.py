"""Fetching of repositories over Git's smart protocol: users' addresses, so everything about them is untrusted.

dulwich speaks the protocol; each request is sent and bounded here, as for web pages. The pack is not opened: a process
of its own reads it (``resources.extractors``).
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urljoin

from dulwich.client import AbstractHttpGitClient
from dulwich.errors import GitProtocolError

from neurigraph_pipelines.model.errors import InvalidInputError, NeurigraphError, ProviderError, TransientError
from neurigraph_pipelines.model.ports import FetchedRepository
from resources.allowed_hosts import AllowedHosts
from resources.answer_statuses import MAX_REDIRECTS, REDIRECTS, TRY_AGAIN
from resources.outgoing_request import Answer, send

LARGEST_FILE = 512 * 1024
"""Bytes of the largest file that is read; a server that can leaves larger ones out of the pack."""

_NAMES = "/info/refs?service=git-upload-pack"
_MOST_NAMES = 20_000_000
"""Bytes of the longest list of branches and tags; that of 200,000 names has fewer."""

_COMMIT_LENGTH = 40
_SERVICE = "application/x-git-upload-pack-"


def fetch_repository(
    hosts: AllowedHosts, url: str, known: str | None, seconds: float, max_bytes: int
) -> FetchedRepository | None:
    """Fetch the newest commit of the default branch, as ``ports.WebFetcher`` says."""
    with ExitStack() as files:
        pack = files.enter_context(tempfile.TemporaryFile())
        commit = _fetch(_Client(hosts, url, seconds, max_bytes, files), known, pack, max_bytes)
        if commit is None:
            return None
        pack.seek(0)
        return FetchedRepository(commit, os.fdopen(os.dup(pack.fileno()), "rb"))


def _fetch(client: _Client, known: str | None, pack: IO[bytes], max_bytes: int) -> str | None:
    """Write the pack of the newest commit to a file, and return the id of that; None if it is known."""
    head: list[str] = []

    def wanted(refs: dict[Any, Any], **_: Any) -> list[Any]:
        commit = refs.get(b"HEAD", b"").decode("ascii", "replace")
        if not commit:
            raise InvalidInputError("the repository is empty: it has no default branch with a commit")
        if len(commit) != _COMMIT_LENGTH:
            raise InvalidInputError("the repository has ids of SHA-256: only those with ids of SHA-1 are read")
        head.append(commit)
        return [] if commit == known else [refs[b"HEAD"]]

    def write(data: bytes) -> int:
        if pack.tell() + len(data) > max_bytes:
            raise _too_large(max_bytes)
        return pack.write(data)

    try:
        limit = b"blob:limit=%d" % LARGEST_FILE
        client.fetch_pack("", wanted, _NoHistory(), write, depth=1, ref_prefix=[b"HEAD"], filter_spec=limit)  # type: ignore[arg-type]
    except NeurigraphError:
        raise
    except GitProtocolError as error:
        raise InvalidInputError(f"the repository's server refused, or broke Git's protocol: {error}") from error
    except Exception as error:  # what dulwich raises for an answer that is none of Git's
        raise InvalidInputError(
            f"the address does not answer in Git's protocol ({type(error).__name__}): give the one that Git clones"
        ) from error
    if not pack.tell() and head[0] != known:
        raise InvalidInputError("the repository's server sent no files")
    return None if head[0] == known else head[0]


class _NoHistory:
    """Tells the server that no commits are here, so it sends all."""

    def __next__(self) -> None:
        return None

    def ack(self, commit: bytes) -> None:
        """Do nothing."""

    def nak(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class _Response:
    """The attributes of an answer that dulwich reads."""

    content_type: str
    redirect_location: str
    body: IO[bytes]

    def close(self) -> None:
        self.body.close()


class _Client(AbstractHttpGitClient):
    """dulwich's client, whose requests go to allowed addresses only and are bounded."""

    def __init__(self, hosts: AllowedHosts, url: str, seconds: float, max_bytes: int, files: ExitStack) -> None:
        super().__init__(url.partition("#")[0], thin_packs=False, quiet=True)
        self._hosts = hosts
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._max_bytes = max_bytes
        self._files = files

    @staticmethod
    def _warn_filter_objects() -> None:
        """Say nothing of a server that cannot leave large files out: the reader does."""

    def _http_request(
        self,
        url: str,
        headers: dict[str, str] | None = None,
        data: bytes | Iterator[bytes] | None = None,
        raise_for_status: bool = True,
    ) -> tuple[Any, Callable[[int], bytes]]:
        asked = url
        if data is None and not url.endswith(_NAMES):
            raise InvalidInputError("the repository's server names another address for its files: it is not fetched")
        for _ in range(MAX_REDIRECTS + 1):
            body: IO[bytes] = self._files.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
            answer = self._send(url, headers or {}, data, body)
            if answer.status not in REDIRECTS or data is not None or "location" not in answer.headers:
                return self._accepted(asked, url, answer, body), body.read
            url = urljoin(url, answer.headers["location"]).partition("#")[0]
        raise InvalidInputError(
            f"the repository redirects more than {MAX_REDIRECTS} times: give the address that it leads to"
        )

    def _send(self, url: str, headers: dict[str, str], data: Any, body: IO[bytes]) -> Answer:
        check_address = self._hosts.check(url)
        most = _MOST_NAMES if data is None else self._max_bytes + _MOST_NAMES
        try:
            answer = send(
                "GET" if data is None else "POST",
                url,
                headers={"User-Agent": "git/neurigraph", **headers},
                content=data or b"",
                seconds=max(self._deadline - time.monotonic(), 0.001),
                max_bytes=most + 1,
                check_address=check_address,
                into=body,
            )
        except ProviderError as error:
            raise InvalidInputError(f"the repository cannot be fetched: {error}") from error
        except OSError as error:
            raise TransientError(
                f"the repository could not be fetched in {self._seconds:g} seconds ({error})"
            ) from error
        if body.tell() > most:
            raise _too_large(most)
        body.seek(0)
        return answer

    def _accepted(self, asked: str, url: str, answer: Answer, body: IO[bytes]) -> _Response:
        if answer.status in TRY_AGAIN:
            raise TransientError(f"the repository's server answered {answer.status}: try again later")
        if answer.status != 200:
            raise InvalidInputError(
                f"the repository's server answered {answer.status}: check the address; only public ones are fetched"
            )
        content_type = answer.headers.get("content-type", "")
        if not content_type.startswith(_SERVICE):  # dulwich would fetch file by file from a server without the protocol
            raise InvalidInputError("there is no repository at this address: give the one that Git clones")
        return _Response(content_type, url if url != asked else "", body)


def _too_large(most: int) -> InvalidInputError:
    return InvalidInputError(f"the repository exceeds {most:,} bytes: raise NEURIGRAPH_WEB_REPOSITORY_BYTES")
