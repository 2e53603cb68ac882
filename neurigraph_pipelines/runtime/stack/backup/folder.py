"""The folder with the backups of an installation: stored objects, which all backups share, and one folder a backup.

Layout::

    neurigraph-backup.json    what the folder is; written first
    lock                      locked by the process that writes
    objects/ab/NAME           objects, named after their content
    incoming/NAME             objects that are not on the disk yet for sure
    backups/ID/               database.dump, dagster.dump, objects.jsonl, manifest.json, names.txt
    backups/ID.partial/       a backup that is not complete

A backup is complete when its folder has its name, which is given last. With a key, all but ``neurigraph-backup.json``
and ``names.txt`` is encrypted and ends in ``.age``.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from neurigraph_pipelines.exchange.portability.stream import Hashed
from neurigraph_pipelines.model.errors import (
    ConfigurationError,
    ConflictError,
    DamagedObjectError,
    InvalidInputError,
    StorageError,
)
from neurigraph_pipelines.views.scalars import WireObject
from resources.age_encryption import AgeKey
from resources.files import sync_folder, write_whole

MARKER = "neurigraph-backup.json"
FORMAT = "neurigraph-backup"
VERSION = 1
OBJECT_LIST, MANIFEST, NAMES = "objects.jsonl", "manifest.json", "names.txt"
DUMPS = {"dagster": "dagster.dump", "database": "database.dump"}
"""The file of each dump by its name in the manifest. Dagster's is absent where Dagster never ran."""

_PARTIAL = ".partial"
_ENCRYPTED = ".age"
_ID = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{6}Z-[0-9a-f]{4}")
_PIECE_BYTES = 1 << 20
_SYNC_FILES, _SYNC_BYTES = 2_000, 512 << 20

OnBytes = Callable[[int], None]
"""Called with the number of bytes just read."""


@dataclass(frozen=True, slots=True)
class StoredContent:
    """The SHA-256, in hex, and the size of an object or of a file of a backup, before encryption."""

    sha256: str
    size_bytes: int


class BackupFolder:
    """One folder of backups. Errors of the disk become StorageError.

    Args:
        path: The folder.
        key: Encrypts written parts, if it is given, and decrypts read parts.
    """

    def __init__(self, path: Path, key: AgeKey | None) -> None:
        self.path = path.expanduser().absolute()
        self._key = key
        self._pending: set[str] = set()
        self._pending_bytes = 0

    @property
    def is_encrypted(self) -> bool:
        """Whether a key encrypts written parts."""
        return self._key is not None

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Make the folder if needed, lock it, and remove leftovers of a killed process.

        Raises:
            ConflictError: Another process writes to it, or the folder holds something else.
            ConfigurationError: The folder has another key, or none.
            StorageError: The folder cannot be written.
        """
        with self._readable_errors():
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (self.path / MARKER).exists():
                self._mark()
            self._check_marker()
            with (self.path / "lock").open("wb") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise ConflictError(
                        f"another backup to {self.path} is running: try again when it is done"
                    ) from None
                for folder in ("objects", "incoming", "backups"):
                    (self.path / folder).mkdir(mode=0o700, exist_ok=True)
                for left in (*self._files("incoming"), *(self.path / "backups").glob(f"*{_PARTIAL}")):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                yield

    def open(self) -> None:
        """Check that this is a folder of backups and that the key is its own.

        Raises:
            InvalidInputError: It is not.
            ConfigurationError: The key is missing, or another.
        """
        with self._readable_errors():
            if not (self.path / MARKER).is_file():
                raise InvalidInputError(f"{self.path} is not a folder of backups: it has no {MARKER}")
            self._check_marker()

    def backups(self) -> list[str]:
        """Return the ids of complete backups, oldest first."""
        with self._readable_errors():
            found = (self.path / "backups").iterdir() if (self.path / "backups").is_dir() else iter(())
            return sorted(entry.name for entry in found if _ID.fullmatch(entry.name) and entry.is_dir())

    def find(self, backup_id: str | None) -> str:
        """Return a backup's id, or that of the newest.

        Raises:
            InvalidInputError: There is no such backup.
        """
        known = self.backups()
        if backup_id is None and known:
            return known[-1]
        if backup_id not in known:
            wanted = f"backup {backup_id[:40]!r}" if backup_id else "complete backup"
            raise InvalidInputError(f"there is no {wanted} in {self.path}: `neurigraph admin backup list` shows them")
        return backup_id

    def name_of(self, sha256: str) -> str:
        """Return the name of an object in this folder."""
        if self._key is None:
            return sha256
        return hmac.digest(self._key.name_key, bytes.fromhex(sha256), "sha256").hex() + _ENCRYPTED

    def has(self, sha256: str) -> bool:
        """Return whether the folder has an object with this content."""
        name = self.name_of(sha256)
        return name in self._pending or self.object_file(name).is_file()

    def object_file(self, name: str) -> Path:
        """Return the file of an object by its name."""
        return self.path / "objects" / name[:2] / name

    def add(self, sha256: str, chunks: Iterable[bytes], on_bytes: OnBytes) -> None:
        """Store an object.

        Raises:
            DamagedObjectError: The content has another checksum; it is not stored.
        """
        name = self.name_of(sha256)
        target = self.path / "incoming" / name
        stored = self._store(target, chunks, on_bytes)
        if stored.sha256 != sha256:
            target.unlink()
            raise DamagedObjectError("it differs from its checksum")
        self._pending.add(name)
        self._pending_bytes += stored.size_bytes
        if len(self._pending) >= _SYNC_FILES or self._pending_bytes >= _SYNC_BYTES:
            self.flush()

    def flush(self) -> None:
        """Make stored objects durable and give them their places."""
        with self._readable_errors():
            os.sync()  # one call is cheaper than one for each of many files
            for name in self._pending:
                target = self.object_file(name)
                target.parent.mkdir(mode=0o700, exist_ok=True)
                (self.path / "incoming" / name).rename(target)
        self._pending.clear()
        self._pending_bytes = 0

    def begin(self, backup_id: str) -> Path:
        """Make the folder of a new backup, which is not complete yet."""
        with self._readable_errors():
            folder = self.path / "backups" / f"{backup_id}{_PARTIAL}"
            folder.mkdir(mode=0o700)
            return folder

    def write(self, folder: Path, name: str, chunks: Iterable[bytes], on_bytes: OnBytes) -> StoredContent:
        """Write a file of a backup."""
        return self._store(folder / self._file_name(name), chunks, on_bytes)

    def complete(self, folder: Path, names: Iterable[str]) -> None:
        """Give a backup its name, which makes it complete, once all is on the disk."""
        self.flush()
        with self._readable_errors():
            text = "".join(f"{name}\n" for name in sorted(set(names)))
            (folder / NAMES).write_text(f"{_sha256(text)}\n{text}", encoding="ascii")
            os.sync()
            folder.rename(folder.with_name(folder.name.removesuffix(_PARTIAL)))
            sync_folder(folder.parent)

    def read(self, backup_id: str, name: str) -> Iterator[bytes]:
        """Yield the content of a file of a backup.

        Raises:
            DamagedObjectError: It is missing, or cannot be decrypted.
        """
        return self._opened(self.path / "backups" / backup_id / self._file_name(name))

    def read_object(self, sha256: str) -> Iterator[bytes]:
        """Yield the content of an object, and raise DamagedObjectError at its end if its checksum is wrong."""
        file = self.object_file(self.name_of(sha256))
        content = Hashed(self._opened(file))
        yield from content
        if content.sha256 != sha256:
            raise DamagedObjectError(f"{file} is damaged")

    def write_manifest(self, folder: Path, manifest: WireObject) -> None:
        """Write the manifest of a backup with its own checksum."""
        text = json.dumps(manifest, default=str)
        self.write(folder, MANIFEST, [json.dumps({"sha256": _sha256(text), "manifest": text}).encode()], lambda _: None)

    def manifest(self, backup_id: str) -> WireObject:
        """Return the manifest of a backup.

        Raises:
            DamagedObjectError: It is damaged.
            InvalidInputError: A newer version wrote it.
        """
        try:
            found = json.loads(b"".join(self.read(backup_id, MANIFEST)))
            if _sha256(found["manifest"]) != found["sha256"]:
                raise ValueError("it differs from its checksum")
            manifest = dict(json.loads(found["manifest"]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise DamagedObjectError(f"the manifest of backup {backup_id} is damaged: restore another one") from error
        if manifest["version"] > VERSION:
            raise InvalidInputError(f"backup {backup_id} was made by a newer Neurigraph: restore it with that")
        return manifest

    def remove(self, backup_id: str) -> None:
        """Remove a backup; its objects stay until ``sweep``."""
        with self._readable_errors():
            folder = self.path / "backups" / backup_id
            shutil.rmtree(folder.rename(folder.with_name(f"{backup_id}{_PARTIAL}")))

    def sweep(self) -> int:
        """Remove objects that no complete backup names.

        Returns:
            Their number.
        """
        with self._readable_errors():
            named: set[str] = set()
            for backup_id in self.backups():
                named.update(self.names(backup_id))
            unnamed = [file for file in self._files("objects/*") if file.name not in named]
            for file in unnamed:
                file.unlink()
            return len(unnamed)

    def names(self, backup_id: str) -> list[str]:
        """Return the names of the objects of a backup, by which ``sweep`` knows them.

        Raises:
            DamagedObjectError: The list is damaged.
            StorageError: It cannot be read.
        """
        with self._readable_errors():
            file = self.path / "backups" / backup_id / NAMES
            checksum, _, text = file.read_text(errors="replace").partition("\n")
        if _sha256(text) != checksum:
            raise DamagedObjectError(
                f"{NAMES} of backup {backup_id} is damaged: no object is removed as long as it stays"
            )
        return text.split()

    def _mark(self) -> None:
        if any(not entry.name.endswith(".part") for entry in self.path.iterdir()):
            raise ConflictError(f"{self.path} holds something else: give a new or empty folder")
        text = json.dumps({"format": FORMAT, "version": VERSION, "key": self._key_check()}, indent=1)
        write_whole(self.path / MARKER, text.encode())

    def _check_marker(self) -> None:
        try:
            found = json.loads((self.path / MARKER).read_bytes())
            key, version = found["key"], int(found["version"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{self.path / MARKER} is damaged: write it again from another copy") from error
        if version > VERSION:
            raise InvalidInputError(f"{self.path} was written by a newer Neurigraph: use that")
        if key != self._key_check():
            said = "is encrypted: give its key with --key" if self._key is None else "has another key, or none"
            raise ConfigurationError(f"the backup folder {self.path} {said}")

    def _key_check(self) -> str | None:
        return hmac.digest(self._key.name_key, FORMAT.encode(), "sha256").hex() if self._key is not None else None

    def _store(self, path: Path, chunks: Iterable[bytes], on_bytes: OnBytes) -> StoredContent:
        content = Hashed(chunks, on_bytes)
        with self._readable_errors(), _new_file(path) as file:
            for piece in self._sealed(content):
                file.write(piece)
        return StoredContent(content.sha256, content.size_bytes)

    def _file_name(self, name: str) -> str:
        return name if self._key is None else name + _ENCRYPTED

    def _sealed(self, chunks: Iterable[bytes]) -> Iterable[bytes]:
        return chunks if self._key is None else self._key.encrypt(chunks)

    def _opened(self, path: Path) -> Iterator[bytes]:
        def pieces() -> Iterator[bytes]:
            try:
                with path.open("rb") as file:
                    while piece := file.read(_PIECE_BYTES):
                        yield piece
            except OSError as error:
                raise DamagedObjectError(f"{path} cannot be read ({error.strerror})") from error

        return pieces() if self._key is None else self._key.decrypt(pieces())

    def _files(self, below: str) -> list[Path]:
        return [file for file in self.path.glob(f"{below}/*") if file.is_file()]

    @contextlib.contextmanager
    def _readable_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StorageError(
                f"the backup folder {self.path} cannot be used ({error.strerror or error}): check its disk and "
                "permissions, and try again"
            ) from error


@contextlib.contextmanager
def _new_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a new file, and remove it after an error."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        try:
            yield file
        except BaseException:
            path.unlink()
            raise


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
