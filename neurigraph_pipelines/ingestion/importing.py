"""Takes a file of another program into a user's inbox, conversation by conversation.

Reading the formats is for ``imports``; each conversation is one transaction, so an import that was cut off is
finished by running it again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.hygiene import validate_message
from neurigraph_pipelines.ingestion.imports import read_conversations
from neurigraph_pipelines.ingestion.inbox import AppendResult, Inbox
from neurigraph_pipelines.model import Claims, ImportReport, NewConversation, NewMessage, RejectedItem
from neurigraph_pipelines.ports import Database, TokenCounter
from neurigraph_pipelines.settings import Settings

Reject = Callable[[RejectedItem], None]


def import_file(
    database: Database,
    tokens: TokenCounter,
    settings: Settings,
    claims: Claims,
    path: Path,
    format_name: str,
    *,
    on_bytes: Callable[[int], None] | None = None,
    on_rejected: Reject | None = None,
) -> ImportReport:
    """Import a file; importing it again adds only what is new in it.

    Args:
        claims: Of the user whose inbox takes it.
        format_name: One of ``imports.FORMATS``.
        on_bytes: Told how many more bytes were read.
        on_rejected: Told of each item that could not be accepted, at once.

    Raises:
        InvalidInputError: The file cannot be read in this format at all.
    """
    inbox = Inbox(tokens, settings)
    report = ImportReport()

    def reject(item: RejectedItem) -> None:
        report.rejected.append(item)
        if on_rejected is not None:
            on_rejected(item)

    def count_bytes(more: int) -> None:
        report.bytes_read += more
        if on_bytes is not None:
            on_bytes(more)

    def add(conversation: NewConversation) -> tuple[bool, AppendResult]:
        with database.agent(claims) as tx:
            return inbox.add_conversation(tx, claims.user_id, conversation)

    for item in read_conversations(
        path, format_name, on_bytes=count_bytes, max_message_bytes=settings.max_message_bytes
    ):
        if isinstance(item, RejectedItem):
            reject(item)
            continue
        try:
            new, result = add(item)
        except InvalidInputError:  # which messages it is about is looked for only then
            try:
                new, result = add(_acceptable(item, settings, reject))
            except InvalidInputError as error:
                reject(RejectedItem(item.external_id, str(error)))
                continue
        report.conversations_added += new
        report.conversations_seen += 1
        report.messages_added += result.added
        report.messages_known += result.known
        report.messages_repaired += result.repaired
        report.tokens_added += result.tokens
        for external_id in result.conflicts:
            reject(
                RejectedItem(
                    f"{item.external_id}, message {external_id}", "is stored already with other words; those were kept"
                )
            )
    return report


def _acceptable(conversation: NewConversation, settings: Settings, reject: Reject) -> NewConversation:
    """The conversation without the messages that cannot be stored, each of which is reported."""
    kept: list[NewMessage] = []
    for number, message in enumerate(conversation.messages, start=1):
        try:
            validate_message(message, settings.unstorable_text, settings.max_message_bytes)
        except InvalidInputError as error:
            reject(RejectedItem(f"{conversation.external_id}, message {message.external_id or number}", str(error)))
            continue
        kept.append(message)
    if not kept:
        raise InvalidInputError("no message of it can be stored")
    return replace(conversation, messages=tuple(kept))
