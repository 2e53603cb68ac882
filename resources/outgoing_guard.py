"""Which addresses of the network a request to somebody else's server may go to.

Belongs here: the form of an address (URL) and what its IP addresses may be. Every function fails closed: what it does
not understand is refused. ``outgoing_request`` connects to exactly the IP address that was checked.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from neurigraph_pipelines.model.errors import ProviderError

# They contain an IPv4 address, which a gateway on the way may take out again: NAT64 (also its local prefix), 6to4,
# Teredo and ISATAP. The others are relays and what is meant for tests.
_REFUSED = tuple(
    ip_network(text)
    for text in (
        "64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/23", "::/96", "::ffff:0:0:0/96", "fec0::/10",
        "3fff::/20", "5f00::/16", "100::/32", "192.88.99.0/24", "192.0.0.0/24",
    )
)  # fmt: skip
_ISATAP = 0x5EFE


def split_url(url: str, schemes: frozenset[str]) -> SplitResult:
    """Return the parts of an address that requests can be sent to.

    Raises:
        ValueError: It is malformed, has another scheme, no host, a user, or characters that must be escaped; the
            message says which, without the address.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError as error:
        raise ValueError("is not an address") from error
    if parts.scheme not in schemes or not parts.hostname:
        allowed = " or ".join(f"{scheme}://" for scheme in sorted(schemes))
        raise ValueError(f"must begin with {allowed} and name a host")
    if not url.isascii() or not url.isprintable() or " " in url or "\\" in url or "@" in parts.netloc:
        raise ValueError("contains a user, a blank or a character that must be escaped")
    return parts


def refuse_link_local(address: str) -> None:
    """Refuse a link-local IP address, where clouds serve credentials.

    Raises:
        ProviderError: It is one, or no IP address.
    """
    if _parsed(address).is_link_local:
        raise ProviderError("the address is link-local: nothing is sent there")


def require_global(address: str) -> None:
    """Refuse every IP address that is not a global one of a single host.

    Raises:
        ProviderError: It is private, loopback, link-local, multicast, reserved, or one that contains another address.
    """
    found = _parsed(address)
    is_embedding = isinstance(found, IPv6Address) and (int(found) >> 32) & 0xFFFF == _ISATAP
    if (
        is_embedding
        or "%" in address
        or not found.is_global
        or found.is_multicast
        or found.is_reserved
        or found.is_unspecified
        or any(found in network for network in _REFUSED if network.version == found.version)
    ):
        raise ProviderError("the address is not public: nothing is sent there")


def _parsed(address: str) -> IPv4Address | IPv6Address:
    """Return an IP address; an IPv4 address in the form of IPv6 as IPv4."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError as error:
        raise ProviderError("the host has no usable IP address") from error
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found
