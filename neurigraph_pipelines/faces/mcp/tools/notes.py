"""``remember``: a note that an agent writes, which goes through the inbox as everything does."""

from __future__ import annotations

from collections.abc import Iterator

from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.tools.answer import Result, shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, Tool, takes
from neurigraph_pipelines.faces.operations import inbox as operations


@takes(
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
)
class RememberArguments(Arguments):
    """Arguments of ``remember``."""


class Remembered(Result):
    """A note that waits for its memory."""

    note_id: str
    version: int
    created: bool
    node_id: str | None
    replaces: str | None
    record_ids: list[str]

    def lines(self) -> Iterator[str]:
        """Yield the written note, and the way to find it."""
        if self.created:
            yield f"Noted: note_id {self.note_id}, version {self.version}. It is stored in the background."
            yield "Call remember again with the same arguments to get its record_id, which open_memory reads."
        else:
            yield f"This note was there already: note_id {self.note_id}, version {self.version}. Nothing was written."
            yield f"Its record_id: {', '.join(self.record_ids)}." if self.record_ids else "It waits to be stored."
        if self.node_id is not None:
            yield f"It lies at node_id {self.node_id}."
        if self.replaces is not None:
            yield f"Its memory replaces that of note_id {self.replaces}."


def remember(call: AgentCall, given: RememberArguments) -> Remembered:
    """Write a note."""
    return Remembered(**shown(call.do(operations.remember, given.of(operations.remember)), Remembered.model_fields))


REMEMBER = Tool(
    "remember",
    "Write a note: a fact, preference or decision worth keeping, in full sentences that stand alone. Writing the same "
    "note again changes nothing.",
    RememberArguments,
    Remembered,
    remember,
)
