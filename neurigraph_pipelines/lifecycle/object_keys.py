"""Where a file's bytes lie in the object store.

The durable object is written once and never changed; the working copy beside it exists while the file is active.
Keys mirror the graph as it was when the file was written: renaming a node moves no bytes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID, uuid5

from neurigraph_pipelines.graph.naming import slug

DURABLE = "durable/"
ACTIVE = "active/"
STAGING = "staging/"
_COMPRESSED = ".gz"
_OURS = re.compile(r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-[0-9a-f]{8}\.(?:jsonl|original)(?:\.gz)?")


def staging_key(received_at: datetime, number: UUID) -> str:
    """Key of uploaded bytes until a record holds them; the day in it tells how long they have been there."""
    return f"{STAGING}{received_at:%Y-%m-%d}/{number}"


def original_key(durable: str, compressed: bool) -> str:
    """Key of an uploaded file beside the transcript of its text, which lies at ``durable``."""
    return durable.removesuffix(f".jsonl{_COMPRESSED}") + ".original" + (_COMPRESSED if compressed else "")


def durable_key(user_slug: str, path: Sequence[str], record_id: UUID, attempt: UUID) -> str:
    """Key of a transcript's durable object.

    The attempt to store it is part of it, so that what a failed one wrote can be removed without touching another's
    object: a step that is repeated after it had committed must not take the bytes of its own records away.
    """
    folders = "/".join([user_slug, *map(slug, path)])
    return f"{DURABLE}{folders}/{record_id}-{attempt.hex[:8]}.jsonl{_COMPRESSED}"


def original_id(record_id: UUID) -> UUID:
    """The id of the original that was stored with a record, whichever record it belongs to since."""
    return uuid5(record_id, "original")  # as the commit makes it


def record_of(key: str) -> UUID | None:
    """The record that an object below ``DURABLE`` or ``ACTIVE`` was written for; None if it is not one of ours."""
    match = _OURS.fullmatch(key.rpartition("/")[2])
    return UUID(match[1]) if match is not None else None


def active_key(durable: str) -> str:
    """Key of the uncompressed working copy beside a durable object."""
    return ACTIVE + durable.removeprefix(DURABLE).removesuffix(_COMPRESSED)
