"""Protocols of stores and readers of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Protocol

from neurigraph_pipelines.model import DroppedFile, Extraction, RepositoryFile, StoredObject
from neurigraph_pipelines.views.scalars import JsonObject


class ObjectStore(Protocol):
    """Bytes under keys; keys use ``/`` and mirror the graph.

    ``AbsentObjectError`` and ``DamagedObjectError`` concern one object and are raised where documented. Any other
    ``StorageError`` is a refusal of the store, such as missing rights or space, and concerns no single object.
    """

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Write an object atomically (all or nothing, durable on return), replacing an object with that key."""
        ...

    def get(self, key: str) -> Iterator[bytes]:
        """Stream an object. Raises AbsentObjectError at once if it is absent."""
        ...

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``.

        Raises:
            AbsentObjectError: There is no such object.
            DamagedObjectError: The object ends before.
        """
        ...

    def exists(self, key: str) -> bool:
        """Return whether the object exists."""
        ...

    def modified_at(self, key: str) -> datetime:
        """Return when the object was last written, by the store's clock. Raises AbsentObjectError if it is absent."""
        ...

    def move_to_cold(self, key: str) -> None:
        """Move an object to the cheapest storage class for good; nothing happens if it is there already.

        Its bytes and key do not change, and it can still be read at once. Raises AbsentObjectError if it is absent.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove an object; an absent one is no error."""
        ...

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Return all keys that begin with ``prefix``, in order."""
        ...


class EncryptedStore(ObjectStore, Protocol):
    """An object store whose objects are encrypted with a data key of their graph."""

    def is_encrypted(self, key: str) -> bool:
        """Return whether an object is encrypted. Raises AbsentObjectError if it is absent."""
        ...


class TextExtractor(Protocol):
    """Reads the text of untrusted files."""

    def extract(self, content: Iterable[bytes], reader: str) -> Extraction:
        """Read a file in isolation.

        Args:
            content: Its bytes.
            reader: One of ``media_types.Reader``, or ``media`` for a file without text.

        Raises:
            UnreadableFileError: The file is damaged, or exceeds the limits of time, memory or space.
        """
        ...

    def unpack(self, content: Iterable[bytes], most_files: int, take: Callable[[RepositoryFile], None]) -> Extraction:
        """Read a repository in isolation.

        Args:
            content: A pack with one commit.
            most_files: Files to read; the facts say how many are left out.
            take: Called with each file, once all of the pack has been read.

        Returns:
            What is known of the commit; its parts list the files.

        Raises:
            UnreadableFileError: The pack is damaged, or exceeds the limits of time, memory or space.
        """
        ...


class ExportReader(Protocol):
    """Reads untrusted exports of conversations."""

    def lines(
        self,
        content: Iterable[bytes],
        file_name: str,
        modified: datetime,
        date_order: str | None = None,
        everything: bool = False,
        format_name: str | None = None,
    ) -> AbstractContextManager[Iterator[JsonObject]]:
        """Read a file in isolation, and give the lines of ``inbox.export_lines``.

        Args:
            content: Its bytes.
            modified: The time of what has none of its own.
            date_order: The stated order of day, month and year in dates in numbers.
            everything: Also spam, deleted mails and notices of programs.
            format_name: Its format, if that is stated; else as the file shows.

        Raises:
            UnreadableFileError: By the iterator: the file exceeds the limits of time, memory or space.
        """
        ...


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A web page as it was sent, unpacked; the file name is the end of its address."""

    file_name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class FetchedRepository:
    """The newest commit of a repository.

    Attributes:
        commit: Its id, 40 hexadecimal digits.
        pack: Its files as the server packed them, unchecked: an open file, which its receiver closes.
    """

    commit: str
    pack: IO[bytes]


class WebFetcher(Protocol):
    """Fetches the web pages and repositories that users name. Each redirect is checked like the first address."""

    def fetch(self, url: str) -> FetchedPage:
        """Fetch a page.

        Raises:
            ConflictError: The settings allow no host.
            InvalidInputError: The address may not be called, redirects too often, or has no page of a size allowed.
            TransientError: The page could not be fetched in time, or its server asks to try again.
        """
        ...

    def fetch_repository(self, url: str, known: str | None) -> FetchedRepository | None:
        """Fetch the newest commit of a repository's default branch, without its history.

        Args:
            url: The address that Git clones.
            known: The id of a commit that need not be fetched again.

        Returns:
            The commit; None if it is the known one.

        Raises:
            ConflictError: The settings allow no host.
            InvalidInputError: The address may not be called, or has no repository of a size allowed.
            TransientError: It could not be fetched in time, or its server asks to try again.
        """
        ...


class DropPlace(Protocol):
    """A place where users drop files: ``<place>/<user slug>/<file>``. Files in it are never changed."""

    def files(self) -> Iterator[DroppedFile]:
        """Return the complete files. Raises TransientError or StorageError if the place cannot be listed."""
        ...

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream a file. Raises StorageError if it is gone."""
        ...
