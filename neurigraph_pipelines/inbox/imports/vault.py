"""Reading of a vault: a folder of Markdown notes, as Obsidian keeps them.

Only ordinary files below the folder are opened. ``inbox.vaults`` imports the notes.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from neurigraph_pipelines.graph.naming import checked_name
from neurigraph_pipelines.graph.navigation import PATH_SEPARATOR
from neurigraph_pipelines.inbox.imports import canvas
from neurigraph_pipelines.inbox.imports.assemble import moment
from neurigraph_pipelines.inbox.imports.source import reason_of
from neurigraph_pipelines.inbox.note_links import DEEP_FOLDER, Parts, parts_of
from neurigraph_pipelines.model import MAX_LAYER_DEPTH, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.text.encodings import decoded
from neurigraph_pipelines.text.front_matter import MAX_FRONT_MATTER_CHARACTERS, front_matter

FORMAT = "vault"
BASIC_MEMORY = "basic-memory"
"""A vault whose notes are called by their titles and state relations in their lines, as Basic Memory writes them."""

FORMS = (FORMAT, BASIC_MEMORY)
"""The names of the formats."""

MAX_NOTES = 10_000
"""Most notes of one vault that are read, because each has a node: the first ones by their paths."""

_MARK = ".obsidian"
NOTES = (".md", ".markdown", canvas.SUFFIX)
"""Ends of the names of notes."""

_FOLDERS = MAX_LAYER_DEPTH - 2
"""Folders that get a node of their own: the vault is in layer 1, and a note below the deepest folder."""


@dataclass(frozen=True, slots=True)
class NoteFile:
    """A note in a vault.

    Attributes:
        path: Its path below the folder of the vault, with slashes.
        names: The names of its node, from layer 1 down.
        modified: The time of its last change, in nanoseconds since 1970.
    """

    path: str
    names: tuple[str, ...]
    modified: int

    @property
    def parts(self) -> Parts:
        """The name by which links refer to it, in parts."""
        return parts_of(self.names[1:])

    @property
    def modified_at(self) -> datetime | None:
        """The time of its last change, if that is a usable time."""
        return moment(datetime.fromtimestamp(self.modified // 10**9, UTC).isoformat())


@dataclass(frozen=True, slots=True)
class Vault:
    """The notes of a vault, and counts of the files that are not read.

    Attributes:
        others: Number of files that are no notes: hidden ones, links, and what is not Markdown.
        beyond: Number of notes beyond ``MAX_NOTES``.
        form: One of ``FORMS``.
    """

    folder: Path
    name: str
    notes: tuple[NoteFile, ...]
    rejected: tuple[RejectedItem, ...]
    others: int
    beyond: int
    form: str = FORMAT


def is_vault(folder: Path) -> bool:
    """Return whether a folder is a vault of Obsidian, by the folder of settings in it."""
    mark = folder / _MARK
    try:
        return mark.is_dir() and not mark.is_symlink()
    except (OSError, ValueError):  # ValueError: a NUL byte in the path
        return False


def has_notes(folder: Path) -> bool:
    """Return whether a folder that is no vault of Obsidian has Markdown notes, outside hidden folders."""
    try:
        for place, subfolders, files in os.walk(folder):
            subfolders[:] = (one for one in subfolders if not one.startswith("."))
            if any(_modified(Path(place, file)) is not None for file in files):
                return True
    except ValueError:  # a NUL byte in the path
        pass
    return False


def open_vault(folder: Path, form: str = FORMAT) -> Vault:
    """List the notes of a folder. Links are not followed, and hidden folders are not entered.

    Args:
        folder: The folder of the notes.
        form: One of ``FORMS``; notes of Basic Memory are called by their titles.

    Raises:
        InvalidInputError: There is no such folder, it cannot be read, or its name cannot be that of a node.
    """
    try:
        name = checked_name(folder.resolve().name)
        next(folder.iterdir(), None)
    except (OSError, ValueError, RuntimeError) as error:
        raise InvalidInputError(
            f"{folder} cannot be read as a vault ({reason_of(error)}): give the folder of the notes."
        ) from None
    found: list[tuple[str, int]] = []
    others = 0
    for place, subfolders, files in os.walk(folder):
        subfolders[:] = sorted(one for one in subfolders if not one.startswith("."))
        for file in files:
            modified = _modified(Path(place, file))
            if modified is None:
                others += 1
            else:
                found.append((Path(place, file).relative_to(folder).as_posix(), modified))
    found.sort()
    notes: dict[Parts, NoteFile] = {}
    rejected: list[RejectedItem] = []
    for path, modified in found[:MAX_NOTES]:
        try:
            note = NoteFile(path, (name, *names_of(path)), modified)
            if form == BASIC_MEMORY and (title := _title_of(folder, path)) is not None:
                titled = NoteFile(path, (*note.names[:-1], title), modified)
                note = note if titled.parts in notes else titled
        except InvalidInputError as error:
            rejected.append(RejectedItem(_encodable(path), str(error)))
            continue
        known = notes.setdefault(note.parts, note)
        if known is not note:
            rejected.append(RejectedItem(path, f"it has the name of {known.path}: names differ by more than case"))
    return Vault(folder, name, tuple(notes.values()), tuple(rejected), others, max(len(found) - MAX_NOTES, 0), form)


def read_note(vault: Vault, note: NoteFile, max_bytes: int) -> tuple[str, str | None]:
    """Return the text of a note, and which encoding was assumed if it is not UTF-8.

    Raises:
        InvalidInputError: It cannot be read, is too large, is no longer an ordinary file, or its encoding is not
            recognised.
    """
    content = _start_of(vault.folder / note.path, max_bytes + 1)
    if len(content) > max_bytes:
        raise InvalidInputError(f"it has more than {max_bytes:,} bytes, the limit of a message: split it")
    text, encoding = decoded(content)
    if "\0" in text:
        raise InvalidInputError("it is not text: it has NUL characters")
    return (canvas.words_of(text) if note.path.lower().endswith(canvas.SUFFIX) else text), encoding


def _start_of(file: Path, most: int) -> bytes:
    """Return the first bytes of an ordinary file.

    Raises:
        InvalidInputError: It cannot be read, or is something else.
    """
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InvalidInputError("it is not an ordinary file")
            return stream.read(most)
    except OSError as error:
        raise InvalidInputError(f"it cannot be read ({error.strerror})") from error


def _title_of(folder: Path, path: str) -> str | None:
    """Return the title that a note states, if it can be the name of a node."""
    try:
        title = front_matter(_start_of(folder / path, MAX_FRONT_MATTER_CHARACTERS).decode("utf-8", "replace")).title
        return None if title is None or PATH_SEPARATOR in title else checked_name(title)
    except InvalidInputError:
        return None


def _modified(file: Path) -> int | None:
    """Return when a note was changed; None for any other file."""
    if file.name.startswith(".") or not file.name.lower().endswith(NOTES):
        return None
    try:
        status = file.lstat()
    except OSError:  # it has been removed
        return None
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None


def names_of(path: str) -> list[str]:
    """Return the names of the nodes for a path below the vault: folders that are too deep share one.

    Raises:
        InvalidInputError: A name is too long, has no visible character, or is not UTF-8.
    """
    if _encodable(path) != path:
        raise InvalidInputError("its path is not UTF-8: rename it")
    *folders, file = path.split("/")
    deep = folders[_FOLDERS - 1 :]
    if len(deep) > 1:
        folders = [*folders[: _FOLDERS - 1], DEEP_FOLDER.join(deep)]
    return [checked_name(one) for one in (*folders, file.rpartition(".")[0])]


def _encodable(path: str) -> str:
    return path.encode("utf-8", "replace").decode()
