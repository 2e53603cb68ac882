"""Requests to publishers, whose addresses come from users: everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. The
connection goes to the IP address that was checked, follows no redirect, uses no proxy, and has limits of time and size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from io import BufferedRandom

from neurigraph_pipelines.model.errors import ProviderError, TransientError
from neurigraph_pipelines.model.ports import PeerAnswer
from resources.allowed_hosts import AllowedCalls, AllowedHosts
from resources.outgoing_request import content_of


class HttpPeerClient(AllowedCalls):
    """Implements ``ports.PeerClient`` over HTTP.

    Args:
        hosts: Names that may be called, as ``AllowedHosts`` says.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one request with its first four MiB, the name lookup included, and for every four more
            once these have come.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], seconds: float) -> None:
        super().__init__(AllowedHosts(hosts, local_hosts, "peer", "NEURIGRAPH_PEER_HOSTS"), seconds)

    def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes,
        max_bytes: int,
        into: BufferedRandom | None = None,
    ) -> PeerAnswer:
        """Send one request."""
        accepted = {"Accept-Encoding": "gzip" if into is None else "identity"}
        try:
            answer = self._send(
                method, url, {**accepted, **headers}, body, max_bytes + 1, seconds_more=self._seconds, into=into
            )
        except OSError as error:
            raise TransientError(f"the publisher could not be reached in time ({error})") from error
        try:
            content = content_of(answer, max_bytes)
        except OSError as error:
            raise TransientError("the answer of the publisher was cut off") from error
        size, sent = (len(content), len(answer.body)) if into is None else (into.tell(), into.tell())
        if size > max_bytes:
            raise ProviderError(f"the publisher answered with more than {max_bytes:,} bytes: nothing of it is used")
        if into is not None:
            into.seek(0)
        sha256 = hashlib.sha256(content) if into is None else hashlib.file_digest(into, "sha256")
        return PeerAnswer(answer.status, content, sha256.digest(), answer.headers.get("neurigraph-signature"), sent)
