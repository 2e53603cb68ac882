"""The inbox of notes: write one, and set its privacy."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Response

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Writer
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.inbox.notes import write_note
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.views import inbox as views
from neurigraph_pipelines.views.sources import Notes, NoteState

router = APIRouter(prefix="/notes", tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))


@router.post(
    "",
    dependencies=[NotesLag],
    status_code=202,
    responses={200: {"model": views.Note, "description": "The same note was there already."}},
)
def remember(body: requests.NewNote, response: Response, caller: Writer, installation: InstallationDep) -> views.Note:
    """Write a note, which is remembered as it is. It is stored in the background: see `GET /v1/notes/{note_id}`.

    A note that is pinned to a node lies there; others are filed by the language model. The same text again, with the
    same title, node and privacy, is the same note as long as its memory is current.
    """
    look(installation.database, caller, node_id=body.node_id, replaces=body.replaces)
    written = write_note(installation.acting_for(caller), body.note)
    if not written.created:
        response.status_code = 200
    response.headers["Location"] = f"/v1/notes/{written.note_id}"
    return views.Note.model_validate(asdict(written))


sources.add_common(router, "", SourceKind.NOTE, Notes, NoteState)
