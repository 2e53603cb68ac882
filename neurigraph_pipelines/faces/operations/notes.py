"""Notes: texts that are remembered as they are."""

from __future__ import annotations

from neurigraph_pipelines.faces.operations.call import Call, Who
from neurigraph_pipelines.faces.operations.registry import OperationGroup
from neurigraph_pipelines.faces.operations.requests import NewNote
from neurigraph_pipelines.inbox.notes import write_note
from neurigraph_pipelines.views.inbox import Note

operation = OperationGroup("add", Who.WRITER)


@operation(
    "POST /notes",
    "note",
    tool="remember",
    status=202,
    refusals=(409,),
    answers={200: {"model": Note, "description": "The same note was there already."}},
    notes_lag=True,
    options={"document_type": "--type", "metadata": "--meta"},
)
def remember(call: Call, body: NewNote) -> Note:
    """Write a note, which is remembered as it is. It is stored in the background.

    A note that is pinned to a node lies there; others are filed by the language model. The same text again, with the
    same title, node and privacy, is the same note as long as its memory is current.
    """
    call.look(node_id=body.node_id, replaces=body.replaces)
    written = write_note(call.context, body.note)
    call.told.status = 202 if written.created else 200
    call.told.headers["Location"] = f"/v1/notes/{written.note_id}"
    return written
