"""``remember``: a note that an agent writes, which goes through the inbox as everything does."""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.faces.mcp.tools.answer import Shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Tool, does, takes
from neurigraph_pipelines.faces.operations import inbox as operations
from neurigraph_pipelines.views.inbox import Note


class Remembered(Shown[Note]):
    """A note that waits for its memory."""

    SHOWS = ("note_id", "version", "created", "node_id", "replaces", "record_ids")

    def lines(self) -> Iterator[str]:
        """Yield the written note, and the way to find it."""
        note = self.view
        if note.created:
            yield f"Noted: note_id {note.note_id}, version {note.version}. It is stored in the background."
            yield "Call remember again with the same arguments to get its record_id, which open_memory reads."
        else:
            yield f"This note was there already: note_id {note.note_id}, version {note.version}. Nothing was written."
            records = ", ".join(map(str, note.record_ids))
            yield f"Its record_id: {records}." if records else "It waits to be stored."
        if note.node_id is not None:
            yield f"It lies at node_id {note.node_id}."
        if note.replaces is not None:
            yield f"Its memory replaces that of note_id {note.replaces}."


REMEMBER = Tool(
    "remember",
    "Write a note: a fact, preference or decision worth keeping, in full sentences that stand alone. Writing the same "
    "note again changes nothing.",
    takes(
        operations.remember,
        content="",
        title="",
        path="Node to file it at, such as Family/Dave.",
        node_id="",
        importance="",
        priority="",
        tags="",
        url="Page that it is from.",
        tier="short: kept for hours; mid: for days; default: for good.",
        replaces="note_id that this one supersedes.",
        on_conflict="If the node has a note of this title: refuse it, or replace that one.",
    )(Arguments),
    Remembered,
    does(operations.remember, Remembered),
)
