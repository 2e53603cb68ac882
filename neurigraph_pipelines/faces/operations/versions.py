"""Reads objects with their versions, which become their ETags."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.access.guards import find_version
from neurigraph_pipelines.graph import history, navigation
from neurigraph_pipelines.model import Claims
from neurigraph_pipelines.views.graph import Shell
from neurigraph_pipelines.views.memories import Memory
from neurigraph_pipelines.wiring.installation import Installation


def read_record(
    installation: Installation, caller: Claims, record_id: UUID, at: datetime | None = None
) -> tuple[str | None, Memory]:
    """Return the version of a record, and the record; of an earlier state with ``at``."""
    found = history.record_at(installation.database, caller, record_id, at)
    return None if found.delta_id is None else found.delta_id.hex, found


def read_node(installation: Installation, caller: Claims, node_id: UUID) -> tuple[str | None, Shell]:
    """Return the version of a node and its shell."""
    with installation.database.agent(caller) as tx:
        return find_version(tx, "node", node_id), navigation.shell(tx, node_id)


def read_source_version(installation: Installation, caller: Claims, source_id: UUID) -> str | None:
    """Return the version of a conversation, an event, an upload or a note."""
    with installation.database.agent(caller) as tx:
        return find_version(tx, "source", source_id)
