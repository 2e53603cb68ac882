"""Limits for zip files from outside: how much one may unpack to, and what reading a damaged one raises."""

from __future__ import annotations

import zipfile
import zlib

MAX_ARCHIVE_RATIO = 200
"""Most that a zip may unpack to, as a multiple of its own size; exports reach about 15, deflate 1,032."""

UNSUSPICIOUS_BYTES = 64 * 1024**2
"""Unpacked size up to which the ratio does not matter."""

READ_ERRORS = (OSError, EOFError, zipfile.BadZipFile, zlib.error)
"""What reading a damaged file or zip raises."""
