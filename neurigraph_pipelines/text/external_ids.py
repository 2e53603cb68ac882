"""Ids of sources that are given by their writer, or follow from a name."""

from __future__ import annotations

import hashlib

from neurigraph_pipelines.model.errors import InvalidInputError

MAX_EXTERNAL_ID_LENGTH = 300

MAX_PARTS = 8
"""Most parts of a name that may be a path, such as ``work/boats``: of a space, or of a document."""


def require_few_parts(what: str, name: str) -> None:
    """Require that a name is a path of at most ``MAX_PARTS`` parts.

    Raises:
        InvalidInputError: It has more.
    """
    if (parts := len(name.split("/"))) > MAX_PARTS:
        raise InvalidInputError(f"the {what} has {parts} parts between slashes and the limit is {MAX_PARTS}")


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
