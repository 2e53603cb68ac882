"""Repair text so that JSON, UTF-8 and models accept it.

Unlike ``text.hygiene``, this joins surrogate pairs and never rejects a text; the domain decides what is stored.
"""

from __future__ import annotations


def well_formed(text: str) -> str:
    """Replace NUL characters and lone surrogates by U+FFFD; join surrogate pairs."""
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return joined.replace("\0", "\N{REPLACEMENT CHARACTER}")
