"""A retriever and a chat history of LangChain: ``pip install neurigraph-client[langchain]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, Field

from neurigraph_client.memory import Memory
from neurigraph_client.values import Items

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool", "function": "tool"}


class NeurigraphRetriever(BaseRetriever):
    """Finds memories for a question: titles and summaries, with ids and dates as metadata.

    Attributes:
        memory: The client.
        k: Most documents.
        filters: As ``Memory.search`` takes them, such as ``container_tags`` and ``occurred_after``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    memory: Memory
    k: int = 10
    filters: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.memory.search(query, limit=self.k, **self.filters).hits
        told = {"title", "score", "node_path", "source_id", "record_id", "occurred_at"}
        return [
            Document(
                id=str(hit.key),
                page_content=f"{hit.title}\n{hit.summary}",
                metadata={**hit.model_dump(mode="json", include=told), **hit.origin.source.metadata},
            )
            for hit in hits
        ]


class NeurigraphChatMessageHistory(BaseChatMessageHistory):
    """The messages of a session, which are remembered as a conversation.

    ``clear`` empties the session. The memory keeps what was said, until it is forgotten.
    """

    def __init__(self, session_id: str, memory: Memory, **fields: Any) -> None:
        """Name the session; ``fields`` are as ``Memory.open_conversation`` takes them."""
        self._items = Items(memory, session_id, "langchain", **fields)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages of the session, as they were added."""
        messages: list[BaseMessage] = messages_from_dict(self._items.all())
        return messages

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages in their order."""
        self._items.add((_ROLES.get(one.type, "system"), str(one.text), message_to_dict(one)) for one in messages)

    def clear(self) -> None:
        """Empty the session."""
        self._items.take_back()
