"""Stores a chat as a conversation of its user: the question when asked, and the complete answer.

What tools returned is not kept: only which messages they named. The answer is an assistant's, with an assistant's
authority, and the owner's chats are private, since an answer may rest on what only the owner sees.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from neurigraph_pipelines.access.authentication import require_writer
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import IncomingMessage, Privacy, Role, SourceKind
from neurigraph_pipelines.model.chat import CHAT_ORIGIN, Turn
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.chat.follow_ups import MOST_TURNS
from neurigraph_pipelines.views.scalars import UserJson

_TITLE_LENGTH = 80
_QUERIES = statements("documents")


def earlier_turns(context: Context, chat_id: UUID) -> list[Turn]:
    """Return the last turns of a chat that the caller sees, of those whose text is not stored in a file yet."""
    values = {"source_id": chat_id, "limit": MOST_TURNS}
    rows = context.database.ask(context.claims, _QUERIES["turns_of_chat"], values)
    return [Turn(row["role"], row["content"]) for row in reversed(rows)]


def open_chat(context: Context, turns: Sequence[Turn], chat_id: UUID | None, container_tag: str | None) -> UUID:
    """Add a question to a chat, or begin one with all turns; return the id of its conversation.

    Raises:
        InvalidInputError: A message is not acceptable.
        NotFoundError: There is no such conversation of the caller.
        ForbiddenError: The caller may not write.
    """
    require_writer(context.database, context.claims)
    inbox, claims = Inbox(context), context.claims
    is_private = claims.acts_for_owner or claims.role == "member"
    with context.database.agent(claims) as tx:
        new = turns[-1:]
        if chat_id is None:
            new = turns
            chat_id, _ = inbox.open_source(
                tx,
                claims.user_id,
                SourceKind.CONVERSATION,
                title=" ".join(turns[-1].content.split())[:_TITLE_LENGTH] or None,
                privacy=Privacy.PRIVATE if is_private else None,
                details=SourceDetails(origin=CHAT_ORIGIN, container_tags=(container_tag,) if container_tag else ()),
            )
        messages = [IncomingMessage(Role(turn.role), turn.content, external_id=turn.message_id) for turn in new]
        inbox.append(tx, SourceKind.CONVERSATION, chat_id, messages)
    return chat_id


def remember_answer(
    context: Context, chat_id: UUID, answer: str, message_id: str | None, calls: Sequence[UserJson]
) -> None:
    """Add an answer to a chat, with the calls that led to it; a repeated question's answer is not added twice."""
    said = IncomingMessage(
        Role.ASSISTANT,
        answer,
        external_id=f"answer:{message_id}" if message_id else None,
        tool_calls=tuple(dict(call) for call in calls),
    )
    with context.database.agent(context.claims) as tx:
        Inbox(context).append(tx, SourceKind.CONVERSATION, chat_id, [said])
