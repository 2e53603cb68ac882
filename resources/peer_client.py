"""Requests to publishers, whose addresses come from users: everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. The
connection goes to the IP address that was checked, follows no redirect, uses no proxy, and has limits of time and size.
"""

from __future__ import annotations

from collections.abc import Mapping

from neurigraph_pipelines.model.errors import ProviderError, TransientError
from neurigraph_pipelines.model.ports import PeerAnswer
from resources.allowed_hosts import AllowedCalls, AllowedHosts
from resources.outgoing_request import content_of


class HttpPeerClient(AllowedCalls):
    """Implements ``ports.PeerClient`` over HTTP.

    Args:
        hosts: Names that may be called, as ``AllowedHosts`` says.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one request, the name lookup included.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], seconds: float) -> None:
        super().__init__(AllowedHosts(hosts, local_hosts, "peer", "NEURIGRAPH_PEER_HOSTS"), seconds)

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes, max_bytes: int) -> PeerAnswer:
        """Send one request."""
        try:
            answer = self._send(method, url, {"Accept-Encoding": "gzip", **headers}, body, max_bytes + 1)
        except OSError as error:
            raise TransientError(f"the publisher could not be reached in time ({error})") from error
        try:
            content = content_of(answer, max_bytes)
        except OSError as error:
            raise TransientError("the answer of the publisher was cut off") from error
        if len(content) > max_bytes:
            raise ProviderError(f"the publisher answered with more than {max_bytes:,} bytes: nothing of it is used")
        return PeerAnswer(answer.status, content, answer.headers.get("neurigraph-signature"), len(answer.body))
