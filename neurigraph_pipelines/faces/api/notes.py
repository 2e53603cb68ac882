"""The lists and the privacy of notes; ``operations.notes`` writes one."""

from __future__ import annotations

from fastapi import APIRouter

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.views.sources import Notes, NoteState

router = APIRouter(prefix="/notes", tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))
sources.add_common(router, "", SourceKind.NOTE, Notes, NoteState)
