"""Import of another program's file into a user's inbox, a few conversations per transaction.

``imports`` reads the formats. Each conversation is imported as a whole or not at all, and stored messages are
recognised. So running an interrupted import again finishes it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import psycopg

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import InvalidInputError, NeurigraphError
from neurigraph_pipelines.ingestion.imports import read_conversations
from neurigraph_pipelines.ingestion.inbox import AppendResult, Inbox
from neurigraph_pipelines.model import ImportReport, NewConversation, NewMessage, Privacy, RejectedItem
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.text.hygiene import validate_message

Reject = Callable[[RejectedItem], None]

_CONVERSATIONS_AT_ONCE = 32
_CHARACTERS_AT_ONCE = 500_000
"""Limits of one transaction: enough conversations to share its cost, few enough to fit in memory."""


def import_file(
    context: Context,
    path: Path,
    format_name: str,
    *,
    privacy: Privacy = Privacy.SHARED,
    on_bytes: Callable[[int], None] | None = None,
    on_rejected: Reject | None = None,
) -> ImportReport:
    """Import a file. Importing it again adds only what is new in it.

    Args:
        context: The inbox of its caller receives the conversations.
        format_name: One of ``imports.FORMATS``.
        privacy: Privacy of new conversations.
        on_bytes: Called with the number of bytes read since the last call.
        on_rejected: Called at once for each rejected item.

    Raises:
        InvalidInputError: The file cannot be read in this format.
    """
    inbox = Inbox(context)
    settings, claims = context.settings, context.claims
    report = ImportReport()

    def reject(item: RejectedItem) -> None:
        report.rejected.append(item)
        if on_rejected is not None:
            on_rejected(item)

    def count_bytes(more: int) -> None:
        report.bytes_read += more
        if on_bytes is not None:
            on_bytes(more)

    def add(conversations: Sequence[NewConversation]) -> list[tuple[bool, AppendResult]]:
        with context.database.agent(claims) as tx:
            return [inbox.add_conversation(tx, claims.user_id, one, privacy) for one in conversations]

    def add_alone(conversation: NewConversation) -> tuple[bool, AppendResult] | None:
        try:
            return add([conversation])[0]
        except InvalidInputError:  # only now find out which messages are invalid
            try:
                return add([_acceptable(conversation, settings, reject)])[0]
            except InvalidInputError as error:
                reject(RejectedItem(conversation.external_id, str(error)))
                return None

    items = read_conversations(
        path, format_name, on_bytes=count_bytes, max_message_bytes=settings.ingestion.max_message_bytes
    )
    for group in _groups(items, reject):
        try:
            results: list[tuple[bool, AppendResult] | None] = [*add(group)]
        except (NeurigraphError, psycopg.Error):  # one conversation must not fail the others
            results = [add_alone(conversation) for conversation in group]
        for conversation, result in zip(group, results, strict=True):
            if result is not None:
                _count(report, conversation, *result, reject)
    return report


def _groups(items: Iterator[NewConversation | RejectedItem], reject: Reject) -> Iterator[list[NewConversation]]:
    """Group the conversations of each transaction, and report the items that could not be read."""
    group: list[NewConversation] = []
    size = 0
    for item in items:
        if isinstance(item, RejectedItem):
            reject(item)
            continue
        group.append(item)
        size += sum(len(message.content) for message in item.messages)
        if len(group) == _CONVERSATIONS_AT_ONCE or size >= _CHARACTERS_AT_ONCE:
            yield group
            group, size = [], 0
    if group:
        yield group


def _count(
    report: ImportReport, conversation: NewConversation, new: bool, result: AppendResult, reject: Reject
) -> None:
    report.conversations_added += new
    report.conversations_seen += 1
    report.messages_added += result.added
    report.messages_known += result.known
    report.messages_repaired += result.repaired
    report.redacted = dict(Counter(report.redacted) + Counter(result.redacted))
    report.tokens_added += result.tokens
    for external_id in result.conflicts:
        reject(
            RejectedItem(
                f"{conversation.external_id}, message {external_id}",
                "is stored already with other content, which was kept",
            )
        )


def _acceptable(conversation: NewConversation, settings: Settings, reject: Reject) -> NewConversation:
    """Return the conversation without its invalid messages, and report each of those."""
    kept: list[NewMessage] = []
    for number, message in enumerate(conversation.messages, start=1):
        try:
            validate_message(message, settings.ingestion.unstorable_text, settings.ingestion.max_message_bytes)
        except InvalidInputError as error:
            reject(RejectedItem(f"{conversation.external_id}, message {message.external_id or number}", str(error)))
            continue
        kept.append(message)
    if not kept:
        raise InvalidInputError("none of its messages can be stored")
    return replace(conversation, messages=tuple(kept))
