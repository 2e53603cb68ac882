"""What comes in: sources (conversations, events, uploads) and their messages, counted and cleaned on the way.

Writing to the inbox only. What is stored when is for ``triggers``; reading other programs' formats is for
``imports``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid4

from neurigraph_pipelines.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.ingestion.hygiene import clean_text, utc, validate_message
from neurigraph_pipelines.model import NewConversation, NewMessage, SourceKind
from neurigraph_pipelines.ports import TokenCounter, Transaction
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.statements import statements

MAX_TITLE_LENGTH = 500
MAX_EXTERNAL_ID_LENGTH = 300

_QUERIES = statements("inbox")


@dataclass(frozen=True, slots=True)
class AppendResult:
    """What became of handed-in messages.

    Attributes:
        added: Newly in the inbox.
        known: Were there already, word for word.
        conflicts: External ids that are there already with other words; the stored ones were kept.
        repaired: Had text that no database stores, replaced by U+FFFD.
        tokens: Of the added ones.
    """

    added: int = 0
    known: int = 0
    conflicts: tuple[str, ...] = ()
    repaired: int = 0
    tokens: int = 0


class Inbox:
    """Takes in sources and messages, in transactions of the caller."""

    def __init__(self, tokens: TokenCounter, settings: Settings) -> None:
        self._tokens = tokens
        self._settings = settings

    def open_source(
        self,
        tx: Transaction,
        user_id: UUID,
        kind: SourceKind,
        *,
        external_id: str | None = None,
        title: str | None = None,
        started_at: datetime | None = None,
        event_kind: str | None = None,
    ) -> tuple[UUID, bool]:
        """A source by its external id, made if need be.

        Returns:
            Its id, and whether it was made now.

        Raises:
            InvalidInputError: An id or title is too long, or holds text that is to be rejected.
        """
        policy = self._settings.unstorable_text
        external_id = clean_text(external_id, policy)[0] if external_id is not None else str(uuid4())
        if not 1 <= len(external_id) <= MAX_EXTERNAL_ID_LENGTH:
            raise InvalidInputError(f"an external id has 1 to {MAX_EXTERNAL_ID_LENGTH} characters")
        title = clean_text(title, policy)[0].strip() or None if title is not None else None
        if title is not None and len(title) > MAX_TITLE_LENGTH:
            raise InvalidInputError(f"a title has at most {MAX_TITLE_LENGTH} characters")
        values = {
            "user_id": user_id,
            "kind": kind.value,
            "event_kind": event_kind,
            "external_id": external_id,
            "title": title,
            "started_at": utc(started_at) if started_at is not None else None,
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
        """Append messages in the order given; those whose external id is there already are not added again.

        Raises:
            NotFoundError: No such source, or not visible to whoever asks.
            InvalidInputError: A message is unacceptable; none of them was added.
        """
        source = tx.execute(_QUERIES["lock_source"], {"source_id": source_id, "kind": kind.value}).fetchone()
        if source is None:
            raise NotFoundError
        policy, limit = self._settings.unstorable_text, self._settings.max_message_bytes
        checked = [validate_message(message, policy, limit) for message in messages]
        known: dict[str, bytes] = {
            row["external_id"]: bytes(row["content_hash"])
            for row in tx.execute(
                _QUERIES["known_messages"],
                {"source_id": source_id, "external_ids": [m.external_id for m, _ in checked if m.external_id]},
            )
        }
        rows = _Rows()
        seq: int = source["last_message"]
        clock: datetime = source["last_occurred_at"] or source["started_at"]
        live = source["ended_at"] is None and source["last_message"] > 0
        already, repaired, conflicts = 0, 0, []
        for message, mended in checked:
            digest = _content_hash(message)
            if message.external_id is not None and message.external_id in known:
                if known[message.external_id] == digest:
                    already += 1
                else:
                    conflicts.append(message.external_id)
                continue
            seq += 1
            # A message without a time is as old as the one before it; in a conversation going on, that is now.
            clock = message.occurred_at or (datetime.now(UTC) if live else clock)
            external_id = message.external_id or str(uuid4())
            rows.add(seq, message, external_id, self._tokens.count(message.content), digest, clock)
            known[external_id] = digest
            repaired += mended
        if rows.seqs:
            tx.execute(
                _QUERIES["insert_messages"],
                {"source_id": source_id, "user_id": source["user_id"], **rows.columns()},
            )
            tx.execute(
                _QUERIES["advance_source"],
                {"source_id": source_id, "last_message": seq, "tokens": sum(rows.token_counts)},
            )
        return AppendResult(len(rows.seqs), already, tuple(conflicts), repaired, sum(rows.token_counts))

    def end(self, tx: Transaction, kind: SourceKind, source_id: UUID, ended_at: datetime | None = None) -> datetime:
        """Say that a source has ended; ending it again changes nothing.

        Returns:
            When it ended.

        Raises:
            NotFoundError: No such source, or not visible to whoever asks.
        """
        row = tx.execute(
            _QUERIES["end_source"],
            {"source_id": source_id, "kind": kind.value, "ended_at": utc(ended_at) if ended_at else None},
        ).fetchone()
        if row is None:
            raise NotFoundError
        ended: datetime = row["ended_at"]
        return ended

    def add_conversation(
        self, tx: Transaction, user_id: UUID, conversation: NewConversation
    ) -> tuple[bool, AppendResult]:
        """Take in a whole conversation as an importer read it.

        Returns:
            Whether the conversation is new, and what became of its messages.
        """
        first = next((m.occurred_at for m in conversation.messages if m.occurred_at is not None), None)
        source_id, new = self.open_source(
            tx,
            user_id,
            SourceKind.CONVERSATION,
            external_id=conversation.external_id,
            title=conversation.title[:MAX_TITLE_LENGTH] if conversation.title else None,
            started_at=conversation.started_at or first,
        )
        result = self.append(tx, SourceKind.CONVERSATION, source_id, conversation.messages)
        if conversation.ended_at is not None:
            self.end(tx, SourceKind.CONVERSATION, source_id, conversation.ended_at)
        return new, result


class _Rows:
    """Messages as columns: one statement inserts them all."""

    def __init__(self) -> None:
        self.seqs: list[int] = []
        self.token_counts: list[int] = []
        self._messages: list[NewMessage] = []
        self._external_ids: list[str] = []
        self._content_hashes: list[bytes] = []
        self._occurred_ats: list[datetime] = []

    def add(
        self, seq: int, message: NewMessage, external_id: str, tokens: int, digest: bytes, occurred_at: datetime
    ) -> None:
        self.seqs.append(seq)
        self.token_counts.append(tokens)
        self._messages.append(message)
        self._external_ids.append(external_id)
        self._content_hashes.append(digest)
        self._occurred_ats.append(occurred_at)

    def columns(self) -> dict[str, object]:
        return {
            "seqs": self.seqs,
            "roles": [m.role.value for m in self._messages],
            "authors": [m.author for m in self._messages],
            "contents": [m.content for m in self._messages],
            "tool_calls": [json.dumps(list(m.tool_calls)) if m.tool_calls else None for m in self._messages],
            "token_counts": self.token_counts,
            "content_hashes": self._content_hashes,
            "occurred_ats": self._occurred_ats,
            "external_ids": self._external_ids,
        }


def purge_stored_bodies(tx: Transaction, age_seconds: float, limit: int = 1_000) -> int:
    """Remove the bodies of messages whose segments were stored longer ago than ``age_seconds``.

    Returns:
        How many messages lost their body; at most those of ``limit`` segments.
    """
    return tx.execute(_QUERIES["purge_bodies"], {"age_seconds": age_seconds, "limit": limit}).rowcount


def _content_hash(message: NewMessage) -> bytes:
    parts = [message.role.value, message.author, message.content, list(message.tool_calls)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).digest()
