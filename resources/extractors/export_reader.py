"""Read exports of conversations in a separate process, line by line; see ``confined``."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path, PurePosixPath

from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.views.scalars import JsonObject
from resources.extractors.confined import Limits, lines_of

_MOST_NAME_BYTES = 200
_BYTES_OF_A_CHARACTER = 6
"""Of one byte of UTF-8 with its escapes in JSON."""

_REST_OF_A_LINE = 1_000_000


class SubprocessExportReader:
    """An ``ExportReader`` that starts a process for each file.

    Args:
        limits: Of the process.
        max_message_bytes: Longer messages are rejected, and longer plain texts split.
    """

    def __init__(self, limits: Limits, max_message_bytes: int) -> None:
        self._limits = limits
        self._max_message_bytes = max_message_bytes

    @contextmanager
    def lines(
        self,
        content: Iterable[bytes],
        file_name: str,
        modified: datetime,
        date_order: str | None = None,
        everything: bool = False,
        format_name: str | None = None,
    ) -> Iterator[Iterator[JsonObject]]:
        """Give the lines that the process writes; its end ends the process."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, _short(file_name))  # readers use the name
            with file.open("wb") as copy:
                copy.writelines(content)
            os.utime(file, (modified.timestamp(), modified.timestamp()))
            longest = _BYTES_OF_A_CHARACTER * self._max_message_bytes + _REST_OF_A_LINE
            how = (date_order or "", "yes" if everything else "", format_name or "")
            arguments = (str(file), str(self._max_message_bytes), *how)
            with closing(lines_of("conversations", self._limits, longest, *arguments)) as found:
                yield (_object(line) for line in found)


def _object(line: bytes) -> JsonObject:
    found = json.loads(line)
    if not isinstance(found, dict):
        raise UnreadableFileError("the file cannot be read: its reader wrote a line of another shape")
    return found


def _short(file_name: str) -> str:
    """Return a name that every file system takes, with the suffix."""
    path = PurePosixPath(file_name)
    suffix = path.suffix.encode()[:20].decode("utf-8", "ignore")
    return path.stem.encode()[:_MOST_NAME_BYTES].decode("utf-8", "ignore") + suffix
