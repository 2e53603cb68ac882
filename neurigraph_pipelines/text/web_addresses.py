"""Hosts and origins that a request names, for servers that no web page of another origin may use.

Pure functions of headers; each server decides which requests it refuses.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443}


def address_of(origin: str) -> tuple[str, int] | None:
    """Return host and port of an origin; None for ``null`` and for values that are no origin of a web page."""
    try:
        parts = urlsplit(origin)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if port and parts.hostname and parts.scheme in _PORTS else None


def host_of(header: str) -> str | None:
    """Return the host of a header ``Host`` without its port; None if the header is malformed."""
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises for what is no port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == header and "@" not in header else None


def is_loopback(host: str) -> bool:
    """Return whether a host is ``localhost`` or a loopback address."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
