"""Where a file's bytes lie in the object store.

The durable object is written once and never changed; the working copy beside it exists while the file is active.
Keys mirror the graph as it was when the file was written: renaming a node moves no bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.graph.naming import slug

DURABLE = "durable/"
ACTIVE = "active/"
_COMPRESSED = ".gz"


def durable_key(user_slug: str, path: Sequence[str], record_id: UUID, batch_id: UUID) -> str:
    """Key of a transcript's durable object.

    The batch is part of it, so that an attempt that failed can be removed without touching another's object.
    """
    folders = "/".join([user_slug, *map(slug, path)])
    return f"{DURABLE}{folders}/{record_id}-{batch_id.hex[:8]}.jsonl{_COMPRESSED}"


def active_key(durable: str) -> str:
    """Key of the uncompressed working copy beside a durable object."""
    return ACTIVE + durable.removeprefix(DURABLE).removesuffix(_COMPRESSED)
