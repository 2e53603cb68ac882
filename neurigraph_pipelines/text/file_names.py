"""Names of files that users give."""

from __future__ import annotations

from pathlib import PurePosixPath

from neurigraph_pipelines.text.hygiene import clean_text

MAX_FILE_NAME_LENGTH = 255


def file_name_of(name: str) -> str:
    """Return the last part of a path, printable, storable and at most ``MAX_FILE_NAME_LENGTH`` characters long."""
    cleaned = clean_text(name.replace("\\", "/"), "repair")[0].rstrip("/").rpartition("/")[2].strip()
    printable = "".join(character for character in cleaned if character.isprintable())
    if printable in ("", ".", ".."):
        return "upload"
    path = PurePosixPath(printable)
    suffix = path.suffix[:20]
    return printable if len(printable) <= MAX_FILE_NAME_LENGTH else path.stem[: MAX_FILE_NAME_LENGTH - 20] + suffix
