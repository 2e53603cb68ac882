"""The inbox: sources (conversations, events, uploads, notes) and their messages, cleaned and counted.

This module only writes to the inbox. ``intake`` decides which messages are new, ``detection`` what is stored when;
``imports`` reads other programs' formats.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypedDict
from uuid import UUID, uuid4

from psycopg.rows import DictRow

from neurigraph_pipelines.access.spaces import naming_spaces
from neurigraph_pipelines.database.array_literals import columns
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.intake import (
    CheckedMessage,
    Intake,
    known_messages,
    write,
)
from neurigraph_pipelines.inbox.redaction import redact_message
from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.inbox.source_versions import version_after
from neurigraph_pipelines.model import EventKind, ImportedConversation, IncomingMessage, Privacy, Role, SourceKind
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.model.ports import Database, Transaction
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.text.external_ids import MAX_EXTERNAL_ID_LENGTH
from neurigraph_pipelines.text.hygiene import clean_text, utc, validate_message
from neurigraph_pipelines.views.inbox import Appended
from neurigraph_pipelines.views.scalars import ValuesByName

_QUERIES = statements("inbox")


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
        privacy: Privacy | None = None,
        details: SourceDetails = NO_DETAILS,
    ) -> tuple[UUID, bool]:
        """Find a source by its external id, or create it. An existing source keeps its privacy and details.

        Of a source with versions, the newest is found. A source that ``details`` says it replaces is found if that has
        a version after it already. Without a stated privacy, what the owner received through a channel that is not
        public is private, and everything else is shared.

        Returns:
            Its id, and whether it was created.

        Raises:
            InvalidInputError: An id, title or detail is not acceptable, or contains text that the settings reject.
            NotFoundError: The caller did not hand in the source that is to be replaced.
        """
        if details.replaces is not None:
            external_id, newer = version_after(tx, user_id, kind, details.replaces, external_id)
            if newer is not None:
                return newer, False
        row = self._source_row(kind, external_id, title, started_at, event_kind, details)
        return self._open_all(tx, user_id, [row], privacy)[0]

    def append(
        self, tx: Transaction, kind: SourceKind, source_id: UUID, messages: Sequence[IncomingMessage]
    ) -> Appended:
        """Append messages in the given order, except those whose external id is stored already.

        The newest message may be sent before it is complete, and again under its external id when there is more of
        it. That replaces it, until it is complete, another message follows it or a segment covers it.

        Raises:
            NotFoundError: No such source, or not visible to the caller.
            InvalidInputError: A message is unacceptable; none was added.
            ConflictError: The source has ended and a message is incomplete; none was added.
        """
        return self._append_all(tx, [kind], {source_id: messages})[0]

    def end(self, tx: Transaction, kind: SourceKind, source_id: UUID, ended_at: datetime | None = None) -> datetime:
        """Mark a source as ended. Idempotent.

        An event without messages, such as a milestone, gets its title as its only message.

        Returns:
            When it ended.

        Raises:
            NotFoundError: No such source, or not visible to the caller.
        """
        return self._end_all(tx, [kind], {source_id: ended_at})[source_id]

    def add_conversations(
        self,
        tx: Transaction,
        user_id: UUID,
        conversations: Sequence[ImportedConversation],
        privacy: Privacy | None = None,
    ) -> list[tuple[bool, Appended]]:
        """Add whole conversations or events as an importer read them, none twice. One that grew has its latest title.

        Returns:
            For each, whether it is new, and the result of appending its messages.
        """
        kinds = [SourceKind.EVENT if one.event_kind is not None else SourceKind.CONVERSATION for one in conversations]
        opened = self._open_imported(tx, user_id, list(zip(kinds, conversations, strict=True)), privacy)
        ids = [source_id for source_id, _ in opened]
        results = self._append_all(
            tx,
            kinds,
            {source_id: one.messages for source_id, one in zip(ids, conversations, strict=True)},
            new={source_id for source_id, created in opened if created},
            may_rename=True,
        )
        ended = {source_id: one.ended_at for source_id, one in zip(ids, conversations, strict=True) if one.ended_at}
        self._end_all(tx, kinds, ended)
        renamed = {
            source_id: title
            for (source_id, created), one, result in zip(opened, conversations, results, strict=True)
            if not created and result.added and (title := self._title_of(_opening(one)["title"]))
        }
        if renamed:
            tx.execute(_QUERIES["rename_sources"], {"source_id": list(renamed), "title": list(renamed.values())})
        return [(created, result) for (_, created), result in zip(opened, results, strict=True)]

    def _open_imported(
        self,
        tx: Transaction,
        user_id: UUID,
        read: Sequence[tuple[SourceKind, ImportedConversation]],
        privacy: Privacy | None,
    ) -> list[tuple[UUID, bool]]:
        """Find or create sources: next versions one by one, the others in one statement.

        Raises:
            InvalidInputError: Two of them are versions of one source.
        """
        rows = [self._source_row(kind, **_opening(one)) for kind, one in read if one.details.replaces is None]
        plain = iter(self._open_all(tx, user_id, rows, privacy) if rows else ())
        opened = [
            next(plain)
            if one.details.replaces is None
            else self.open_source(tx, user_id, kind, privacy=privacy, **_opening(one))
            for kind, one in read
        ]
        if len(dict(opened)) < len(opened):
            raise InvalidInputError("two of the conversations are versions of one source: import one after the other")
        return opened

    def _source_row(
        self,
        kind: SourceKind,
        external_id: str | None,
        title: str | None,
        started_at: datetime | None,
        event_kind: EventKind | None,
        details: SourceDetails,
    ) -> dict[str, object]:
        policy = self._settings.ingestion.unstorable_text
        external_id = clean_text(external_id, policy)[0] if external_id is not None else str(uuid4())
        if not 1 <= len(external_id) <= MAX_EXTERNAL_ID_LENGTH:
            raise InvalidInputError(f"an external id has 1 to {MAX_EXTERNAL_ID_LENGTH} characters")
        return {
            "kind": kind.value,
            "event_kind": event_kind.value if event_kind is not None else None,
            "external_id": external_id,
            "title": self._title_of(title),
            "started_at": utc(started_at) if started_at is not None else None,
            **checked_details(details, policy, self._redactor),
            "replaces": details.replaces,
        }

    def _title_of(self, title: str | None) -> str | None:
        """Return a title as it is stored."""
        policy = self._settings.ingestion.unstorable_text
        title = clean_text(title, policy)[0].strip() or None if title is not None else None
        if title is not None and len(title) > MAX_TITLE_LENGTH:
            raise InvalidInputError(
                f"the title has {len(title):,} characters and the limit is {MAX_TITLE_LENGTH}: shorten it"
            )
        if title is not None and self._redactor is not None:
            title = self._redactor.redact(title)[0][:MAX_TITLE_LENGTH]
        return title

    def _open_all(
        self, tx: Transaction, user_id: UUID, rows: Sequence[ValuesByName], privacy: Privacy | None
    ) -> list[tuple[UUID, bool]]:
        """Return for each row its source, and whether that was created."""
        values = {"user_id": user_id, "privacy": privacy}
        created: dict[tuple[str, str], UUID] = {}
        for tags in dict.fromkeys(row["container_tags"] for row in rows):
            alike = [row for row in rows if row["container_tags"] == tags]
            with naming_spaces(tx, tags):
                created |= _by_name(tx.execute(_QUERIES["insert_sources"], {**values, **columns(alike)}))
        rest = [row for row in rows if _name(row) not in created]
        known = _by_name(tx.execute(_QUERIES["find_sources"], {**values, **columns(rest)})) if rest else {}
        try:
            return [(created.get(_name(row)) or known[_name(row)], _name(row) in created) for row in rows]
        except KeyError:
            raise NotFoundError from None

    def _append_all(
        self,
        tx: Transaction,
        kinds: Sequence[SourceKind],
        sent: Mapping[UUID, Sequence[IncomingMessage]],
        new: Collection[UUID] = (),
        *,
        may_rename: bool = False,
    ) -> list[Appended]:
        """Append to each source its messages; ``new`` ones were created in this transaction."""
        values = {"source_id": list(sent), "kind": [kind.value for kind in set(kinds)]}
        sources = {row["source_id"]: row for row in tx.execute(_QUERIES["lock_sources"], values)}
        if len(sources) < len(sent):
            raise NotFoundError
        checked = {source_id: self.checked(messages) for source_id, messages in sent.items()}
        known = known_messages(tx, {source_id: found for source_id, found in checked.items() if source_id not in new})
        intakes = [
            Intake(sources[source_id], found, known[source_id], may_rename=may_rename)
            for source_id, found in checked.items()
        ]
        counts = iter(self._tokens.count_each([text for intake in intakes for text in intake.uncounted]))
        for intake in intakes:
            intake.run(counts)
        write(tx, intakes)
        return [intake.result() for intake in intakes]

    def checked(self, messages: Sequence[IncomingMessage]) -> list[CheckedMessage]:
        """Return messages as they are stored: repaired and redacted as the settings say.

        Raises:
            InvalidInputError: A message is unacceptable.
        """
        policy, limit = self._settings.ingestion.unstorable_text, self._settings.ingestion.max_message_bytes
        checked = [CheckedMessage(*validate_message(message, policy, limit)) for message in messages]
        if self._redactor is None:
            return checked
        return [
            CheckedMessage(message, one.repaired, redacted)
            for one in checked
            for message, redacted in [redact_message(self._redactor, one.message)]
        ]

    def _end_all(
        self, tx: Transaction, kinds: Sequence[SourceKind], ends: Mapping[UUID, datetime | None]
    ) -> dict[UUID, datetime]:
        """Mark sources as ended, and return when each ended."""
        if not ends:
            return {}
        times = [utc(end) if end is not None else None for end in ends.values()]
        values = {"source_id": list(ends), "ended_at": times, "kind": [kind.value for kind in set(kinds)]}
        rows = tx.execute(_QUERIES["end_sources"], values).fetchall()
        if len(rows) < len(ends):
            raise NotFoundError
        for row in rows:
            if row["kind"] == SourceKind.EVENT and row["last_message"] == 0 and row["title"] is not None:
                title = IncomingMessage(Role.USER, row["title"], external_id="title", occurred_at=row["started_at"])
                self.append(tx, SourceKind.EVENT, row["source_id"], [title])
        return {row["source_id"]: row["ended_at"] for row in rows}


class _Opening(TypedDict):
    """The fields that a source is opened with."""

    external_id: str | None
    title: str | None
    started_at: datetime | None
    event_kind: EventKind | None
    details: SourceDetails


def _opening(one: ImportedConversation) -> _Opening:
    """Return the fields of a source that an importer read."""
    first = next((m.occurred_at for m in one.messages if m.occurred_at is not None), None)
    return {
        "external_id": one.external_id if one.details.replaces is None else one.external_id or None,
        "title": one.title[:MAX_TITLE_LENGTH] if one.title else None,
        "started_at": one.started_at or first,
        "event_kind": one.event_kind,
        "details": one.details,
    }


def _name(row: ValuesByName) -> tuple[str, str]:
    return row["kind"], row["external_id"]


def _by_name(rows: Iterable[DictRow]) -> dict[tuple[str, str], UUID]:
    return {_name(row): row["source_id"] for row in rows}


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
