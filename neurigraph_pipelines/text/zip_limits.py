"""Limits for untrusted zip files: the largest unpacked size, and the errors of damaged files."""

from __future__ import annotations

import zipfile
import zlib

MAX_ARCHIVE_RATIO = 200
"""Largest ratio of unpacked size to zip size. Exports reach about 15; deflate can reach 1,032."""

UNSUSPICIOUS_BYTES = 64 * 1024**2
"""Unpacked size up to which the ratio is not checked."""

READ_ERRORS = (OSError, EOFError, zipfile.BadZipFile, zlib.error)
"""Errors that reading a damaged file or zip raises."""
