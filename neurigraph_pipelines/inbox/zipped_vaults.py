"""Import of the notes in a zip: they are laid in a folder of their own, which is imported as a vault.

``imports.zipped_notes`` reads the zip. Of an upload it does so in a confined process, whose lines arrive here.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from neurigraph_pipelines.inbox.imports.vault import FORMAT, MAX_NOTES
from neurigraph_pipelines.inbox.imports.zipped_notes import ZippedNote, notes_in, others_in, vault_name
from neurigraph_pipelines.model import RejectedItem
from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.json_fields import Json, JsonObject

_LONGEST_NAME = 200


def note_lines(path: Path, max_bytes: int) -> Iterator[JsonObject]:
    """Yield the format and the vault's name, the notes, other files, and an end; nothing if no note is in a zip.

    Raises:
        UnreadableFileError: The zip cannot be read.
    """
    name = vault_name(path)
    if name is None:
        return
    yield {"format": FORMAT, "vault": name}
    for found in notes_in(path, max_bytes):
        if isinstance(found, ZippedNote):
            modified = found.modified.timestamp() if found.modified else None
            yield {"note_at": found.path, "text": found.text, "modified": modified}
        else:
            yield {"rejected": [*found]}
    for other in others_in(path)[:MAX_NOTES]:
        yield {"other_at": other}
    yield {"end": True}


def is_zip_of_notes(path: Path) -> bool:
    """Return whether a file is a zip with Markdown notes in it."""
    return path.is_file() and zipfile.is_zipfile(path) and vault_name(path) is not None


@contextmanager
def unpacked(name: str, lines: Iterable[JsonObject]) -> Iterator[tuple[Path, list[RejectedItem]]]:
    """Give a folder with the notes of the lines, as long as it is used, and the rejected entries of the zip.

    Its other files are empty, because they are only counted.
    """
    rejected: list[RejectedItem] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, name.replace("/", " ").strip(". ")[:_LONGEST_NAME] or FORMAT)
        folder.mkdir()
        for line in lines:
            match line:
                case {"note_at": str(path), "text": str(text), "modified": modified}:
                    _lay(folder, path, text, modified, rejected)
                case {"other_at": str(path)}:
                    _lay(folder, path, "", None, [])  # an empty file is counted as one that is no note
                case {"rejected": [str(where), str(reason)]}:
                    rejected.append(RejectedItem(where, reason))
                case {"error": str(reason)}:
                    raise UnreadableFileError(f"the file cannot be read: {reason}")
                case {"end": True}:
                    break
        yield folder, rejected


def _lay(folder: Path, path: str, text: str, modified: Json, rejected: list[RejectedItem]) -> None:
    file = Path(os.path.normpath(folder / path))
    if not file.is_relative_to(folder) or file == folder:  # the lines come from a process that is not trusted
        rejected.append(RejectedItem(path, "its path leads out of the vault"))
        return
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "replace"))
        if isinstance(modified, int | float):
            os.utime(file, (modified, modified))
    except (OSError, ValueError, OverflowError) as error:
        rejected.append(RejectedItem(path, f"its name cannot be used ({type(error).__name__}): shorten it"))
