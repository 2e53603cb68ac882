"""The hosts that users' addresses may name, as the settings say, and requests to them.

``outgoing_guard`` checks their IP addresses. What a request is for belongs to the modules that use these classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import IO

from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, ProviderError
from resources.outgoing_guard import refuse_link_local, require_global, split_url
from resources.outgoing_request import Answer, send

_HTTPS, _ANY = frozenset({"https"}), frozenset({"https", "http"})


class AllowedHosts:
    """The hosts that one kind of addresses may name.

    Args:
        hosts: Names that may be called: ``hooks.example.com``, ``*.example.com`` for all below it, ``*`` for all.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        what: What the addresses are of, such as ``webhook``, for messages.
        setting: The setting that names the hosts, for messages.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], what: str, setting: str) -> None:
        self._hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._local_hosts = {host.lower().rstrip(".") for host in local_hosts}
        self._what = what
        self._setting = setting

    @property
    def are_any(self) -> bool:
        """Whether the settings allow any host."""
        return bool(self._hosts or self._local_hosts)

    def check(self, url: str) -> Callable[[str], None]:
        """Return the check of the IP addresses of an address that may be called.

        Raises:
            ConflictError: The settings allow no host.
            InvalidInputError: The address may not be called.
        """
        if not self.are_any:
            raise ConflictError(f"{self._what}s are off: name the hosts that may be called in {self._setting}")
        try:
            parts = split_url(url, _ANY)
        except ValueError as error:
            raise InvalidInputError(f"the {self._what}'s address {error}") from error
        host = (parts.hostname or "").rstrip(".")
        if host in self._local_hosts:
            return refuse_link_local
        if parts.scheme not in _HTTPS:
            raise InvalidInputError(f"the {self._what}'s address must begin with https://")
        if not any(_is_of(host, allowed) for allowed in self._hosts):
            raise InvalidInputError(f"the {self._what}'s host is not allowed: the operator names it in {self._setting}")
        return require_global


class AllowedCalls:
    """Single requests to allowed hosts.

    Args:
        hosts: The hosts that may be called.
        seconds: Time limit for one request, the name lookup included.
    """

    def __init__(self, hosts: AllowedHosts, seconds: float) -> None:
        self._hosts = hosts
        self._seconds = seconds

    @property
    def is_on(self) -> bool:
        """Whether the settings allow any host."""
        return self._hosts.are_any

    def check(self, url: str) -> None:
        """Check the form and the host of an address; its IP addresses are checked with every request.

        Raises:
            ConflictError: The settings allow no host.
            InvalidInputError: The address may not be called.
        """
        self._hosts.check(url)

    def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        max_bytes: int = 0,
        *,
        seconds_more: float = 0.0,
        into: IO[bytes] | None = None,
    ) -> Answer:
        """Send one request; see ``outgoing_request.send``.

        Raises:
            ProviderError: The address may not be called: the settings have changed since it was stored.
            OSError: The host was not reached, or the answer was not complete in time.
        """
        try:
            check_address = self._hosts.check(url)
        except (InvalidInputError, ConflictError) as error:
            raise ProviderError(str(error)) from error
        return send(
            method,
            url,
            headers=headers,
            seconds=self._seconds,
            seconds_more=seconds_more,
            content=content,
            max_bytes=max_bytes,
            check_address=check_address,
            into=into,
        )


def _is_of(host: str, allowed: str) -> bool:
    return allowed == "*" or host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:]))
