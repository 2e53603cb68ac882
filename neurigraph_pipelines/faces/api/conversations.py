"""The inbox of conversations: open them, append messages, end them, set their privacy."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import Author, InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.lag import NotesLag
from neurigraph_pipelines.faces.api.preconditions import NOT_MODIFIED, ConversationGuard
from neurigraph_pipelines.faces.api.problems import documented
from neurigraph_pipelines.faces.operations import requests
from neurigraph_pipelines.faces.operations.sight import look
from neurigraph_pipelines.model import SourceKind
from neurigraph_pipelines.views import inbox as views
from neurigraph_pipelines.views.sources import Conversations, ConversationState

router = APIRouter(prefix="/conversations", tags=["add"], responses=documented(401, 403, 404, 409, 413, 422, 503))


@router.post(
    "",
    dependencies=[NotesLag],
    status_code=201,
    responses={200: {"model": views.Conversation, "description": "The conversation exists already."}},
)
def open_conversation(
    body: requests.NewConversation, response: Response, caller: Writer, installation: InstallationDep, once: Once
) -> views.Conversation:
    """Open a conversation, or return the existing one with the same `external_id`."""
    look(installation.database, caller, replaces=body.replaces)
    with installation.database.agent(caller) as tx:
        once.admit(tx)
        conversation_id, created = sources.inbox(installation).open_source(
            tx,
            caller.user_id,
            SourceKind.CONVERSATION,
            external_id=body.external_id,
            title=body.title,
            started_at=body.started_at,
            privacy=body.privacy,
            details=body.details,
        )
        opened = views.Conversation(conversation_id=conversation_id)
        if created:
            once.note_result(tx, opened)
    if not created:
        response.status_code = 200
    return opened


@router.post("/{conversation_id}/messages", dependencies=[NotesLag])
def append_messages(
    conversation_id: UUID, body: requests.NewMessages, caller: Writer, installation: InstallationDep, once: Once
) -> views.Appended:
    """Append messages in the order given.

    Messages can be found once they are stored, which happens when the conversation has ended or has grown long. To
    store a response while it is streaming, send the text so far with `complete` false, and send it again under the same
    `external_id` as it grows. Each time it replaces the previous text, as long as it is the newest message and not
    complete.
    """
    return sources.append(installation, caller, SourceKind.CONVERSATION, conversation_id, body.messages, once)


@router.post("/{conversation_id}/end", dependencies=[NotesLag])
def end_conversation(
    conversation_id: UUID, caller: Writer, installation: InstallationDep, body: requests.End | None = None
) -> views.Ended:
    """End a conversation. Ending it again changes nothing and returns the time of its first end."""
    ended_at = sources.end(installation, caller, SourceKind.CONVERSATION, conversation_id, body)
    return views.Ended(conversation_id=conversation_id, ended_at=ended_at)


@router.get("")
def list_conversations(asked: sources.ListingDep) -> Conversations:
    """List conversations with their states, the last received first. A persona sees its own."""
    return asked.of(SourceKind.CONVERSATION, Conversations)


@router.get("/{conversation_id}", responses=NOT_MODIFIED)
async def conversation_state(conversation_id: UUID, reading: sources.ReadingDep) -> ConversationState:
    """Return the state of a conversation, and the memories that it became."""
    return await sources.progress(reading, ConversationState, conversation_id)


@router.patch("/{conversation_id}", status_code=204, responses=documented(412))
def share_conversation(
    conversation_id: UUID,
    body: requests.Sharing,
    caller: Author,
    installation: InstallationDep,
    guard: ConversationGuard,
) -> None:
    """Make a conversation and all memories from it private, or share them again. Only the owner may do so."""
    sources.set_privacy(installation, caller, SourceKind.CONVERSATION, conversation_id, body, guard)
