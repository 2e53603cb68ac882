"""A digest of a statement, by which its repetitions are counted."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_WORD = re.compile(r"[^\W_]+")


def statement_key(text: str) -> int | None:
    """Return 64 bits of a hash of the words of a text, in order and without case, width and punctuation.

    Returns:
        A signed number, as Postgres stores it; None for a text without words.
    """
    words = _WORD.findall(unicodedata.normalize("NFKC", text).casefold())
    if not words:
        return None
    digest = hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
