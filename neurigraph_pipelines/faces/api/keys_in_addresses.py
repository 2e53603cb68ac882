"""Keys in addresses: requests with one are refused, and the access log never shows one.

Proxies, browsers and servers log addresses. ``authentication`` reads keys from the header.
"""

from __future__ import annotations

import logging
import re
from urllib.parse import parse_qsl

_NAMES = frozenset(
    "access_token admin_key api_key apikey auth authorization bearer credential id_token jwt key password secret "
    "token".split()
)
_KEY = re.compile(r"ng_[A-Za-z0-9_-]{16,}|eyJ(?:(?!eyJ)[A-Za-z0-9_-])+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*")
_HIDDEN = "…"


def has_key(query: bytes) -> bool:
    """Return whether a query string has a parameter with the name of a key, or something of the form of one."""
    return any(
        name.lower().replace("-", "_").removeprefix("x_") in _NAMES or _KEY.search(name) or _KEY.search(value)
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    )


class AddressFilter(logging.Filter):
    """Shortens the addresses in uvicorn's access log: query strings go, and so do texts that look like keys."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten the address of a record, and keep the record."""
        if isinstance(record.args, tuple):
            record.args = tuple(_shortened(part) if isinstance(part, str) else part for part in record.args)
        return True


def _shortened(text: str) -> str:
    path, mark, _ = text.partition("?")
    return _KEY.sub(_HIDDEN, path) + (mark and mark + _HIDDEN)
