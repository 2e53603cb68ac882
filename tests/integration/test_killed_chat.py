"""A chat whose process dies by SIGKILL at every instant that a client can tell apart, and inside the answer's write."""

from __future__ import annotations

import multiprocessing
import os
import signal
from typing import Any
from uuid import UUID

import pytest

from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.model import Claims, Role
from neurigraph_pipelines.model.chat import Turn
from neurigraph_pipelines.retrieval.chat import remembering
from neurigraph_pipelines.retrieval.chat.loop import Asked, chat
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import converse, ingest, new_user, plain_context, rows

QUESTION = "Where does Dave work?"
ASKED = Asked([Turn("user", QUESTION, message_id="q1")])


class _DyingInbox(Inbox):
    """Dies when the answer is written and not yet committed."""

    def append(self, *args: Any, **options: Any) -> Any:
        done = super().append(*args, **options)
        if any(message.role is Role.ASSISTANT for message in args[-1]):
            os.kill(os.getpid(), signal.SIGKILL)
        return done


def _chat_until(settings: Settings, claims: Claims, instant: str) -> None:
    # Connections of its own: the parent's would stay open.
    context = Installation(settings).context.acting_for(claims)
    if instant == "answer written":
        vars(remembering)["Inbox"] = _DyingInbox
    for event in chat(context, ASKED):
        if event.type == instant:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize(
    ("instant", "kept"),
    [
        ("conversation", ["user"]),
        ("tool_use", ["user"]),
        ("tool_result", ["user"]),
        ("answer written", ["user"]),
        ("assistant", ["user", "assistant"]),
    ],
)
def test_killed_chat_is_asked_again_and_holds_nothing_twice(
    shared_installation: Installation, instant: str, kept: list[str]
) -> None:
    here = shared_installation
    user, claims = new_user(here)
    converse(here, claims, "#Family/Dave My brother Dave works at the Blue Mill since May.")
    ingest(plain_context(here), user)
    spawned = multiprocessing.get_context("fork").Process(target=_chat_until, args=(here.settings, claims, instant))
    spawned.start()
    spawned.join(60)
    assert spawned.exitcode == -signal.SIGKILL
    (chat_id,) = _chats(here, user.user_id)
    assert [row["role"] for row in _messages(here, chat_id)] == kept
    again = Asked(ASKED.turns, chat_id=chat_id)
    shown = {event.type: event.data for event in chat(here.context.acting_for(claims), again)}
    assert "Blue Mill" in str(shown["assistant"]["content"])
    assert _chats(here, user.user_id) == [chat_id]
    question, answer = _messages(here, chat_id)
    assert (question["role"], question["content"]) == ("user", QUESTION)
    assert (answer["role"], answer["content"]) == ("assistant", shown["assistant"]["content"])


def _chats(here: Installation, user_id: UUID) -> list[UUID]:
    query = "SELECT source_id FROM neurigraph.sources WHERE user_id = %s AND origin = 'neurigraph-chat'"
    return [row["source_id"] for row in rows(here, query, user_id)]


def _messages(here: Installation, chat_id: UUID) -> list[dict[str, Any]]:
    return rows(here, "SELECT role, content FROM neurigraph.messages WHERE source_id = %s ORDER BY seq", chat_id)
