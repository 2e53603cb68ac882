"""``POST /v1/memories``: adds a conversation or a note in one call, by the functions of the longer ways."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from fastapi import APIRouter, Request, Response
from pydantic import Field, model_validator
from starlette.concurrency import run_in_threadpool

from neurigraph_pipelines.access.guards import Guard
from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.faces.operations.source_fields import PRIVACY, SourceFields, Where
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, write_note
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.model import Claims, Privacy, Progress, SourceKind
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH
from neurigraph_pipelines.views.base import Form
from neurigraph_pipelines.views.inbox import Added
from neurigraph_pipelines.wiring.installation import Installation

router = APIRouter(tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))


class NewMemory(Form, SourceFields, Where):
    """A memory to add: the messages of a whole conversation, or one text."""

    messages: list[requests.NewMessage] | None = Field(
        default=None, min_length=1, max_length=requests.MAX_MESSAGES, description="A conversation from end to end."
    )
    content: str | None = Field(
        default=None,
        description="A text to remember as it is, instead of messages.",
        json_schema_extra={"minLength": 1},
    )
    title: str | None = Field(
        default=None,
        description="Default: the language model finds one.",
        json_schema_extra={"maxLength": MAX_TITLE_LENGTH},
    )
    external_id: str | None = Field(
        default=None,
        description="Your id of a conversation; messages under a known one continue it.",
        json_schema_extra={"maxLength": MAX_EXTERNAL_ID_LENGTH},
    )
    occurred_at: datetime | None = Field(default=None, description="When it was said, or began. Default: now.")
    privacy: Privacy | None = Field(default=None, description=PRIVACY)

    @model_validator(mode="after")
    def _one_thing(self) -> Self:
        if (self.messages is None) is (self.content is None):
            raise ValueError("give either messages or a content")
        if self.messages is not None and self.node_id is not None:
            raise ValueError("node_id is for a content: the messages of a conversation are filed by what they say")
        if self.content is not None and self.external_id is not None:
            raise ValueError("external_id is for messages: the same content is one note without an id")
        return self

    @property
    def note(self) -> IncomingNote:
        """The content as a note."""
        return IncomingNote(
            self.content or "",
            title=self.title,
            node_id=self.node_id,
            occurred_at=self.occurred_at,
            privacy=self.privacy,
            details=self.details,
        )


@router.post(
    "/memories",
    dependencies=[NotesLag],
    status_code=201,
    responses={200: {"model": Added, "description": "It was there already, and nothing was added."}},
)
async def add_memory(
    body: NewMemory,
    request: Request,
    response: Response,
    caller: Writer,
    installation: InstallationDep,
    once: Once,
    wait: sources.Wait = 0.0,
) -> Added:
    """Add a conversation that has ended, or a note. It can be found at once, and is stored in the background.

    With a `wait` the answer has the memories that it became by then. An answer that is repeated for an
    `Idempotency-Key` is that of the moment at which it was added.
    """
    add = _write_note if body.messages is None else _store_conversation
    added = await run_in_threadpool(add, installation, caller, body, once)
    if not added.created:
        response.status_code = 200
    response.headers["Location"] = f"/v1/{added.source_kind}s/{added.source_id}"
    if added.created and not wait:
        return added
    await request.app.state.waiters.wait(added.source_id, wait)
    found = await run_in_threadpool(
        get_source, installation.database, caller, SourceKind(added.source_kind), added.source_id
    )
    return added.model_copy(update={"state": found.state, "record_ids": found.record_ids})


def _write_note(installation: Installation, caller: Claims, body: NewMemory, _: Guard) -> Added:
    """Write the content as a note; the same note again is that note, so it needs no guard."""
    look(installation.database, caller, node_id=body.node_id)
    written = write_note(installation.acting_for(caller), body.note)
    return Added(
        source_kind=SourceKind.NOTE,
        source_id=written.note_id,
        created=written.created,
        state=Progress.STORED if written.record_ids else Progress.WAITING,
        record_ids=list(written.record_ids),
        conflicts=[],
        redacted=written.redacted,
    )


def _store_conversation(installation: Installation, caller: Claims, body: NewMemory, once: Guard) -> Added:
    """Open a conversation, append its messages and end it: all of that or nothing."""
    inbox = Inbox(installation.context)
    with installation.database.agent(caller) as tx:
        once.admit(tx)
        source_id, created = inbox.open_source(
            tx,
            caller.user_id,
            SourceKind.CONVERSATION,
            external_id=body.external_id,
            title=body.title,
            started_at=body.occurred_at,
            privacy=body.privacy,
            details=body.details,
        )
        appended = inbox.append(tx, SourceKind.CONVERSATION, source_id, [one.message for one in body.messages or ()])
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
        added = Added(
            source_kind=SourceKind.CONVERSATION,
            source_id=source_id,
            created=created or appended.added > 0,
            state=Progress.WAITING,
            record_ids=[],
            conflicts=appended.conflicts,
            redacted=appended.redacted,
        )
        once.note_result(tx, added, status=201 if added.created else 200)
    return added
