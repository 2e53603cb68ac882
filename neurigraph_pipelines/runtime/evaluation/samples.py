"""Questions whose answers or sources are known, and the conversations that they are about."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from neurigraph_pipelines.model import ImportedConversation, IncomingMessage


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question with the known parts of its answer.

    Attributes:
        sources: What names the messages that hold the answer; in a sample their external ids.
        category: The kind of question, as its data set calls it.
        answer: Empty if it is not known.
        asked_at: The moment that relative times refer to; None is the end of the sample, or now.
        is_unanswerable: Whether the right answer is that nothing says it.
        options: The answers to choose from, each beginning with its letter; ``answer`` is one of them.
    """

    text: str
    sources: frozenset[str]
    category: str
    answer: str = ""
    asked_at: datetime | None = None
    is_unanswerable: bool = False
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Conversations of one user, and questions about them. External ids of messages are unique."""

    name: str
    conversations: tuple[ImportedConversation, ...]
    questions: tuple[LabelledQuestion, ...]

    @property
    def messages(self) -> dict[str, IncomingMessage]:
        """Return every message by its id, in order."""
        return {
            message.external_id: message
            for conversation in self.conversations
            for message in conversation.messages
            if message.external_id is not None
        }

    @property
    def sessions(self) -> dict[str, str]:
        """Return the conversation of every message, both by their ids."""
        return {
            message.external_id: conversation.external_id
            for conversation in self.conversations
            for message in conversation.messages
            if message.external_id is not None
        }

    @property
    def ended_at(self) -> datetime | None:
        """When the last conversation ended."""
        return max((one.ended_at for one in self.conversations if one.ended_at), default=None)

    @property
    def with_sources(self) -> Sample:
        """The sample without the questions whose sources are unknown."""
        return replace(self, questions=tuple(asked for asked in self.questions if asked.sources))

    def beginning(self, messages: int) -> Sample:
        """Return the first ``messages`` messages, and the questions that they answer."""
        conversations, left = [], messages
        for conversation in self.conversations:
            conversations.append(replace(conversation, messages=conversation.messages[:left]))
            left -= len(conversations[-1].messages)
            if not left:
                break
        beginning = replace(self, conversations=tuple(conversations))
        known = beginning.messages.keys()
        return replace(beginning, questions=tuple(asked for asked in self.questions if asked.sources <= known))
