"""Markdown notes in a zip: a vault that was packed, or an export of Notion, whose notes lie in a zip within the zip.

``inbox.vaults`` imports them from a folder. Nothing is written here: the process that reads uploads may not write.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from neurigraph_pipelines.inbox.imports.vault import MAX_NOTES, NOTES
from neurigraph_pipelines.model.errors import InvalidInputError, UnreadableFileError
from neurigraph_pipelines.text.encodings import decoded
from neurigraph_pipelines.text.note_dates import stated_time
from neurigraph_pipelines.text.zip_limits import MAX_ARCHIVE_RATIO, READ_ERRORS, UNSUSPICIOUS_BYTES

_PAGE_ID = re.compile(r"(?:%20| )[0-9a-f]{32}(?=\.md\b|\.csv\b|/|\)|$)")
"""What Notion adds to the names of pages."""

_CREATED = re.compile(
    r"\A# [^\n]*\n+(?:[\w ]{1,40}: [^\n]*\n)*?(?:Created|Created time|Date): ([A-Z][a-z]+ \d{1,2}, \d{4})"
)
_NOTION = "Notion"


@dataclass(frozen=True, slots=True)
class ZippedNote:
    """A note of a zip: its path below the vault, its text, and when it was changed."""

    path: str
    text: str
    modified: datetime | None


@dataclass(frozen=True, slots=True)
class _Member:
    archive: zipfile.ZipFile
    info: zipfile.ZipInfo


def vault_name(path: Path) -> str | None:
    """Return the name of the vault that a zip holds; None if there is no note in it.

    Raises:
        UnreadableFileError: It is damaged, encrypted, or would unpack to too much.
    """
    with ExitStack() as stack:
        members = _members(path, stack)
        names = [member.info.filename for member in members]
    if not names:
        return None
    if any(_PAGE_ID.search(name.removesuffix(".md")) for name in names):
        return _NOTION
    return _top_of(names) or path.stem


def notes_in(path: Path, max_bytes: int) -> Iterator[ZippedNote | tuple[str, str]]:
    """Yield the notes of a zip; of one that cannot be read, its path and the reason.

    Raises:
        UnreadableFileError: The zip is damaged, encrypted, or would unpack to too much.
    """
    with ExitStack() as stack:
        members = _members(path, stack)
        top = _top_of([member.info.filename for member in members])
        shown = [_PAGE_ID.sub("", name.removeprefix(f"{top}/") if top else name) for name in _names(members)]
        counts = Counter(name.casefold() for name in shown)
        for member, name in zip(members[:MAX_NOTES], shown, strict=False):
            own = name if counts[name.casefold()] == 1 else member.info.filename.removeprefix(f"{top}/" if top else "")
            if not _is_safe(own):
                yield own, "its path leads out of the vault"
                continue
            try:
                with member.archive.open(member.info) as stream:
                    content = stream.read(max_bytes + 1)
                if len(content) > max_bytes:
                    raise InvalidInputError(f"it has more than {max_bytes:,} bytes, the limit of a message: split it")
                yield ZippedNote(own, _text(decoded(content)[0]), _written(member.info))
            except InvalidInputError as error:
                yield own, str(error)
            except READ_ERRORS as error:
                yield own, f"it is damaged ({error})"


def others_in(path: Path) -> list[str]:
    """Return the names of the files of a zip, and of the zips in it, that are no notes; no hidden ones and no zips."""
    with zipfile.ZipFile(path) as archive, ExitStack() as stack:
        names = [one.info.filename for one in _listed(archive, stack) if not one.info.is_dir()]
    return [name for name in names if not _is_note(name) and not _is_hidden(name) and not _is_zip(name)]


def _names(members: list[_Member]) -> list[str]:
    return [member.info.filename for member in members]


def _text(text: str) -> str:
    """Return a note with links to the names of pages, and with the date that Notion writes as a line."""
    found = _CREATED.match(text)
    plain = _PAGE_ID.sub("", text)
    if found is None or text.startswith("---"):
        return plain
    try:
        created = stated_time(found[1])
    except InvalidInputError:
        return plain
    return f"---\ncreated: {created:%Y-%m-%d}\n---\n{plain}" if created else plain


def _members(path: Path, stack: ExitStack) -> list[_Member]:
    """Return the notes of a zip and of the zips in it, sorted by their paths.

    Raises:
        UnreadableFileError: It is damaged, encrypted, or would unpack to too much.
    """
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
        listed = _listed(archive, stack)
    except (*READ_ERRORS, NotImplementedError, UnicodeDecodeError) as error:
        raise UnreadableFileError(f"{path} is a damaged or incomplete zip ({error}): download it again.") from error
    notes = [one for one in listed if _is_note(one.info.filename)]
    if any(one.info.flag_bits & 1 for one in notes):
        raise UnreadableFileError(f"{path} is encrypted: unpack it, then import what it contains.")
    size = sum(one.info.file_size for one in notes)
    if size > max(UNSUSPICIOUS_BYTES, path.stat().st_size * MAX_ARCHIVE_RATIO):
        raise UnreadableFileError(
            f"{path} would unpack to {size:,} bytes, which looks like a zip bomb: unpack it yourself."
        )
    return sorted(notes, key=lambda one: one.info.filename)


def _listed(archive: zipfile.ZipFile, stack: ExitStack) -> list[_Member]:
    """Return the members of a zip and of the zips in it."""
    listed = [_Member(archive, info) for info in archive.infolist()]
    for info in archive.infolist():
        if _is_zip(info.filename) and not info.flag_bits & 1:
            inner = stack.enter_context(zipfile.ZipFile(stack.enter_context(archive.open(info))))
            listed += [_Member(inner, one) for one in inner.infolist()]
    return listed


def _is_zip(name: str) -> bool:
    return name.lower().endswith(".zip")


def _is_note(name: str) -> bool:
    return name.lower().endswith(NOTES) and not _is_hidden(name)


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return parts[:1] == ("__MACOSX",) or any(part.startswith(".") and part not in (".", "..") for part in parts)


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and "\\" not in name and "\0" not in name


def _top_of(names: list[str]) -> str | None:
    """Return the folder that all notes are in, if there is one that is no page of Notion's."""
    tops = {name.partition("/")[0] if "/" in name else "" for name in names}
    top = next(iter(tops)) if len(tops) == 1 else ""
    return top if top and top != ".." and not _PAGE_ID.search(top) else None


def _written(info: zipfile.ZipInfo) -> datetime | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None
