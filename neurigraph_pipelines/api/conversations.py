"""The inbox: conversations, their messages, their end."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter, Response

from neurigraph_pipelines.api import requests, responses
from neurigraph_pipelines.api.authentication import Caller, Here
from neurigraph_pipelines.api.problems import documented
from neurigraph_pipelines.ingestion.inbox import Inbox
from neurigraph_pipelines.model import NewMessage, SourceKind

router = APIRouter(prefix="/conversations", tags=["inbox"], responses=documented(401, 404, 413, 422, 503))


@router.post(
    "",
    status_code=201,
    response_model=responses.Conversation,
    responses={200: {"model": responses.Conversation, "description": "It existed already."}},
)
def open_conversation(
    body: requests.NewConversation, response: Response, caller: Caller, installation: Here
) -> dict[str, UUID]:
    """Open a conversation, or find the one of that `external_id`."""
    with installation.database.agent(caller) as tx:
        conversation_id, made = Inbox(installation.tokens, installation.settings).open_source(
            tx,
            caller.user_id,
            SourceKind.CONVERSATION,
            external_id=body.external_id,
            title=body.title,
            started_at=body.started_at,
        )
    if not made:
        response.status_code = 200
    return {"conversation_id": conversation_id}


@router.post("/{conversation_id}/messages", response_model=responses.Appended)
def append_messages(
    conversation_id: UUID, body: requests.NewMessages, caller: Caller, installation: Here
) -> dict[str, Any]:
    """Append messages in the order given. They become findable once the conversation has ended and was stored."""
    messages = [
        NewMessage(
            role=message.role,
            content=message.content,
            author=message.author,
            external_id=message.external_id,
            occurred_at=message.occurred_at,
            tool_calls=tuple(message.tool_calls),
        )
        for message in body.messages
    ]
    inbox = Inbox(installation.tokens, installation.settings)
    with installation.database.agent(caller) as tx:
        return asdict(inbox.append(tx, SourceKind.CONVERSATION, conversation_id, messages))


@router.post("/{conversation_id}/end", response_model=responses.Ended)
def end_conversation(
    conversation_id: UUID, caller: Caller, installation: Here, body: requests.End | None = None
) -> dict[str, UUID | datetime]:
    """Say that a conversation has ended. Ending it again changes nothing and gives its first end."""
    ended_at = body.ended_at if body is not None else None
    inbox = Inbox(installation.tokens, installation.settings)
    with installation.database.agent(caller) as tx:
        ended = inbox.end(tx, SourceKind.CONVERSATION, conversation_id, ended_at)
    return {"conversation_id": conversation_id, "ended_at": ended}
