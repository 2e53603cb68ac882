"""Messages that were read for an answer, and the replies to those of them that ask."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from neurigraph_pipelines.access.accounts import get_account
from neurigraph_pipelines.model import Quotable, Statement, Voice, speaker_called
from neurigraph_pipelines.model.chat import CHAT_ORIGIN
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.enriching import enriched
from neurigraph_pipelines.model.errors import StorageError
from neurigraph_pipelines.retrieval.open import open_in_files
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.text.corrections import Correction
from neurigraph_pipelines.text.front_matter import in_words
from neurigraph_pipelines.views.files import Message
from neurigraph_pipelines.views.search import Hit

STATED_CHARACTERS = 300
"""Most characters of one message that stands for an answer, or for a part of one."""

CORRECTION = "Correction"
"""Whom an answer names for what a person revised."""

ASKS = ("?", "？")
"""How a message that asks ends."""


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message that was read, cut to the length for a model, with the hit that led to it.

    Attributes:
        message: None for a summary, and for a correction of one.
        corrected_by: What a person has written in the place of something that it says.
        owner_name: How the owner of the graph is called who speaks without a name.
    """

    hit: Hit
    text: str
    occurred_at: datetime
    message: Message | None = None
    section: str | None = None
    corrected_by: Correction | None = None
    is_correction: bool = False
    owner_name: str | None = None

    def as_quotable(self, before: str = "") -> Quotable:
        """Return it as a language model sees it, with the message before it."""
        if self.is_correction:
            return Quotable(self.text, CORRECTION, self.occurred_at, self.hit.title, is_correction=True)
        if self.message is None:
            return Quotable(self.text, "summary", self.occurred_at, self.hit.title)
        voice = self.message.voice
        author = self.message.author or (self.owner_name if voice is Voice.OWNER else None)
        speaker = speaker_called(author, voice, self.message.role.value)
        return Quotable(in_words(self.text), speaker, self.occurred_at, self.hit.title, voice, before)


def with_replies(
    context: Context, question: Question, passages: Sequence[ReadMessage], most_asking: int | None
) -> list[ReadMessage]:
    """Return passages, each stored question among them followed by the message after it, if that was not found itself.

    The replies are looked up together, under the rights of the caller. A reply that the question's own filters would
    leave out is left out, and so is one that cannot be read: the question stands alone then.

    Args:
        most_asking: Most characters of a message that only asks; None for any length.
    """

    def asks(one: ReadMessage) -> bool:
        return len(one.text) <= (most_asking or len(one.text)) and one.text.rstrip(" \"'”»)").endswith(ASKS)

    read = {(one.hit.record_id, one.message.seq) for one in passages if one.message}
    wanted: dict[UUID, list[int]] = {}
    for one in passages:
        if one.message and one.message.file_id and asks(one) and question.speaker is None:
            following = one.message.seq + 1
            if (one.hit.record_id, following) not in read:
                wanted.setdefault(one.message.file_id, []).append(following)
    if not wanted:
        return list(passages)
    opened = enriched("replies", lambda: open_in_files(context, wanted), dict[UUID, list[Message] | StorageError])
    replies = {
        (file_id, reply.seq): reply
        for file_id, found_in in opened.items()
        for reply in ([] if isinstance(found_in, StorageError) else found_in)
    }
    found: list[ReadMessage] = []
    for one in passages:
        found.append(one)
        key = (one.message.file_id, one.message.seq + 1) if one.message and one.message.file_id else None
        reply = replies.pop(key, None) if key and asks(one) else None
        if reply and _may_be_shown(one, reply, question):
            found.append(replace(one, text=reply.content, occurred_at=reply.occurred_at, message=reply, section=None))
    return found


def _may_be_shown(one: ReadMessage, reply: Message, question: Question) -> bool:
    """Return whether a reply has words, is within the times that a question asks for, and is no answer of a chat."""
    is_answer = reply.voice is Voice.ASSISTANT and one.hit.origin.source.origin == CHAT_ORIGIN
    is_late = question.occurred_before is not None and reply.occurred_at >= question.occurred_before
    is_early = question.occurred_after is not None and reply.occurred_at < question.occurred_after
    return bool(reply.content.strip()) and not (is_answer or is_late or is_early)


def owner_named(context: Context, passages: Iterable[ReadMessage]) -> list[ReadMessage]:
    """Return passages that call the owner of the graph by the name of the account, if the owner asks."""
    name = get_account(context.database, context.claims).display_name if context.claims.role == "user" else None
    return [replace(one, owner_name=name) if name else one for one in passages]


def places_of(passages: Iterable[ReadMessage]) -> list[tuple[UUID, int]]:
    """Return the records of stored messages, with the numbers of the messages."""
    return [(one.hit.record_id, one.message.seq) for one in passages if one.message and one.hit.record_id]


def stated(passages: Sequence[ReadMessage], place: int) -> Statement:
    """Return the words of a passage as a statement, with its speaker and day."""
    said = passages[place - 1].as_quotable()
    text = " ".join(said.text.split())[:STATED_CHARACTERS]
    return Statement(f"{said.speaker}, {said.occurred_at.day} {said.occurred_at:%B %Y}: {text}", (place,))


def in_context(passages: Sequence[ReadMessage]) -> list[Quotable]:
    """Return passages as an answer may quote them, each with the message before it where that was found, too."""
    texts = {(one.hit.source_id, one.message.seq): one.text for one in passages if one.message}
    return [
        one.as_quotable(texts.get((one.hit.source_id, one.message.seq - 1), "") if one.message else "")
        for one in passages
    ]
