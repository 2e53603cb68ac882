"""Requests to the homes of peers: users' addresses, so everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. The
connection goes to the IP address that was checked, follows no redirect, uses no proxy, and has limits of time and size.
"""

from __future__ import annotations

from collections.abc import Mapping

from neurigraph_pipelines.errors import ConflictError, InvalidInputError, ProviderError, TransientError
from neurigraph_pipelines.ports import PeerAnswer
from resources.allowed_hosts import AllowedHosts
from resources.outgoing_request import content_of, send


class HttpPeerClient:
    """Implements ``ports.PeerClient`` over HTTP.

    Args:
        hosts: Names that may be called, as ``AllowedHosts`` says.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one request, the name lookup included.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], seconds: float) -> None:
        self._hosts = AllowedHosts(hosts, local_hosts, "peer", "NEURIGRAPH_PEER_HOSTS")
        self._seconds = seconds

    @property
    def is_on(self) -> bool:
        """Whether the settings allow any host."""
        return self._hosts.are_any

    def check(self, url: str) -> None:
        """Check the form and the host of an address; its IP addresses are checked with every request."""
        self._hosts.check(url)

    def ask(self, method: str, url: str, headers: Mapping[str, str], body: bytes, max_bytes: int) -> PeerAnswer:
        """Send one request."""
        try:
            check_address = self._hosts.check(url)
        except (InvalidInputError, ConflictError) as error:  # the settings have changed since it was added
            raise ProviderError(str(error)) from error
        try:
            answer = send(
                method,
                url,
                headers={"Accept-Encoding": "gzip", **headers},
                seconds=self._seconds,
                content=body,
                max_bytes=max_bytes + 1,
                check_address=check_address,
            )
        except OSError as error:
            raise TransientError(f"the home could not be reached in time ({error})") from error
        try:
            content = content_of(answer, max_bytes)
        except OSError as error:
            raise TransientError("the answer of the home was cut off") from error
        if len(content) > max_bytes:
            raise ProviderError(f"the home answered with more than {max_bytes:,} bytes: nothing of it is used")
        return PeerAnswer(answer.status, content, answer.headers.get("neurigraph-signature"), len(answer.body))
