"""Intake of messages: which of those sent to a source are new, and writing them.

``inbox`` opens and ends sources, locks them and checks the messages beforehand.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from psycopg.rows import DictRow

from neurigraph_pipelines.database.array_literals import columns
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.model import IncomingMessage
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.model.ports import Transaction
from neurigraph_pipelines.text.hygiene import offset_of
from neurigraph_pipelines.views.inbox import Appended

_QUERIES = statements("inbox")
_encoded = json.JSONEncoder(sort_keys=True).encode


@dataclass(frozen=True, slots=True)
class CheckedMessage:
    """A message in the form to store, with a flag for repairs and the redactions by kind."""

    message: IncomingMessage
    repaired: bool
    redacted: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class KnownMessage:
    """A message that the inbox has already."""

    seq: int
    content_hash: bytes
    token_count: int
    complete: bool
    author: str | None = None

    def is_said_by_other_name(self, message: IncomingMessage) -> bool:
        """Return whether only the name of the author differs from that of a message."""
        same = replace(message, author=self.author)
        return self.author != message.author and content_hash(same) == self.content_hash


@dataclass(frozen=True, slots=True)
class _Row:
    """A message to write."""

    source_id: UUID
    seq: int
    message: IncomingMessage
    external_id: str
    token_count: int
    content_hash: bytes
    occurred_at: datetime

    def values(self) -> dict[str, object]:
        message = self.message
        return {
            "source_id": self.source_id,
            "seq": self.seq,
            "role": message.role.value,
            "author": message.author,
            "content": message.content,
            "tool_calls": json.dumps(list(message.tool_calls)) if message.tool_calls else None,
            "tool_event": json.dumps(message.event.fields(message.content)) if message.event is not None else None,
            "token_count": self.token_count,
            "content_hash": self.content_hash,
            "occurred_at": self.occurred_at,
            "utc_offset": offset_of(self.occurred_at),
            "external_id": self.external_id,
            "complete": message.complete,
            "section": message.section,
        }


class Intake:
    """Decides for each message of a locked source whether to add, replace or skip it.

    Args:
        source: The row of ``lock_sources``.
        messages: The messages sent, in order.
        known: Those of the source that are stored already, by external id.
        may_rename: A message whose author has another name by now is the stored one.

    Attributes:
        source_id: The source.
        added: New messages, in order.
        replacement: A newer version of the newest stored message.
        last_message: Number of the newest message, including the added ones.
        tokens: Growth of the source in tokens.
        uncounted: The texts whose tokens ``take`` needs; those of a message that is stored already are known.
    """

    def __init__(
        self,
        source: DictRow,
        messages: Sequence[CheckedMessage],
        known: Mapping[str, KnownMessage],
        *,
        may_rename: bool = False,
    ) -> None:
        self.source_id: UUID = source["source_id"]
        self.added: list[_Row] = []
        self.replacement: _Row | None = None
        self.last_message: int = source["last_message"]
        self.tokens = 0
        self._unchanged = self._replaced = self._repaired = 0
        self._conflicts: list[str] = []
        self._redacted: Counter[str] = Counter()
        self._known = dict(known)
        self._may_rename = may_rename
        self._triggered_through: int = source["triggered_through"]
        self._ended = source["ended_at"] is not None
        self._live = not self._ended and source["last_message"] > 0
        self._clock: datetime = source["last_occurred_at"] or source["started_at"]
        self._sent = [(one, content_hash(one.message)) for one in messages]
        self.uncounted = [one.message.content for one, digest in self._sent if self._stored(one, digest) is None]

    def run(self, counts: Iterator[int]) -> None:
        """Decide for each message.

        Args:
            counts: The tokens of each of ``uncounted``.

        Raises:
            ConflictError: The source has ended and a message is incomplete.
        """
        stored = [self._stored(one, digest) for one, digest in self._sent]
        for (one, digest), same in zip(self._sent, stored, strict=True):
            self._add(one, digest, same.token_count if same is not None else next(counts))

    def result(self) -> Appended:
        """Return the counts of the intake."""
        return Appended(
            added=len(self.added),
            known=self._unchanged,
            conflicts=list(self._conflicts),
            replaced=self._replaced,
            repaired=self._repaired,
            tokens=self.tokens,
            redacted=dict(self._redacted),
        )

    def _stored(self, sent: CheckedMessage, digest: bytes) -> KnownMessage | None:
        """Return the stored message that a sent one repeats."""
        before = self._known.get(sent.message.external_id or "")
        return before if before is not None and before.content_hash == digest else None

    def _add(self, sent: CheckedMessage, digest: bytes, tokens: int) -> None:
        """Add, replace or skip the next message, and count it with its repairs and redactions."""
        message = sent.message
        before = self._known.get(message.external_id) if message.external_id is not None else None
        if before is None:
            self._append(message, digest, tokens)
        else:
            streaming = not before.complete and before.seq == self.last_message > self._triggered_through
            if before.content_hash == digest and not (streaming and message.complete):
                self._unchanged += 1
                return
            if not streaming and self._may_rename and before.is_said_by_other_name(message):
                self._unchanged += 1
                return
            if not streaming:
                self._conflicts.append(message.external_id or "")
                return
            self._replace(before, message, digest, tokens)
        if self._ended and not message.complete:
            raise ConflictError("The source has ended: send the message once it is complete.")
        self._repaired += sent.repaired
        self._redacted += sent.redacted

    def _append(self, message: IncomingMessage, digest: bytes, tokens: int) -> None:
        # A message without a time gets the time of the one before it or, in an open conversation, the present.
        self._clock = message.occurred_at or (datetime.now(UTC) if self._live else self._clock)
        self.last_message += 1
        self.added.append(self._row(self.last_message, message, digest, tokens, self._clock))
        self.tokens += tokens

    def _replace(self, before: KnownMessage, message: IncomingMessage, digest: bytes, tokens: int) -> None:
        row = self._row(before.seq, message, digest, tokens, message.occurred_at or self._clock)
        if self.added:
            self.added[-1] = row
        else:
            self.replacement = row
        self._replaced += 1
        self.tokens += tokens - before.token_count

    def _row(self, seq: int, message: IncomingMessage, digest: bytes, tokens: int, occurred_at: datetime) -> _Row:
        external_id = message.external_id or str(uuid4())
        self._known[external_id] = KnownMessage(seq, digest, tokens, message.complete)
        return _Row(self.source_id, seq, message, external_id, tokens, digest, occurred_at)


def known_messages(
    tx: Transaction, sent: Mapping[UUID, Sequence[CheckedMessage]]
) -> Mapping[UUID, dict[str, KnownMessage]]:
    """Return the sent messages that each source already has, by external id."""
    known: defaultdict[UUID, dict[str, KnownMessage]] = defaultdict(dict)
    named = [
        {"source_id": source_id, "external_id": one.message.external_id}
        for source_id, messages in sent.items()
        for one in messages
        if one.message.external_id
    ]
    for row in tx.execute(_QUERIES["known_messages"], columns(named)) if named else ():
        source_id, external_id = row.pop("source_id"), row.pop("external_id")
        known[source_id][external_id] = KnownMessage(**row)
    return known


def write(tx: Transaction, intakes: Sequence[Intake]) -> None:
    """Write the messages that each intake adds and replaces, and the new counters of its source."""
    for intake in intakes:
        if intake.replacement is not None:
            tx.execute(_QUERIES["replace_message"], intake.replacement.values())
    if added := [row.values() for intake in intakes for row in intake.added]:
        tx.execute(_QUERIES["insert_messages"], columns(added))
    if changed := [one for one in intakes if one.added or one.replacement is not None]:
        advanced = [
            {"source_id": one.source_id, "last_message": one.last_message, "tokens": one.tokens} for one in changed
        ]
        tx.execute(_QUERIES["advance_sources"], columns(advanced))


def content_hash(message: IncomingMessage) -> bytes:
    """Return the hash by which a message that is sent again is recognised: of its author, words and tools."""
    parts: list[Any] = [message.role.value, message.author, message.content, list(message.tool_calls)]
    if message.event is not None:
        parts.append(message.event.fields(message.content))
    return hashlib.sha256(_encoded(parts).encode()).digest()
