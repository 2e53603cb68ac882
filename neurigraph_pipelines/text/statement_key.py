"""The one definition of two texts that say the same: equal keys."""

from __future__ import annotations

import hashlib
import unicodedata

_OPENING = "\"'“”„‘«»([{*_"
_CLOSING = "\"'“”’«»)]}*_.,;:!…。、"
_DASHES = {"-", "--", "---", "–", "—", "•", "·"}


def statement_key(text: str) -> int:
    """Return 64 bits of a hash of the words of a text without case, width, dashes, stops and quotes.

    Their order counts, and so do question marks and the signs of words and numbers: -5 is not 5, and C++ is not C.

    Returns:
        A signed number, as Postgres stores it; 0 for a text without words.
    """
    spoken = unicodedata.normalize("NFKC", text).casefold().split()
    words = [word for one in spoken if (word := one.lstrip(_OPENING).rstrip(_CLOSING)) and word not in _DASHES]
    if not words:
        return 0
    digest = hashlib.blake2b(" ".join(words).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
