"""``supersede`` and ``forget``: the changes that an agent may make to stored memories."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from neurigraph_pipelines.faces.mcp.calls import AgentCall
from neurigraph_pipelines.faces.mcp.framing import inline
from neurigraph_pipelines.faces.mcp.tools.answer import Only, Result, Shown
from neurigraph_pipelines.faces.mcp.tools.tool import Arguments, ListOf, Tool, takes
from neurigraph_pipelines.faces.operations import erasures, memories
from neurigraph_pipelines.lifecycle.erasure.confirmation import confirmation, require_confirmation
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.views.erasures import Erasure, ErasurePreview
from neurigraph_pipelines.views.memories import Memory

MAX_SUBJECTS = 50

_NODES_SHOWN = 20


@takes(memories.supersede, record_id="The memory that no longer holds.", by="")
class SupersedeArguments(Arguments):
    """Arguments of ``supersede``."""

    by: str = Field(default="", description="The newer memory; leave it out to undo.")


class Superseded(Shown[Memory]):
    """The state after a change."""

    SHOWS = ("record_id", "superseded_by")

    def lines(self) -> Iterator[str]:
        """Yield the new version."""
        record_id, newer_id = self.view.record_id, self.view.superseded_by
        if newer_id is None:
            yield f"The memory with record_id {record_id} holds again: searches find it."
        else:
            yield f"The memory with record_id {record_id} is replaced by record_id {newer_id}."
            yield "Searches skip it; memory_history still shows it. To undo, call again without by."


def supersede(call: AgentCall, given: SupersedeArguments) -> Superseded:
    """Mark a memory as replaced, or undo that."""
    return Superseded(view=call.do(memories.supersede, {"by": None} | given.of(memories.supersede)))


class ForgetArguments(Arguments):
    """Arguments of ``forget``."""

    record_ids: ListOf[UUID] = Field(default=[], max_length=MAX_SUBJECTS)
    node_ids: ListOf[UUID] = Field(default=[], max_length=MAX_SUBJECTS, description="Each with all that lies below.")
    token: str = Field(default="", max_length=20_000, description="From the dry run, to erase what it showed.")

    @property
    def subjects(self) -> list[ErasureSubject]:
        """The things to erase, each once."""
        subjects = [ErasureSubject(SubjectKind.RECORD, one) for one in dict.fromkeys(self.record_ids)]
        subjects += [ErasureSubject(SubjectKind.NODE, one) for one in dict.fromkeys(self.node_ids)]
        if not subjects:
            raise InvalidInputError("there is nothing to forget: give record_ids or node_ids")
        return subjects


class ForgetReply(Result):
    """The things that would be erased, or were."""

    is_dry_run: bool
    would_erase: list[Annotated[ErasurePreview, Only()]] = Field(default_factory=list)
    token: str | None = None
    expires_at: str | None = None
    receipts: list[Annotated[Erasure, Only(*Erasure.model_fields)]] = Field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """Yield the preview and the next step, or the receipt."""
        if self.is_dry_run:
            yield "Nothing was erased. This would be erased for good:"
        for one in self.would_erase:
            yield (
                f"{one.subject_kind} {one.subject_id}: {one.record_count} records, {one.delta_count} changes, "
                f"{one.file_count} files, {one.source_count} whole sources"
            )
            yield from (f"  node {inline(path)}" for path in one.nodes)
        if self.token is not None:
            yield "Show this to the person whose memory it is. Only if they agree, call forget again with the same ids"
            yield f"and this token before {self.expires_at}: {self.token}"
        for receipt in self.receipts:
            counts = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in receipt.erased.items())
            yield f"Erased for good: {receipt.subject_kind} {receipt.subject_id} ({counts or 'nothing'})"
            at = receipt.finished_at
            when = f"finished at {at.isoformat()}" if at else "finished within an hour"
            yield f"  receipt: erasure_id {receipt.erasure_id}, {when}"


def forget(call: AgentCall, given: ForgetArguments) -> ForgetReply:
    """Show a preview of an erasure; with the preview's token, erase."""
    subjects, asked = given.subjects, (call.installation.database, call.installation.secret, call.claims)
    if not given.token:
        previews = [_erased(call, subject, dry_run=True) for subject in subjects]
        token, expires_at = confirmation(*asked, subjects)
        short = [one.model_copy(update={"nodes": one.nodes[:_NODES_SHOWN]}) for one in previews]
        return ForgetReply(is_dry_run=True, would_erase=short, token=token, expires_at=expires_at.isoformat())
    require_confirmation(*asked, subjects, given.token)
    return ForgetReply(is_dry_run=False, receipts=[_erased(call, subject, dry_run=False) for subject in subjects])


def _erased(call: AgentCall, subject: ErasureSubject, *, dry_run: bool) -> Any:
    """Return the preview of an erasure, or its receipt."""
    if subject.kind is SubjectKind.NODE:
        return call.do(erasures.forget_node, {"node_id": subject.subject_id, "dry_run": dry_run})
    return call.do(erasures.forget_record, {"record_id": subject.subject_id, "dry_run": dry_run})


SUPERSEDE = Tool(
    "supersede",
    "Mark a memory as replaced by a newer one. Nothing is lost, and a call without by undoes it.",
    SupersedeArguments,
    Superseded,
    supersede,
)
FORGET = Tool(
    "forget",
    "Erase memories permanently. Without a token: a dry run that erases nothing and returns a token, valid for five "
    "minutes and for exactly these ids. Ask the person before you call again with the token.",
    ForgetArguments,
    ForgetReply,
    forget,
)
