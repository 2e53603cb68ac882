"""The inbox: sources (conversations, events, uploads, notes) and their messages, cleaned and counted.

This module only writes to the inbox. ``detection`` decides what is stored when; ``imports`` reads other programs'
formats.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.ingestion.redaction import redact_message
from neurigraph_pipelines.model import EventKind, NewConversation, NewMessage, Privacy, Role, SourceKind
from neurigraph_pipelines.ports import Database, TokenCounter, Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text, utc, validate_message

MAX_TITLE_LENGTH = 500
MAX_EXTERNAL_ID_LENGTH = 300

_QUERIES = statements("inbox")


@dataclass(frozen=True, slots=True)
class AppendResult:
    """Counts of what happened to appended messages.

    Attributes:
        added: New messages.
        known: Messages that were stored already with the same content.
        conflicts: External ids that were stored already with other content, which was kept.
        replaced: Incomplete newest messages that were replaced by a later version.
        repaired: Messages with text that Postgres cannot store, replaced by U+FFFD.
        tokens: Growth of the source in tokens.
        redacted: Number of redactions by kind, in added and replaced messages.
    """

    added: int = 0
    known: int = 0
    conflicts: tuple[str, ...] = ()
    replaced: int = 0
    repaired: int = 0
    tokens: int = 0
    redacted: dict[str, int] = field(default_factory=dict)


class Inbox:
    """Writes sources and messages in the caller's transactions; redacts only if it has a redactor."""

    def __init__(self, context: Context) -> None:
        self._tokens = context.tokens
        self._settings = context.settings
        self._redactor = context.redactor

    def open_source(
        self,
        tx: Transaction,
        user_id: UUID,
        kind: SourceKind,
        *,
        external_id: str | None = None,
        title: str | None = None,
        started_at: datetime | None = None,
        event_kind: EventKind | None = None,
        privacy: Privacy = Privacy.SHARED,
    ) -> tuple[UUID, bool]:
        """Find a source by its external id, or create it. An existing source keeps its privacy.

        Returns:
            Its id, and whether it was created.

        Raises:
            InvalidInputError: An id or title is too long, or contains text that the settings reject.
        """
        policy = self._settings.ingestion.unstorable_text
        external_id = clean_text(external_id, policy)[0] if external_id is not None else str(uuid4())
        if not 1 <= len(external_id) <= MAX_EXTERNAL_ID_LENGTH:
            raise InvalidInputError(f"an external id has 1 to {MAX_EXTERNAL_ID_LENGTH} characters")
        title = clean_text(title, policy)[0].strip() or None if title is not None else None
        if title is not None and len(title) > MAX_TITLE_LENGTH:
            raise InvalidInputError(f"a title has at most {MAX_TITLE_LENGTH} characters")
        if title is not None and self._redactor is not None:
            title = self._redactor.redact(title)[0][:MAX_TITLE_LENGTH]
        values = {
            "user_id": user_id,
            "kind": kind.value,
            "event_kind": event_kind,
            "external_id": external_id,
            "title": title,
            "started_at": utc(started_at) if started_at is not None else None,
            "privacy": privacy.value,
        }
        row = tx.execute(_QUERIES["insert_source"], values).fetchone()
        if row is not None:
            return row["source_id"], True
        found = tx.execute(_QUERIES["find_source"], values).fetchone()
        if found is None:
            raise NotFoundError
        return found["source_id"], False

    def append(
        self, tx: Transaction, kind: SourceKind, source_id: UUID, messages: Sequence[NewMessage]
    ) -> AppendResult:
        """Append messages in the given order, except those whose external id is stored already.

        The newest message may be sent before it is complete, and again under its external id when there is more of
        it. That replaces it, until it is complete, another message follows it or a segment covers it.

        Raises:
            NotFoundError: No such source, or not visible to the caller.
            InvalidInputError: A message is unacceptable; none was added.
            ConflictError: The source has ended and a message is incomplete; none was added.
        """
        source = tx.execute(_QUERIES["lock_source"], {"source_id": source_id, "kind": kind.value}).fetchone()
        if source is None:
            raise NotFoundError
        policy, limit = self._settings.ingestion.unstorable_text, self._settings.ingestion.max_message_bytes
        checked = [validate_message(message, policy, limit) for message in messages]
        known = tx.execute(
            _QUERIES["known_messages"],
            {"source_id": source_id, "external_ids": [m.external_id for m, _ in checked if m.external_id]},
        )
        intake = _Intake(source, {row.pop("external_id"): _Known(**row) for row in known}, self._tokens)
        for message, repaired in checked:
            redacted: Counter[str] = Counter()
            if self._redactor is not None:
                message, redacted = redact_message(self._redactor, message)
            intake.add(message, repaired, redacted)
        intake.write(tx, source_id, source["user_id"])
        return AppendResult(
            len(intake.added),
            intake.unchanged,
            tuple(intake.conflicts),
            intake.replaced,
            intake.repaired,
            intake.tokens,
            dict(intake.redacted),
        )

    def end(self, tx: Transaction, kind: SourceKind, source_id: UUID, ended_at: datetime | None = None) -> datetime:
        """Mark a source as ended. Idempotent.

        An event without messages, such as a milestone, gets its title as its only message.

        Returns:
            When it ended.

        Raises:
            NotFoundError: No such source, or not visible to the caller.
        """
        row = tx.execute(
            _QUERIES["end_source"],
            {"source_id": source_id, "kind": kind.value, "ended_at": utc(ended_at) if ended_at else None},
        ).fetchone()
        if row is None:
            raise NotFoundError
        if kind is SourceKind.EVENT and row["last_message"] == 0 and row["title"] is not None:
            title = NewMessage(Role.USER, row["title"], external_id="title", occurred_at=row["started_at"])
            self.append(tx, kind, source_id, [title])
        ended: datetime = row["ended_at"]
        return ended

    def add_conversation(
        self, tx: Transaction, user_id: UUID, conversation: NewConversation, privacy: Privacy = Privacy.SHARED
    ) -> tuple[bool, AppendResult]:
        """Add a whole conversation or event as an importer read it.

        Returns:
            Whether it is new, and the result of appending its messages.
        """
        kind = SourceKind.CONVERSATION if conversation.event_kind is None else SourceKind.EVENT
        first = next((m.occurred_at for m in conversation.messages if m.occurred_at is not None), None)
        source_id, new = self.open_source(
            tx,
            user_id,
            kind,
            external_id=conversation.external_id,
            title=conversation.title[:MAX_TITLE_LENGTH] if conversation.title else None,
            started_at=conversation.started_at or first,
            event_kind=conversation.event_kind,
            privacy=privacy,
        )
        result = self.append(tx, kind, source_id, conversation.messages)
        if conversation.ended_at is not None:
            self.end(tx, kind, source_id, conversation.ended_at)
        return new, result


@dataclass(frozen=True, slots=True)
class _Known:
    """A message that the inbox has already."""

    seq: int
    content_hash: bytes
    token_count: int
    complete: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """A message to write."""

    seq: int
    message: NewMessage
    external_id: str
    token_count: int
    content_hash: bytes
    occurred_at: datetime

    def values(self) -> dict[str, Any]:
        message = self.message
        return {
            "seq": self.seq,
            "role": message.role.value,
            "author": message.author,
            "content": message.content,
            "tool_calls": json.dumps(list(message.tool_calls)) if message.tool_calls else None,
            "tool_event": json.dumps(message.event.fields(message.content)) if message.event is not None else None,
            "token_count": self.token_count,
            "content_hash": self.content_hash,
            "occurred_at": self.occurred_at,
            "external_id": self.external_id,
            "complete": message.complete,
        }


class _Intake:
    """Decides for each message whether to add, replace or skip it, while its source is locked.

    Attributes:
        added: New messages, in order.
        replacement: A newer version of the newest stored message.
        last_message: Number of the newest message, including the added ones.
        tokens: Growth of the source in tokens.
        redacted: Number of redactions by kind, in added and replaced messages.
    """

    def __init__(self, source: dict[str, Any], known: dict[str, _Known], tokens: TokenCounter) -> None:
        self.added: list[_Row] = []
        self.replacement: _Row | None = None
        self.last_message: int = source["last_message"]
        self.tokens = self.unchanged = self.replaced = self.repaired = 0
        self.conflicts: list[str] = []
        self.redacted: Counter[str] = Counter()
        self._known = known
        self._counter = tokens
        self._triggered_through: int = source["triggered_through"]
        self._ended = source["ended_at"] is not None
        self._live = not self._ended and source["last_message"] > 0
        self._clock: datetime = source["last_occurred_at"] or source["started_at"]

    def add(self, message: NewMessage, repaired: bool, redacted: Counter[str]) -> None:
        """Add, replace or skip the next message, and count it with its repairs and redactions."""
        digest = _content_hash(message)
        before = self._known.get(message.external_id) if message.external_id is not None else None
        if before is None:
            self._append(message, digest)
        else:
            streaming = not before.complete and before.seq == self.last_message > self._triggered_through
            if before.content_hash == digest and not (streaming and message.complete):
                self.unchanged += 1
                return
            if not streaming:
                self.conflicts.append(message.external_id or "")
                return
            self._replace(before, message, digest)
        if self._ended and not message.complete:
            raise ConflictError("The source has ended: send the message once it is complete.")
        self.repaired += repaired
        self.redacted += redacted

    def write(self, tx: Transaction, source_id: UUID, user_id: UUID) -> None:
        """Write the replacement, the added messages and the source's new counters."""
        if self.replacement is not None:
            tx.execute(_QUERIES["replace_message"], {"source_id": source_id, **self.replacement.values()})
        if self.added:
            rows = [row.values() for row in self.added]
            tx.execute(
                _QUERIES["insert_messages"],
                {
                    "source_id": source_id,
                    "user_id": user_id,
                    **{column: [row[column] for row in rows] for column in rows[0]},
                },
            )
        if self.added or self.replacement is not None:
            tx.execute(
                _QUERIES["advance_source"],
                {"source_id": source_id, "last_message": self.last_message, "tokens": self.tokens},
            )

    def _append(self, message: NewMessage, digest: bytes) -> None:
        # A message without a time gets the time of the one before it or, in an open conversation, the present.
        self._clock = message.occurred_at or (datetime.now(UTC) if self._live else self._clock)
        self.last_message += 1
        row = self._row(self.last_message, message, digest, self._clock)
        self.added.append(row)
        self.tokens += row.token_count

    def _replace(self, before: _Known, message: NewMessage, digest: bytes) -> None:
        row = self._row(before.seq, message, digest, message.occurred_at or self._clock)
        if self.added:
            self.added[-1] = row
        else:
            self.replacement = row
        self.replaced += 1
        self.tokens += row.token_count - before.token_count

    def _row(self, seq: int, message: NewMessage, digest: bytes, occurred_at: datetime) -> _Row:
        row = _Row(
            seq,
            message,
            message.external_id or str(uuid4()),
            self._counter.count(message.content),
            digest,
            occurred_at,
        )
        self._known[row.external_id] = _Known(seq, digest, row.token_count, message.complete)
        return row


def purge_stored_bodies(database: Database, age_seconds: float, at_once: int = 1_000) -> int:
    """Remove the bodies of messages whose segments were stored more than ``age_seconds`` ago.

    Args:
        database: Used as the pipeline, for all users.
        age_seconds: Minimum age.
        at_once: Segments per transaction.

    Returns:
        The number of messages whose body was removed.
    """
    removed: int = 0
    while True:
        with database.pipeline() as tx:
            row = tx.execute(_QUERIES["purge_bodies"], {"age_seconds": age_seconds, "limit": at_once}).fetchone()
        assert row is not None
        removed += row["bodies"]
        if row["segments"] == 0:
            return removed


def _content_hash(message: NewMessage) -> bytes:
    parts: list[Any] = [message.role.value, message.author, message.content, list(message.tool_calls)]
    if message.event is not None:
        parts.append(message.event.fields(message.content))
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
