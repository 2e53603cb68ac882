"""Objects as files below one local folder.

Every name is opened relative to its parent folder and never through a link, so no key and no file placed inside leads
out of the folder. An object is written under ``.partial``, locked while its writer runs, and renamed when it is
complete and on the disk.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from neurigraph_pipelines.model import StoredObject
from neurigraph_pipelines.model.errors import AbsentObjectError, DamagedObjectError, StorageError
from resources.files import sync_folder
from resources.storage.keys import PARTIAL, check_range, is_key, parts_of_key, shown

_READ_BYTES = 1 << 20
_PUBLISH_ATTEMPTS = 100

_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY
# O_NONBLOCK: a pipe placed in the folder must not block.
_OPEN_OBJECT = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK


class LocalObjectStore:
    """An ``ObjectStore`` in a folder, for any number of threads and processes.

    Unlike in S3, a key cannot be the folder of another: ``a`` and ``a/b`` cannot both exist. Methods raise
    InvalidInputError for an invalid key.
    """

    def __init__(self, folder: Path) -> None:
        """Store the folder's path; ``put`` creates the folder with mode 0700 when absent."""
        self._folder = folder.absolute()
        self._swept = False
        self._durable: set[tuple[int, int]] = set()

    def put(self, key: str, chunks: Iterable[bytes]) -> StoredObject:
        """Write an object atomically, durable on return, replacing an existing object of that key.

        Raises:
            StorageError: It could not be written, such as on a full disk; an existing object is unchanged.
        """
        *path, name = parts_of_key(key)
        digest, size = hashlib.sha256(), 0
        try:
            with self._descend([PARTIAL], make=True) as (_, partial):
                self._sweep(partial)
                with _partial_file(partial) as (file, temporary):
                    for chunk in chunks:
                        file.write(chunk)
                        digest.update(chunk)
                        size += len(chunk)
                    file.flush()
                    os.fsync(file.fileno())
                    self._publish(temporary, partial, path, name)
        except (IsADirectoryError, NotADirectoryError) as error:
            raise StorageError(
                f"Object {shown(key)} cannot be written: its name is a folder, or one of its folders is an object."
            ) from error
        except OSError as error:
            raise StorageError(
                f"Object {shown(key)} could not be written ({error.strerror or error}): "
                "check its disk and permissions, and try again."
            ) from error
        return StoredObject(key=key, size_bytes=size, sha256=digest.hexdigest())

    def get(self, key: str) -> Iterator[bytes]:
        """Stream an object in pieces of up to a megabyte.

        Raises:
            AbsentObjectError: The object does not exist; raised by the call itself.
            StorageError: The object cannot be read.
        """
        if not self.exists(key):
            raise AbsentObjectError(f"There is no object {shown(key)}.")
        return self._stream(key)

    def get_range(self, key: str, offset: int, length: int) -> bytes:
        """Return exactly ``length`` bytes from ``offset``.

        Raises:
            InvalidInputError: A number is negative.
            AbsentObjectError: The object does not exist.
            DamagedObjectError: The object is shorter.
        """
        check_range(offset, length)
        with self._reading(key) as file:
            if offset + length <= os.fstat(file.fileno()).st_size:
                file.seek(offset)
                found = file.read(length)
                if len(found) == length:
                    return found
        raise DamagedObjectError(f"Object {shown(key)} ends before byte {offset + length}.")

    def exists(self, key: str) -> bool:
        """Whether the object exists.

        Raises:
            StorageError: The folder cannot be read, such as without permission.
        """
        *path, name = parts_of_key(key)
        try:
            with self._descend(path) as folders:
                return stat.S_ISREG(os.stat(name, dir_fd=folders[-1], follow_symlinks=False).st_mode)
        except OSError as error:
            if error.errno in _ABSENT:
                return False
            raise StorageError(f"Object {shown(key)} could not be looked up ({error.strerror}).") from error

    def modified_at(self, key: str) -> datetime:
        """Return when the object was last written, by the clock of the file system.

        Raises:
            AbsentObjectError: The object does not exist.
            StorageError: The object cannot be read.
        """
        with self._reading(key) as file:
            return datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC)

    def move_to_cold(self, key: str) -> None:
        """Check that the object exists; a folder has no cheaper storage class.

        Raises:
            AbsentObjectError: The object does not exist.
        """
        if not self.exists(key):
            raise AbsentObjectError(f"There is no object {shown(key)}.")

    def delete(self, key: str) -> None:
        """Remove an object and the folders that this leaves empty; an absent object is no error.

        Raises:
            StorageError: The object exists and could not be removed.
        """
        *path, name = parts_of_key(key)
        if not self.exists(key):
            return
        try:
            with contextlib.suppress(FileNotFoundError), self._descend(path) as folders:
                os.unlink(name, dir_fd=folders[-1])
                while path:
                    # Only an empty folder can be removed; a put that needs it creates it again.
                    try:
                        os.rmdir(path[-1], dir_fd=folders[len(path) - 1])
                    except FileNotFoundError:
                        pass  # Another delete has removed it.
                    except OSError:
                        break
                    path.pop()
                os.fsync(folders[len(path)])
        except OSError as error:
            raise StorageError(f"Object {shown(key)} could not be removed ({error.strerror}).") from error

    def keys(self, prefix: str = "") -> Iterator[str]:
        """Yield all keys that begin with ``prefix``, ordered by code points.

        Raises:
            StorageError: A folder cannot be read.
        """
        try:
            with self._descend([]) as (root,):
                yield from _walk(root, "", prefix)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"The objects cannot be listed ({error.strerror}).") from error

    @contextlib.contextmanager
    def _descend(self, path: Sequence[str], *, make: bool = False) -> Iterator[list[int]]:
        """Open the folder and each subfolder of ``path``; yields the descriptors, outermost first."""
        with contextlib.ExitStack() as opened:

            def enter(folder: Path | str, flags: int, above: int | None) -> int:
                descriptor = os.open(folder, flags, dir_fd=above)
                opened.callback(os.close, descriptor)
                return descriptor

            if make and not self._folder.is_dir():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                sync_folder(self._folder.parent)
            folders = [enter(self._folder, _OPEN_FOLDER, None)]
            for part in path:
                is_new = make and _made(part, folders[-1])
                folders.append(enter(part, _OPEN_FOLDER | os.O_NOFOLLOW, folders[-1]))
                if is_new:
                    self._durable.discard(_identity(folders[-1]))
            yield folders

    def _publish(self, temporary: str, partial: int, path: Sequence[str], name: str) -> None:
        """Move a written object to its key; retry if a concurrent delete removes the folders."""
        for _ in range(_PUBLISH_ATTEMPTS):
            with contextlib.suppress(FileNotFoundError), self._descend(path, make=True) as folders:
                os.rename(temporary, name, src_dir_fd=partial, dst_dir_fd=folders[-1])
                self._sync(folders)
                return
        raise FileNotFoundError("concurrent deletes keep removing its folder")

    def _sync(self, folders: Sequence[int]) -> None:
        """Make a new name in the innermost folder durable, and each folder's name that may not be so yet.

        Another writer may have created any of the folders. Each sync costs a flush of the disk, so the folders whose
        names were synced are remembered.
        """
        os.fsync(folders[-1])
        for above, folder in reversed(list(pairwise(folders))):
            identity = _identity(folder)
            if identity not in self._durable:
                os.fsync(above)
                self._durable.add(identity)

    def _sweep(self, partial: int) -> None:
        """Once per instance, remove unlocked partial files, which killed writers left."""
        if self._swept:
            return
        self._swept = True
        for name in os.listdir(partial):
            with contextlib.suppress(OSError):
                descriptor = os.open(name, _OPEN_OBJECT, dir_fd=partial)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    os.unlink(name, dir_fd=partial)
                finally:
                    os.close(descriptor)

    @contextlib.contextmanager
    def _reading(self, key: str) -> Iterator[BinaryIO]:
        absent = AbsentObjectError(f"There is no object {shown(key)}.")
        if not self.exists(key):
            raise absent
        *path, name = parts_of_key(key)
        try:
            with self._descend(path) as folders:
                descriptor = os.open(name, _OPEN_OBJECT, dir_fd=folders[-1])
            with os.fdopen(descriptor, "rb") as file:
                yield file
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not self.exists(key):  # deleted since the first look
                raise absent from error
            raise StorageError(f"Object {shown(key)} could not be read ({error.strerror}).") from error

    def _stream(self, key: str) -> Iterator[bytes]:
        with self._reading(key) as file:
            while chunk := file.read(_READ_BYTES):
                yield chunk


def _made(name: str, above: int) -> bool:
    """Create a folder; False if it exists."""
    try:
        os.mkdir(name, 0o700, dir_fd=above)
    except FileExistsError:
        return False
    return True


def _identity(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


@contextlib.contextmanager
def _partial_file(partial: int) -> Iterator[tuple[BinaryIO, str]]:
    """Create a locked file and yield it with its name; the file is removed at the end unless it was renamed."""
    while True:
        temporary = secrets.token_hex(16)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=partial)
        try:
            with os.fdopen(descriptor, "wb") as file:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                # A sweep may have removed it before it was locked.
                if os.fstat(descriptor).st_nlink:
                    yield file, temporary
                    return
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=partial)


def _walk(folder: int, above: str, prefix: str) -> Iterator[str]:
    """Yield the keys below an open folder, whose own key is ``above``, with a slash at the end."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                # The slash gives the order of keys: `a-b` comes before `a/b`.
                found.append(f"{above}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                found.append(above + entry.name)
    for key in sorted(found):
        name = key.removesuffix("/")
        if not is_key(name):
            continue
        if name == key:
            if key.startswith(prefix):
                yield key
        elif key.startswith(prefix) or prefix.startswith(key):
            try:
                below = os.open(name.removeprefix(above), _OPEN_FOLDER | os.O_NOFOLLOW, dir_fd=folder)
            except FileNotFoundError:
                continue
            try:
                yield from _walk(below, key, prefix)
            finally:
                os.close(below)
