"""A session of the OpenAI Agents SDK: ``pip install neurigraph-client[openai-agents]``."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.items import TResponseInputItem
from agents.memory import SessionABC, SessionSettings

from neurigraph_client.memory import Memory
from neurigraph_client.values import Items, text_of

_SPEAKERS = ("user", "assistant", "system")


class NeurigraphSession(SessionABC):
    """The items of a session, which are remembered as a conversation.

    An item that is popped leaves the session, and so do all when it is cleared. The memory keeps what was said, until
    it is forgotten.
    """

    def __init__(
        self, session_id: str, memory: Memory, *, session_settings: SessionSettings | None = None, **fields: Any
    ) -> None:
        """Name the session; ``fields`` are as ``Memory.open_conversation`` takes them."""
        self.session_id = session_id
        self.session_settings = session_settings
        self._items = Items(memory, session_id, "openai-agents", **fields)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the last items in their order; all of them by default."""
        most = limit if limit is not None or self.session_settings is None else self.session_settings.limit
        items = await asyncio.to_thread(self._items.all)
        return items if most is None else items[max(0, len(items) - most) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items in their order."""
        await asyncio.to_thread(self._items.add, [(_role(one), _said(one), one) for one in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the last item back and return it; None if there is none."""
        items = await asyncio.to_thread(self._items.all)
        if not items:
            return None
        await asyncio.to_thread(self._items.take_back, 1)
        last: TResponseInputItem = items[-1]
        return last

    async def clear_session(self) -> None:
        """Empty the session."""
        await asyncio.to_thread(self._items.take_back)


def _role(item: Any) -> str:
    role = item.get("role")
    return {"developer": "system"}.get(role, role) if role in (*_SPEAKERS, "developer") else "tool"


def _said(item: Any) -> str:
    """Return what an item says: the texts of a message, and of anything else what it is made of."""
    content = item.get("content")
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if isinstance(part.get("text"), str))
    return content if isinstance(content, str) else text_of(item)
