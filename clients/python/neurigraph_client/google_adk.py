"""A memory service of Google's Agent Development Kit: ``pip install neurigraph-client[google-adk]``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai.types import Content, Part

from neurigraph_client.failures import NotFound
from neurigraph_client.memory import Memory
from neurigraph_client.values import tag_of

_ORIGIN = "google-adk"


class NeurigraphMemoryService(BaseMemoryService):
    """Remembers what is said in sessions, and finds facts and quotes for a question.

    Each user of each app has a space: nobody finds what another one said.

    Args:
        memory: The client, with a key of the owner, since users make spaces.
        budget: Most tokens of what a search finds.
    """

    def __init__(self, memory: Memory, *, budget: int = 1_500) -> None:
        self._memory = memory
        self._budget = budget

    async def add_session_to_memory(self, session: Session) -> None:
        """Remember a session; one that is added again goes on."""
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember what events say; an event that is already known is not added twice."""
        said = [_message(event) for event in events if _text(event.content)]
        name = tag_of(_ORIGIN, (app_name, user_id, session_id or ""))
        opening = {**_where(app_name, user_id), "external_id": name, "metadata": dict(custom_metadata or {})}
        if said:
            await asyncio.to_thread(self._memory.store_conversation, said, **opening)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember texts as notes."""
        for one in memories:
            metadata = {**one.custom_metadata, **(custom_metadata or {})}
            where = {**_where(app_name, user_id), "metadata": metadata}
            await asyncio.to_thread(self._memory.add, _text(one.content), **where)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Return facts and quotes that concern a question, each with its date, best first."""
        tags = _where(app_name, user_id)["container_tags"]
        block = await asyncio.to_thread(
            self._memory.context, query, container_tags=tags, budget=self._budget, format="json"
        )
        found = [
            MemoryEntry(
                id=str(line.record_id) if line.record_id else None,
                content=Content(role="user", parts=[Part(text=line.text)]),
            )
            for line in block.lines or []
            if not line.is_stable
        ]
        return SearchMemoryResponse(memories=found)

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget the memory of an entry for good: of a session, all that it was stored with.

        Raises:
            NotFound: The user has no such memory.
            ValueError: The id is no UUID.
        """
        if memory_id is not None:
            await asyncio.to_thread(self._forget, UUID(memory_id), _where(app_name, user_id)["container_tags"])

    def _forget(self, record_id: UUID, space: list[str]) -> None:
        source_id = self._memory.memories.get(record_id).source_id
        of_user = self._memory.memories.list_records(source_id=source_id, container_tags=space)
        if all(one.record_id != record_id for one in of_user):
            raise NotFound(404, {"detail": "the user has no such memory"})
        self._memory.forget(record_id, dry_run=False)


def _where(app_name: str, user_id: str) -> dict[str, Any]:
    return {"origin": _ORIGIN, "container_tags": [tag_of(_ORIGIN, (app_name, user_id))]}


def _message(event: Event) -> dict[str, object]:
    return {
        "role": "user" if event.author == "user" else "assistant",
        "author": None if event.author == "user" else event.author,
        "content": _text(event.content),
        "external_id": event.id,
        "occurred_at": datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
    }


def _text(content: Content | None) -> str:
    """Return what is said in words; thoughts, calls of tools and files are left out."""
    parts = content.parts if content else None
    return "\n".join(part.text for part in parts or [] if part.text and not part.thought)
