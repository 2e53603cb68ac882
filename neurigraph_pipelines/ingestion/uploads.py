"""Uploaded files: taken in as bytes, and read as text.

The bytes are in the object store before a row speaks of them, and stay in their staging place until a record holds
them. Where a file's text comes from is the extractor's affair, what it looks like as messages that of ``extraction``;
``detection`` makes segments of those, and ``commit`` gives the record its own copy of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID, uuid4

from psycopg import OperationalError

from neurigraph_pipelines.context import Context
from neurigraph_pipelines.errors import ConflictError, InvalidInputError, NotFoundError, TransientError
from neurigraph_pipelines.ingestion.extraction import document_messages
from neurigraph_pipelines.ingestion.inbox import MAX_TITLE_LENGTH, Inbox
from neurigraph_pipelines.ingestion.triggers import retry_delay
from neurigraph_pipelines.lifecycle.object_keys import STAGING, staging_key
from neurigraph_pipelines.model import Claims, Privacy, SourceKind, StoredObject
from neurigraph_pipelines.ports import TextExtractor, Transaction
from neurigraph_pipelines.statements import statements
from neurigraph_pipelines.text.hygiene import clean_text
from neurigraph_pipelines.text.media_types import HEAD_BYTES, media_type_of

STEP = "read_uploads"
"""What an upload that cannot be read failed at."""

MAX_FILE_NAME_LENGTH = 255
MAX_LISTED = 1_000

_QUERIES = statements("uploads")
_MEDIA_BYTES = 1 << 20
"""How much of a file without text is looked at for its size in pixels and the like."""

_AT_ONCE = 1_000
_ABANDONED_AFTER = timedelta(days=1)
"""Age at which staged bytes that no upload speaks of are what a process left that died."""


@dataclass(frozen=True, slots=True)
class Received:
    """A file that was taken in; ``new`` is False when the same bytes were there already."""

    upload_id: UUID
    new: bool


@dataclass(frozen=True, slots=True)
class Read:
    """What came of reading one upload.

    Attributes:
        parts: Messages made of it, its description among them.
        error: Why it could not be read; None where it could.
    """

    upload_id: UUID
    file_name: str
    parts: int = 0
    tokens: int = 0
    error: str | None = None


class Uploads:
    """The uploads of an installation."""

    def __init__(self, context: Context) -> None:
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
        privacy: Privacy = Privacy.SHARED,
    ) -> Received:
        """Take a file in, piece by piece.

        The same bytes of the same user are one upload, whatever they are called, as private as it first came in; one
        that failed is tried again.

        Raises:
            InvalidInputError: The file is empty or too large, or its title or id is not acceptable.
            ConflictError: Another file has this external id.
            StorageError: The bytes could not be stored.
        """
        name = _file_name(file_name)
        key = staging_key(datetime.now(UTC), uuid4())
        head = bytearray()
        stored = self._objects.put(key, self._watched(content, head))
        try:
            with self._database.agent(claims) as tx:
                received = self._note(
                    tx, claims.user_id, name, stored, bytes(head), title, external_id, occurred_at, privacy
                )
        except OperationalError:  # the transaction may have been committed all the same
            raise
        except BaseException:
            self._objects.delete(key)
            raise
        if not received.new:
            self._objects.delete(key)
        return received

    def _note(
        self,
        tx: Transaction,
        user_id: UUID,
        name: str,
        stored: StoredObject,
        head: bytes,
        title: str | None,
        external_id: str | None,
        occurred_at: datetime | None,
        privacy: Privacy,
    ) -> Received:
        content = {"user_id": user_id, "sha256": bytes.fromhex(stored.sha256)}
        if (known := self._known(tx, content)) is not None:
            return known
        source_id, made = self._inbox.open_source(
            tx,
            user_id,
            SourceKind.UPLOAD,
            external_id=external_id or f"sha256:{stored.sha256}",
            title=title if title is not None else PurePosixPath(name).stem[:MAX_TITLE_LENGTH],
            started_at=occurred_at,
            privacy=privacy,
        )
        if not made:
            # Whoever made it may have committed only now.
            if (known := self._known(tx, content)) is not None:
                return known
            raise ConflictError(f"another file has the external id {external_id!r}: give this one its own")
        row = {
            **content,
            "source_id": source_id,
            "file_name": name,
            "media_type": media_type_of(head, name).name,
            "size_bytes": stored.size_bytes,
            "staging_key": stored.key,
        }
        if tx.execute(_QUERIES["insert"], row).fetchone() is None:
            raise TransientError("the same file is being uploaded at this moment: try again", retry_after=1)
        return Received(source_id, new=True)

    def _known(self, tx: Transaction, content: dict[str, Any]) -> Received | None:
        row = tx.execute(_QUERIES["find_by_content"], content).fetchone()
        if row is None:
            return None
        tx.execute(_QUERIES["try_again"], {"source_id": row["source_id"]})
        return Received(row["source_id"], new=False)

    def _watched(self, content: Iterable[bytes], head: bytearray) -> Iterator[bytes]:
        """The content, counted, with its beginning kept."""
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

    def status(self, claims: Claims, upload_id: UUID) -> dict[str, Any]:
        """How far an upload has come: ``received``, ``extracted``, ``stored`` or ``failed``.

        Raises:
            NotFoundError: No such upload, or not visible to whoever asks.
        """
        found = self._list(claims, upload_id, limit=1)
        if not found:
            raise NotFoundError
        return found[0]

    def listed(self, claims: Claims, limit: int = MAX_LISTED, offset: int = 0) -> list[dict[str, Any]]:
        """Uploads of a user, newest first, as ``status`` shows each.

        Args:
            claims: Who is asking.
            limit: Most uploads.
            offset: How many to pass over.
        """
        return self._list(claims, None, limit, offset)

    def _list(self, claims: Claims, source_id: UUID | None, limit: int, offset: int = 0) -> list[dict[str, Any]]:
        values = {"user_id": claims.user_id, "source_id": source_id, "limit": limit, "offset": offset}
        with self._database.agent(claims) as tx:
            return tx.execute(_QUERIES["status"], values).fetchall()

    def read_due(
        self, extractor: TextExtractor, user_id: UUID | None = None, on_read: Callable[[Read], None] | None = None
    ) -> list[Read]:
        """Read what was received and waits, one file after the other; a hostile one fails alone.

        Args:
            user_id: Only this user's, or everybody's.
            on_read: Told of each file.
        """
        done: list[Read] = []
        while (claimed := self._claim(user_id)) is not None:
            try:
                result = self._read(extractor, claimed)
            except OperationalError:
                raise
            except Exception as error:  # one poisoned file must not hold up the others
                result = Read(claimed["source_id"], claimed["file_name"], error=self._fail(claimed, error))
            done.append(result)
            if on_read is not None:
                on_read(result)
        return done

    def _claim(self, user_id: UUID | None) -> dict[str, Any] | None:
        most = self._settings.ingestion.max_attempts
        lease = max(self._settings.ingestion.claim_lease_seconds, 2 * self._settings.uploads.extraction_seconds)
        with self._database.pipeline() as tx:
            tx.execute(_QUERIES["give_up"], {"max_attempts": most, "step": STEP})
            return tx.execute(
                _QUERIES["claim"], {"user_id": user_id, "lease_seconds": lease, "max_attempts": most}
            ).fetchone()

    def _read(self, extractor: TextExtractor, upload: dict[str, Any]) -> Read:
        source_id, name, key = upload["source_id"], upload["file_name"], upload["staging_key"]
        head = self._objects.get_range(key, 0, min(_MEDIA_BYTES, upload["size_bytes"]))
        media = media_type_of(head, name)
        found = extractor.extract(self._objects.get(key) if media.reader else [head], media.reader or "media")
        messages = list(document_messages(name, media, upload["size_bytes"], found))
        with self._database.pipeline() as tx:
            result = self._inbox.append(tx, SourceKind.UPLOAD, source_id, messages)
            self._inbox.end(tx, SourceKind.UPLOAD, source_id)
            tx.execute(_QUERIES["extracted"], {"source_id": source_id})
        return Read(source_id, name, len(messages), result.tokens)

    def _fail(self, upload: dict[str, Any], error: Exception) -> str:
        final = isinstance(error, InvalidInputError)
        message = str(error) if final else f"{type(error).__name__}: {error}"
        with self._database.pipeline() as tx:
            tx.execute(
                _QUERIES["failed"],
                {
                    "source_id": upload["source_id"],
                    "final": final,
                    "max_attempts": self._settings.ingestion.max_attempts,
                    "delay_seconds": retry_delay(self._settings, upload["attempts"]),
                    "step": STEP,
                    "error": clean_text(message, "repair")[0][:4_000],
                },
            )
        return message

    def due(self) -> int:
        """How many uploads wait to be read, or to be cleared away."""
        with self._database.pipeline() as tx:
            row = tx.execute(_QUERIES["due"]).fetchone()
        assert row is not None
        waiting: int = row["uploads"]
        return waiting

    def clear(self) -> int:
        """Remove staged bytes that a record holds by now, and those that a process left which died.

        Returns:
            How many objects were removed.
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
                    tx.execute(_QUERIES["cleared"], {"source_id": row["source_id"]})
            removed += len(rows)
        return removed + self._clear_abandoned()

    def _clear_abandoned(self) -> int:
        youngest = staging_key(datetime.now(UTC) - _ABANDONED_AFTER, UUID(int=0))
        old = [key for key in self._objects.keys(STAGING) if key < youngest]
        if not old:
            return 0
        with self._database.pipeline() as tx:
            kept = {row["staging_key"] for row in tx.execute(_QUERIES["staged"], {"keys": old})}
        abandoned = [key for key in old if key not in kept]
        for key in abandoned:
            self._objects.delete(key)
        return len(abandoned)


def _file_name(name: str) -> str:
    """The last part of a path, without what no database or file system takes, and not too long."""
    cleaned = clean_text(name.replace("\\", "/"), "repair")[0].rstrip("/").rpartition("/")[2].strip()
    printable = "".join(character for character in cleaned if character.isprintable())
    if printable in ("", ".", ".."):
        return "upload"
    path = PurePosixPath(printable)
    suffix = path.suffix[:20]
    return printable if len(printable) <= MAX_FILE_NAME_LENGTH else path.stem[: MAX_FILE_NAME_LENGTH - 20] + suffix
