"""Bounds of documents that are zip archives."""

from __future__ import annotations

import zipfile
from typing import BinaryIO

MAX_UNPACKED_BYTES = 512 * 1024**2
"""Limit of the unpacked size of a document; the longest books need less than a tenth."""


def require_bounded(stream: BinaryIO) -> None:
    """Require that the directory of an archive declares at most ``MAX_UNPACKED_BYTES``; rewind the stream.

    Raises:
        ValueError: It declares more.
    """
    with zipfile.ZipFile(stream) as archive:
        size = sum(member.file_size for member in archive.infolist())
    if size > MAX_UNPACKED_BYTES:
        raise ValueError(f"it would unpack to {size:,} bytes")
    stream.seek(0)
