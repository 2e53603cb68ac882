"""Text that JSON, UTF-8 and models accept.

Belongs here: the repair of characters that no encoder takes. Not here: what the inbox stores or rejects,
which is the domain's decision.
"""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Replace NUL characters and lone surrogates by U+FFFD; join surrogate pairs."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "\N{REPLACEMENT CHARACTER}")
