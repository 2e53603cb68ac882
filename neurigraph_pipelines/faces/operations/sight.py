"""Looks at ids first: hidden and missing things take one path and the same time.

The database decides (``neurigraph.sees``). Operations rely on its policies, never on this check alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from pydantic import BaseModel

from neurigraph_pipelines.access.authentication import require_visible
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.model.ports import Database
from neurigraph_pipelines.views.base import Form

KINDS = {
    "node_id": "node",
    "parent_node_id": "node",
    "into_node_id": "node",
    "persona_id": "node",
    "edge_id": "edge",
    "record_id": "record",
    "fact_id": "fact",
    "from_fact_id": "fact",
    "to_fact_id": "fact",
    "other_fact_id": "fact",
    "from_record_id": "record",
    "to_record_id": "record",
    "to_node_id": "node",
    "to_source_id": "source",
    "link_id": "link",
    "signing_key_id": "signing_key",
    "by": "record",
    "file_id": "file",
    "conversation_id": "source",
    "event_id": "source",
    "upload_id": "source",
    "source_id": "source",
    "document_id": "source",
    "note_id": "source",
    "replaces": "source",
    "key_id": "key",
    "grant_id": "grant",
    "failure_id": "failure",
    "quarantine_id": "quarantine",
    "action_id": "action",
    "digest_id": "digest",
    "webhook_id": "webhook",
    "space_id": "space",
}
"""The kinds of things that ids name, by the names of parameters and fields."""


def ids_of(given: BaseModel | None) -> Iterator[tuple[str, UUID | None]]:
    """Yield the ids in a form or a filter by their names, those of its lists and of forms in it too."""
    for name, value in given or ():
        one = name.removesuffix("s")
        if isinstance(value, Form):
            yield from ids_of(value)
        elif name in getattr(given, "SEEN_LATER", ()):
            continue
        elif name in KINDS:
            yield name, value
        elif one in KINDS and isinstance(value, list):
            yield from ((one, each) for each in value)


def look(database: Database, caller: Claims, **ids: UUID | str | None) -> None:
    """Require that the caller sees the things with some ids; the names of the arguments say their kinds.

    Raises:
        NotFoundError: One of them does not exist, or is hidden from the caller.
    """
    for name, value in ids.items():
        try:
            wanted = UUID(str(value)) if value is not None else None
        except ValueError:  # the operation says what is wrong with it
            continue
        if wanted is not None:
            require_visible(database, caller, KINDS[name], wanted)
