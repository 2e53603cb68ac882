"""Files: their states, and changes of them. Opening streams a file, so each face does that by itself."""

from __future__ import annotations

from uuid import UUID

from neurigraph_pipelines.faces.operations.call import Call
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.lifecycle import control
from neurigraph_pipelines.views.files import File

operation = OperationGroup("files")


@operation("GET /files/{file_id}", "memory state")
def file_state(call: Call, file_id: UUID) -> File:
    """Return the state of a file, with its history. This does not count as an access."""
    return call.do(control.file_state, file_id)


@operation("POST /files/{file_id}/touch", "memory touch")
def touch(call: Call, file_id: UUID) -> File:
    """Reset the dormancy clock of a file, as opening it does. A dormant file stays dormant."""
    return control.touch(call.context, file_id)


@operation("POST /files/{file_id}/compress", refusals=(409,))
def compress(call: Call, file_id: UUID) -> File:
    """Make a file dormant now. Nothing happens if it is dormant already."""
    return control.compress(call.context, file_id)
