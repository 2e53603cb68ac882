"""A memory block of LlamaIndex: ``pip install neurigraph-client[llama-index]``."""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import Field

from neurigraph_client.memory import Memory

_SPEAKERS = ("user", "assistant", "system", "tool")
_READ = 20


class NeurigraphMemoryBlock(BaseMemoryBlock[str]):
    """Remembers the messages that leave the short-term memory, and brings what concerns the last ones.

    Attributes:
        memory: The client.
        budget: Most tokens of what it brings.
        where: Spaces or a node, as ``container_tags`` and ``node_id``.
    """

    name: str = "neurigraph"
    memory: Memory
    budget: int = 1_500
    where: dict[str, Any] = Field(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        asked = _said(messages or [])[-_READ:]
        if not asked:
            return ""
        block = await asyncio.to_thread(
            self.memory.retrieval.context, messages=asked, budget=self.budget, format="text", **self.where
        )
        return block.text or ""

    async def _aput(self, messages: list[ChatMessage]) -> None:
        if said := _said(messages):
            tags = self.where.get("container_tags", [])
            await asyncio.to_thread(self.memory.store_conversation, said, origin="llama-index", container_tags=tags)


def _said(messages: list[ChatMessage]) -> list[dict[str, object]]:
    roles = [one.role.value if one.role.value in _SPEAKERS else "system" for one in messages]
    return [{"role": role, "content": one.content} for role, one in zip(roles, messages, strict=True) if one.content]
