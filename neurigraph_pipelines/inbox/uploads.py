"""Uploaded files: receiving the bytes and extracting the text.

The bytes are in the object store before any row refers to them, and stay staged until a record has its own copy. The
extractor reads the text, ``extraction`` turns it into messages, ``detection`` makes segments of those, and ``commit``
copies the file to its record. ``uploaded_exports`` adds the conversations of a file that is an export of such.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid4

from psycopg import OperationalError

from neurigraph_pipelines.database.asking import row_of, value_of
from neurigraph_pipelines.database.leases import retry_delay
from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.extraction import document_messages
from neurigraph_pipelines.inbox.imports.date_order import stated_order
from neurigraph_pipelines.inbox.lost_files import lost_of_upload, mend_upload, rewrite_transcripts
from neurigraph_pipelines.inbox.privacy import put_into_spaces
from neurigraph_pipelines.inbox.repository_files import known_commit, put_repository_into_spaces, take_files
from neurigraph_pipelines.inbox.source_details import checked_details
from neurigraph_pipelines.inbox.source_versions import require_newer
from neurigraph_pipelines.inbox.upload_leases import LEASE_SECONDS, LeasedUpload, kept
from neurigraph_pipelines.inbox.upload_notes import KnownUpload, kept_as, notes_of, reader_of
from neurigraph_pipelines.inbox.uploaded_exports import import_export, may_be_export
from neurigraph_pipelines.lifecycle.object_keys import STAGING, staging_key
from neurigraph_pipelines.lifecycle.uncommitted import removed_unless_committing
from neurigraph_pipelines.model import (
    Claims,
    Extraction,
    IncomingMessage,
    Privacy,
    RepositoryFile,
    SourceKind,
    StoredObject,
)
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.model.limits import MAX_TITLE_LENGTH
from neurigraph_pipelines.model.ports import ExportReader, TextExtractor, Transaction
from neurigraph_pipelines.model.sources import NO_DETAILS, SourceDetails
from neurigraph_pipelines.text.file_names import file_name_of
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.media_types import HEAD_BYTES, MediaType, media_type_of
from neurigraph_pipelines.text.note_dates import day_of_file

STEP = "read_uploads"
"""The step name in failures of unreadable uploads."""

_QUERIES = statements("uploads")
_MEDIA_BYTES = 1 << 20
"""Bytes of a file without text that are searched for its metadata, such as its size in pixels."""

_AT_ONCE = 1_000
_ABANDONED_AFTER = timedelta(days=1)  # staged bytes without an upload are then of a process that died


@dataclass(frozen=True, slots=True)
class Received:
    """A received file; ``new`` is False if the user had uploaded the same bytes before, and ``notes`` say more."""

    upload_id: UUID
    new: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Arrival:
    """A file whose bytes are stored, before it has a row."""

    name: str
    stored: StoredObject
    media: MediaType
    title: str | None
    external_id: str | None
    occurred_at: datetime | None
    privacy: Privacy | None
    is_posted: bool
    is_document: bool
    may_repeat: bool


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading one upload.

    Attributes:
        parts: Number of messages made of it, including its description; of an export, of its conversations.
        error: Why it could not be read; None on success.
    """

    upload_id: UUID
    file_name: str
    parts: int = 0
    tokens: int = 0
    error: str | None = None


class Uploads:
    """The uploads of an installation."""

    def __init__(self, context: Context, exports: ExportReader) -> None:
        self._context = context
        self._exports = exports
        self._database = context.database
        self._objects = context.objects
        self._inbox = Inbox(context)
        self._settings = context.settings

    def receive(
        self,
        claims: Claims,
        file_name: str,
        content: Iterable[bytes],
        *,
        title: str | None = None,
        external_id: str | None = None,
        occurred_at: datetime | None = None,
        privacy: Privacy | None = None,
        details: SourceDetails = NO_DETAILS,
        is_posted: bool = False,
        is_document: bool = False,
        may_repeat: bool = False,
    ) -> Received:
        """Receive a file, piece by piece.

        With ``is_document``, it is stored as the file that it is, also if it is an export of conversations. With
        ``is_posted``, it is a text that somebody posted: its stated type holds, and no message describes a file.

        The same bytes of the same user are one upload, whatever the file name, and keep their first privacy and
        details; the spaces that a later call names are added. If that upload failed, it is retried. Other bytes under
        the external id of an upload are its next version.

        Args:
            may_repeat: Bytes of another upload are an upload of their own, under their external id.

        Raises:
            InvalidInputError: The file is empty or too large, or its title, id or a detail is not acceptable.
            NotFoundError: There is no upload that it may replace.
            ConflictError: It was last changed before the newest version of its external id.
            StorageError: The bytes could not be stored.
            TransientError: The same upload is being received right now.
        """
        checked_details(details, self._settings.ingestion.unstorable_text, None)
        key = staging_key(datetime.now(UTC), uuid4())
        head = bytearray()
        stored = self._objects.put(key, self._checked(content, head))
        name = file_name_of(file_name)
        media = media_type_of(bytes(head), name)
        how = (is_posted, is_document, may_repeat)
        day = occurred_at or day_of_file(name)
        arrival = _Arrival(name, stored, media, title, external_id, day, privacy, *how)
        return self._keep(claims, key, arrival, details)

    def _keep(self, claims: Claims, key: str, arrival: _Arrival, details: SourceDetails) -> Received:
        """Write the row of a file whose bytes are stored; remove these if there is no new row."""
        with (
            removed_unless_committing(lambda: self._objects.delete(key)) as rows,
            rows(self._database.agent(claims)) as tx,
        ):
            received = self._insert(tx, claims, arrival, details)
        if not received.new and not mend_upload(self._context, received.upload_id, key):
            self._objects.delete(key)
        return received

    def _insert(self, tx: Transaction, claims: Claims, arrival: _Arrival, details: SourceDetails) -> Received:
        user_id = claims.user_id
        content = {"user_id": user_id, "sha256": bytes.fromhex(arrival.stored.sha256)}
        tx.execute(_QUERIES["lock_content"], content)
        dates = stated_order(details.metadata)
        before = self._newest_version(tx, user_id, arrival.external_id, details.replaces)
        known = before
        if before is None and not arrival.may_repeat:
            known = row_of(tx, _QUERIES["find_by_content"], KnownUpload, {**content, "dates": dates})
        is_same = known is not None and dates in (None, known.dates)  # another order of dates is read again
        if known and is_same and known.sha256 == content["sha256"] and not known.is_replaced:
            tx.execute(_QUERIES["try_again"], {"source_id": known.source_id})
            if details.container_tags:
                put_into_spaces(tx, claims, details.container_tags, known.source_id)
            return Received(known.source_id, new=False, notes=kept_as(known, arrival.privacy))
        is_dropped = (arrival.external_id or "").startswith("drop:")
        if before is not None and details.replaces is None and not is_dropped:
            require_newer(details.updated_at, before.updated_at)
        external_id = arrival.external_id
        if before is None and external_id is None and known is None:
            external_id = f"sha256:{arrival.stored.sha256}"  # which one that was replaced has already
        replaces = before.source_id if before is not None else None
        source_id = self._open_source(tx, user_id, arrival, external_id, replace(details, replaces=replaces))
        row = {
            **content,
            "source_id": source_id,
            "file_name": arrival.name,
            "media_type": arrival.media.name,
            "size_bytes": arrival.stored.size_bytes,
            "staging_key": arrival.stored.key,
            "is_document": arrival.is_document,
            "is_posted": arrival.is_posted,
        }
        tx.execute(_QUERIES["insert"], row)
        return Received(source_id, new=True)

    def _open_source(
        self, tx: Transaction, user_id: UUID, arrival: _Arrival, external_id: str | None, details: SourceDetails
    ) -> UUID:
        kind = details.document_type
        posted = kind if arrival.is_posted else None
        source_id, created = self._inbox.open_source(
            tx,
            user_id,
            SourceKind.UPLOAD,
            external_id=external_id,
            title=arrival.title if arrival.title is not None else PurePosixPath(arrival.name).stem[:MAX_TITLE_LENGTH],
            started_at=arrival.occurred_at,
            privacy=arrival.privacy,
            details=replace(details, document_type=posted or arrival.media.document_type_of(kind)),
        )
        if not created:
            raise TransientError("another version of this file is being uploaded right now: try again", retry_after=1)
        return source_id

    def _newest_version(
        self, tx: Transaction, user_id: UUID, external_id: str | None, replaces: UUID | None
    ) -> KnownUpload | None:
        """Return the upload that has the external id of a file, or that it replaces; None if it is a new one.

        Raises:
            NotFoundError: There is no upload to replace.
        """
        if external_id is None and replaces is None:
            return None
        values = {"user_id": user_id, "external_id": None if replaces else external_id, "replaces": replaces}
        before = row_of(tx, _QUERIES["newest_version"], KnownUpload, values)
        if before is None and replaces is not None:
            raise NotFoundError
        return before

    def _checked(self, content: Iterable[bytes], head: bytearray) -> Iterator[bytes]:
        """Yield the content, check its size and copy its beginning to ``head``."""
        size = 0
        for chunk in content:
            size += len(chunk)
            if size > self._settings.uploads.max_upload_bytes:
                raise InvalidInputError(
                    f"the file has more than {self._settings.uploads.max_upload_bytes:,} bytes: "
                    "raise NEURIGRAPH_MAX_UPLOAD_BYTES, or split it"
                )
            head += chunk[: HEAD_BYTES - len(head)]
            yield chunk
        if size == 0:
            raise InvalidInputError("the file is empty")

    def known_commit(self, claims: Claims, external_id: str) -> tuple[UUID, str] | None:
        """Return the upload and the commit of the newest version of a repository; None if there is none to keep."""
        return known_commit(self._database, claims, external_id)

    def add_to_spaces(self, claims: Claims, source_id: UUID, external_id: str, container_tags: Sequence[str]) -> None:
        """Put a repository that is known, and its files, into further spaces."""
        put_repository_into_spaces(self._database, claims, source_id, external_id, container_tags)

    def receive_read(self, claims: Claims, file_name: str, file: RepositoryFile, **stated: Any) -> None:
        """Receive a file whose text is known already; one whose text is not waits to be read like any other.

        Args:
            stated: What ``receive`` takes besides; the external id is among it.
        """
        received = self.receive(claims, file_name, [file.content], may_repeat=True, **stated)
        if received.new and file.parts:
            name = file_name_of(file_name)
            media = media_type_of(file.content, name)
            messages = document_messages(name, media, len(file.content), Extraction(tuple(file.parts)))
            self._add_text(received.upload_id, name, list(messages))

    def read_due(
        self, extractor: TextExtractor, user_id: UUID | None = None, on_read: Callable[[Read], None] | None = None
    ) -> list[Read]:
        """Read the received uploads that are due, one after the other. A hostile file fails alone.

        Args:
            extractor: Reads the text of each file.
            user_id: Only this user's uploads; None for all users.
            on_read: Called after each file.
        """
        done: list[Read] = []
        while (upload := self._lease(user_id)) is not None:
            try:
                with kept(self._database, upload):
                    result = self._read(extractor, upload)
            except OperationalError:
                raise
            except Exception as error:  # one bad file must not block the others
                if (failed := self._fail(upload, error)) is None:
                    continue
                result = Read(upload.source_id, upload.file_name, error=failed)
            done.append(result)
            if on_read is not None:
                on_read(result)
        return done

    def _lease(self, user_id: UUID | None) -> LeasedUpload | None:
        """Lease the next due upload, and fail those without attempts left."""
        max_attempts = self._settings.ingestion.max_attempts
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["fail_silent_uploads"], {"max_attempts": max_attempts, "step": STEP})
            values = {"user_id": user_id, "lease_seconds": LEASE_SECONDS, "max_attempts": max_attempts}
            return row_of(tx, _QUERIES["lease_upload"], LeasedUpload, values)

    def _read(self, extractor: TextExtractor, upload: LeasedUpload) -> Read:
        source_id, name, key = upload.source_id, upload.file_name, upload.staging_key
        head = self._objects.get_range(key, 0, min(_MEDIA_BYTES, upload.size_bytes))
        media = media_type_of(head, name)
        if may_be_export(upload, media):
            imported = import_export(self._context, self._exports, upload)
            if imported is not None:
                return Read(source_id, name, imported.messages_added, imported.tokens_added)
        reader = reader_of(media, upload.received_through)
        if reader == "repository":
            most = self._settings.web.repository_files
            found = take_files(self, self._database, extractor, source_id, self._objects.get(key), most)
        else:
            found = extractor.extract(self._objects.get(key) if reader != "media" else [head], reader)
        messages = document_messages(name, media, upload.size_bytes, found, is_posted=upload.is_posted)
        return self._add_text(source_id, name, list(messages), notes_of(reader, media, found))

    def _add_text(
        self, source_id: UUID, name: str, messages: Sequence[IncomingMessage], notes: Sequence[str] = ()
    ) -> Read:
        with self._database.pipeline() as tx:
            result = self._inbox.append(tx, SourceKind.UPLOAD, source_id, messages)
            self._inbox.end(tx, SourceKind.UPLOAD, source_id)
            shown = json.dumps({"notes": [clean_text(note, "repair")[0] for note in notes]}) if notes else None
            tx.execute(_QUERIES["extracted"], {"source_id": source_id, "notes": shown})
        if result.known and (lost := lost_of_upload(self._context, source_id)):
            sent = [one.message for one in self._inbox.checked(messages)]
            rewrite_transcripts(self._context, lost, {file.external_id: sent for file in lost})
        return Read(source_id, name, len(messages), result.tokens)

    def _fail(self, upload: LeasedUpload, error: Exception) -> str | None:
        """Note why a file was not read, and return it; None if the upload was erased meanwhile."""
        final = isinstance(error, InvalidInputError)
        message = str(error) if final else f"{type(error).__name__}: {error}"
        noted = {"source_id": upload.source_id, "final": final, "step": STEP}
        noted["error"] = clean_text(message, "repair")[0][:4_000]
        noted["max_attempts"] = self._settings.ingestion.max_attempts
        noted["delay_seconds"] = retry_delay(self._settings, upload.attempts)
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["failed"], noted)
            is_there = tx.execute(_QUERIES["is_there"], noted).fetchone() is not None
        return message if is_there else None

    def due(self) -> int:
        """Count the uploads to read and the staged files to clear."""
        with self._database.pipeline() as tx:
            return value_of(int, tx.execute(_QUERIES["due"]))

    def clear(self) -> int:
        """Remove staged bytes that a record has copied, and those that a dead process abandoned.

        Returns:
            The number of removed objects.
        """
        removed = 0
        while True:
            with self._database.pipeline() as tx:
                rows = tx.execute(_QUERIES["to_clear"], {"limit": _AT_ONCE}).fetchall()
            if not rows:
                break
            for row in rows:
                self._objects.delete(row["staging_key"])
                with self._database.pipeline() as tx:
                    tx.execute(_QUERIES["cleared"], row)
            removed += len(rows)
        return removed + self._clear_abandoned()

    def _clear_abandoned(self) -> int:
        youngest = staging_key(datetime.now(UTC) - _ABANDONED_AFTER, UUID(int=0))
        old = [key for key in self._objects.keys(STAGING) if key < youngest]
        if not old:
            return 0
        with self._database.pipeline() as tx:
            staged = {row["staging_key"] for row in tx.execute(_QUERIES["staged"], {"keys": old})}
        abandoned = [key for key in old if key not in staged]
        for key in abandoned:
            self._objects.delete(key)
        return len(abandoned)
