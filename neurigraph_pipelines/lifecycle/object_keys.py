"""Keys of files in the object store.

The durable object is written once and never changed. A working copy exists while the file is active. Keys follow the
graph as it was when the file was written: renaming a node moves no objects.
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
    """Return the key of an upload until a record stores it. The key contains the day, from which its age follows."""
    return f"{STAGING}{received_at:%Y-%m-%d}/{number}"


def original_key(durable: str, compressed: bool) -> str:
    """Return the key of an uploaded file, beside the transcript of its text at ``durable``."""
    return durable.removesuffix(f".jsonl{_COMPRESSED}") + ".original" + (_COMPRESSED if compressed else "")


def durable_key(user_slug: str, path: Sequence[str], record_id: UUID, attempt: UUID) -> str:
    """Return the key of a transcript's durable object.

    The key contains the attempt to store it, so that objects of a failed attempt can be removed safely: a step that is
    repeated after its commit must not remove the objects of its own records.
    """
    folders = "/".join([user_slug, *map(slug, path)])
    return f"{DURABLE}{folders}/{record_id}-{attempt.hex[:8]}.jsonl{_COMPRESSED}"


def original_id(record_id: UUID) -> UUID:
    """Return the id of the original that was stored with a record, even if it belongs to another record now."""
    return uuid5(record_id, "original")  # the commit uses the same rule


def record_of(key: str) -> UUID | None:
    """Return the record that an object below ``DURABLE`` or ``ACTIVE`` was written for; None for foreign objects."""
    match = _OURS.fullmatch(key.rpartition("/")[2])
    return UUID(match[1]) if match is not None else None


def active_key(durable: str) -> str:
    """Return the key of the uncompressed working copy of a durable object."""
    return ACTIVE + durable.removeprefix(DURABLE).removesuffix(_COMPRESSED)
