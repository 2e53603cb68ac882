"""Reports by HTTP POST to an address of the operator's choice.

Belongs here: connecting, time limits, repetitions, and what is never done: no scheme but http and https, no
redirects, no proxies, no link-local addresses (where clouds keep their credentials), nothing read of an answer but
its status. What is reported is for the caller.
"""

from __future__ import annotations

import json
import random
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from ipaddress import IPv6Address, ip_address
from typing import Any
from urllib.parse import urlsplit

from neurigraph_pipelines.errors import ConfigurationError, ProviderError, TransientError

ATTEMPTS = 3
FIRST_WAIT_SECONDS = 0.5
"""Longest wait before the second attempt; doubles for the third."""

_PORTS = {"http": 80, "https": 443}
_PASSING_STATUS = frozenset({408, 425, 429})


class Webhook:
    """One address that takes JSON.

    Args:
        url: http or https; never shown, since such addresses carry their secret.
        timeout: Seconds that one report may take, repetitions included.

    Raises:
        ConfigurationError: The address is not one that can be posted to.
    """

    def __init__(self, url: str, timeout: float) -> None:
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ConfigurationError("NEURIGRAPH_FAILURE_WEBHOOK_URL is not an address") from error
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ConfigurationError("NEURIGRAPH_FAILURE_WEBHOOK_URL begins with http:// or https:// and names a host")
        if not url.isascii() or not url.isprintable() or " " in url or "@" in parts.netloc:
            raise ConfigurationError(
                "NEURIGRAPH_FAILURE_WEBHOOK_URL has a user, a blank or a character that must be escaped"
            )
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = port or _PORTS[parts.scheme]
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._timeout = timeout

    def post(self, body: Mapping[str, Any]) -> None:
        """Report ``body`` as JSON, again after a fault that may pass.

        Raises:
            TransientError: It could not be reached in time, or went on failing.
            ProviderError: It refused the report.
        """
        content = json.dumps(body).encode()
        deadline = time.monotonic() + self._timeout
        for attempt in range(1, ATTEMPTS + 1):
            # Half of what is left, so that one that hangs is not all that is tried.
            left = (deadline - time.monotonic()) / (2 if attempt < ATTEMPTS else 1)
            try:
                self._attempt(content, left)
            except TransientError:
                wait = random.uniform(0, FIRST_WAIT_SECONDS * 2 ** (attempt - 1))  # noqa: S311 - spreads load
                if attempt == ATTEMPTS or time.monotonic() + wait >= deadline:
                    raise
                time.sleep(wait)
            else:
                return

    def _attempt(self, content: bytes, seconds: float) -> None:
        started = time.monotonic()
        try:
            with self._connected(seconds) as connected:
                # A timeout of the socket is one of each read: only this bounds an answer that drips.
                cut_off = threading.Timer(max(started + seconds - time.monotonic(), 0.0), _shut, [connected])
                cut_off.start()
                try:
                    status = self._send(connected, content)
                finally:
                    cut_off.cancel()
        except (OSError, HTTPException) as error:
            raise TransientError(f"the webhook could not be reached in time ({type(error).__name__})") from error
        if status >= 500 or status in _PASSING_STATUS:
            raise TransientError(f"the webhook answered with status {status}")
        if not 200 <= status < 300:
            raise ProviderError(f"the webhook answered with status {status}: check NEURIGRAPH_FAILURE_WEBHOOK_URL")

    def _connected(self, seconds: float) -> socket.socket:
        """A connection to the first address that takes it: the very address that was looked at."""
        found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        for *_, address in found:
            if _is_link_local(str(address[0])):
                raise ProviderError("the webhook's address is link-local: reports are not sent there")
        deadline = time.monotonic() + seconds
        for place, (family, kind, protocol, _, address) in enumerate(found, start=1):
            raw = socket.socket(family, kind, protocol)
            try:
                raw.settimeout(max(deadline - time.monotonic(), 0.001))
                raw.connect(address)
                return self._wrapped(raw)
            except OSError:
                raw.close()
                if place == len(found):
                    raise
        raise OSError("the webhook's host has no address")

    def _wrapped(self, raw: socket.socket) -> socket.socket:
        if not self._secure:
            return raw
        return ssl.create_default_context().wrap_socket(raw, server_hostname=self._host)

    def _send(self, connected: socket.socket, content: bytes) -> int:
        connection = HTTPConnection(self._host, self._port)
        connection.sock = connected
        headers = {"Content-Type": "application/json", "User-Agent": "neurigraph", "Connection": "close"}
        connection.request("POST", self._target, content, headers)
        with connection.getresponse() as answer:
            return answer.status


def _is_link_local(address: str) -> bool:
    found = ip_address(address.partition("%")[0])
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return (mapped or found).is_link_local


def _shut(connected: socket.socket) -> None:
    try:
        socket.socket.shutdown(connected, socket.SHUT_RDWR)  # below TLS, whose own would trip over the reader
    except OSError:
        return  # it is over already
