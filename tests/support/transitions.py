"""Transitions of a stored file: compress it, or lease it as a worker that dies."""

from __future__ import annotations

from uuid import uuid4

from neurigraph_pipelines.lifecycle import control, transitions
from neurigraph_pipelines.model import CompressionCause
from tests.support.files import StoredFile


def compress(file: StoredFile) -> None:
    control.compress(file.here.acting_for(file.claims), file.file_id)


def start_rehydration(file: StoredFile) -> None:
    """Lease the file as a worker that dies right after."""
    with file.here.database.pipeline() as tx:
        assert transitions.begin_rehydration(tx, file.here.settings, file.place, uuid4(), CompressionCause.RETRIEVAL)
