"""Sends messages to the receivers of webhooks: users' addresses, so everything about them is untrusted.

Off until the settings allow hosts. https to public addresses only, save hosts that the settings name as local. The
connection goes to the IP address that was checked, follows no redirect, uses no proxy and has one time limit.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from neurigraph_pipelines.errors import ConflictError, InvalidInputError, ProviderError, TransientError
from neurigraph_pipelines.ports import WebhookAnswer
from resources.outgoing_guard import refuse_link_local, require_global, split_url
from resources.outgoing_request import send

_HTTPS, _ANY = frozenset({"https"}), frozenset({"https", "http"})


class HttpWebhookSender:
    """Implements ``ports.WebhookSender`` over HTTP.

    Args:
        hosts: Names that may be called: ``hooks.example.com``, ``*.example.com`` for all below it, ``*`` for all.
        local_hosts: Names or addresses that may be called over http and at addresses that are not public.
        seconds: Time limit for one message, after the name lookup.
    """

    def __init__(self, hosts: tuple[str, ...], local_hosts: tuple[str, ...], seconds: float) -> None:
        self._hosts = tuple(host.lower().rstrip(".") for host in hosts)
        self._local_hosts = {host.lower().rstrip(".") for host in local_hosts}
        self._seconds = seconds

    @property
    def is_on(self) -> bool:
        """Whether the settings allow any host."""
        return bool(self._hosts or self._local_hosts)

    def check(self, url: str) -> None:
        """Check the form and the host of an address; its IP addresses are checked with every message."""
        if not self.is_on:
            raise ConflictError("webhooks are off: name the hosts that may be called in NEURIGRAPH_WEBHOOK_HOSTS")
        self._is_local(url)

    def post(self, url: str, headers: Mapping[str, str], body: bytes) -> WebhookAnswer:
        """Send one message."""
        try:
            self.check(url)
            check_address = refuse_link_local if self._is_local(url) else require_global
        except (InvalidInputError, ConflictError) as error:  # the settings have changed since it was added
            raise ProviderError(str(error)) from error
        try:
            answer = send(
                "POST", url, headers=headers, seconds=self._seconds, content=body, check_address=check_address
            )
        except OSError as error:
            raise TransientError(f"the receiver could not be reached in time ({error})") from error
        return WebhookAnswer(answer.status, _seconds_of(answer.retry_after))

    def _is_local(self, url: str) -> bool:
        """Return whether the settings name the host of an address as local.

        Raises:
            InvalidInputError: The address may not be called.
        """
        try:
            parts = split_url(url, _ANY)
        except ValueError as error:
            raise InvalidInputError(f"the webhook's address {error}") from error
        host = (parts.hostname or "").rstrip(".")
        if host in self._local_hosts:
            return True
        if parts.scheme not in _HTTPS:
            raise InvalidInputError("the webhook's address must begin with https://")
        if not any(_is_of(host, allowed) for allowed in self._hosts):
            raise InvalidInputError(
                "the webhook's host is not allowed: the operator names it in NEURIGRAPH_WEBHOOK_HOSTS"
            )
        return False


def _is_of(host: str, allowed: str) -> bool:
    return allowed == "*" or host == allowed or (allowed.startswith("*.") and host.endswith(allowed[1:]))


def _seconds_of(retry_after: str | None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, which has seconds or a date; None if it has neither."""
    if retry_after is None:
        return None
    if retry_after.strip().isascii() and retry_after.strip().isdigit():
        return float(retry_after.strip()[:9])
    with suppress(ValueError, TypeError, OverflowError):
        moment = parsedate_to_datetime(retry_after)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max((moment - datetime.fromtimestamp(time.time(), UTC)).total_seconds(), 0.0)
    return None
