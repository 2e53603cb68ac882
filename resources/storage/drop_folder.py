"""A local folder as a drop place; ``inbox.drop_intake`` uses its files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from neurigraph_pipelines.model import DroppedFile
from neurigraph_pipelines.model.errors import StorageError

_READ_BYTES = 1 << 20


class DropFolder:
    """A ``DropPlace`` in a folder.

    Links are not followed, and names that begin with a dot are ignored, because programs use them for unfinished files.

    Args:
        settle_seconds: A file counts as complete this long after its last change.
        owner: User and source that all files belong to, whose names then begin with that of the source.
    """

    def __init__(self, folder: Path, settle_seconds: float, owner: tuple[str, str] | None = None) -> None:
        self._folder = folder
        self._owner = owner
        self._settle_seconds = settle_seconds

    def files(self) -> Iterator[DroppedFile]:
        """Yield the complete files below the folder of each user.

        Raises:
            StorageError: The folder is absent or cannot be read.
        """
        oldest_change = time.time() - self._settle_seconds
        try:
            below = sorted(path for path in self._folder.iterdir() if path.is_dir() and not path.is_symlink())
        except OSError as error:
            raise StorageError(
                f"the drop folder {self._folder} cannot be read ({error.strerror}): "
                "create it, or set NEURIGRAPH_DROP_URL"
            ) from error
        for user in [self._folder] if self._owner else below:
            slug, source = self._owner or (user.name, "")
            for folder, subfolders, names in os.walk(user):
                subfolders[:] = sorted(name for name in subfolders if not name.startswith("."))
                for name in sorted(names):
                    path = Path(folder, name)
                    try:
                        status = path.lstat()
                    except OSError:  # it has been removed
                        continue
                    if name.startswith(".") or not stat.S_ISREG(status.st_mode) or status.st_mtime > oldest_change:
                        continue
                    yield DroppedFile(
                        slug,
                        PurePosixPath(source, path.relative_to(user).as_posix()).as_posix(),
                        f"{status.st_size}-{status.st_mtime_ns}",
                        datetime.fromtimestamp(status.st_mtime, UTC),
                    )

    def read(self, file: DroppedFile) -> Iterator[bytes]:
        """Stream a file.

        Raises:
            StorageError: The file is missing or cannot be read.
        """
        parts = file.name.split("/")
        parts = parts[1:] if self._owner else [file.user_slug, *parts]
        try:
            with os.fdopen(self._open(parts), "rb") as stream:
                while chunk := stream.read(_READ_BYTES):
                    yield chunk
        except OSError as error:
            raise StorageError(f"{file.name} in the drop folder cannot be read ({error.strerror})") from error

    def _open(self, parts: Sequence[str]) -> int:
        """Open a file folder by folder, because any folder may have become a link since it was listed."""
        *folders, name = parts
        at = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for folder in folders:
                above, at = at, os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                os.close(above)
            return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
        finally:
            os.close(at)
