"""The inbox of conversations: open them, append messages, end them, set their privacy."""

from __future__ import annotations

from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.faces.api import sources
from neurigraph_pipelines.faces.api.authentication import InstallationDep, Writer
from neurigraph_pipelines.faces.api.idempotency import Once
from neurigraph_pipelines.faces.api.lag import NotesLag
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


sources.add_common(
    router,
    "",
    SourceKind.CONVERSATION,
    Conversations,
    ConversationState,
)
