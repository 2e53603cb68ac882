"""Ids of sources that are given by their writer, or follow from a name."""

from __future__ import annotations

import hashlib

MAX_EXTERNAL_ID_LENGTH = 300


def external_id_of(kind: str, name: str) -> str:
    """Return the id of a thing that is known by its name: ``kind:name``, or of a long name its SHA-256.

    Args:
        kind: What names are unique in, such as ``drop``.
        name: Storable text: other bytes under the same name are its next version.
    """
    known = f"{kind}:{name}"
    if len(known) <= MAX_EXTERNAL_ID_LENGTH:
        return known
    return f"{kind}:sha256:{hashlib.sha256(known.encode()).hexdigest()}"
