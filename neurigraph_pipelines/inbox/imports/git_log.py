"""The log of Git with its files: each commit is a conversation of one message, and so is each decision after it.

The form is that of ``git log --date=iso-strict --name-only``, read line by line. ``import --git`` writes it, with a
first line that names the repository, and the texts of its decisions as entries of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, derived_id, message_id, moment
from neurigraph_pipelines.inbox.imports.jsonl import lines_of
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails

FORMAT = "git"
REPOSITORY = "repository "
DECISION = "decision\t"
"""Git quotes a tab in the name of a file, so no name of a file looks like the beginning of a decision."""

_NO_NAME = "unknown author"
"""A commit without a name of its author is no statement of the owner."""
FILES_SHOWN = 20
"""Files of a commit that its memory names."""

_MAX_LINE_BYTES = 4 * 1024**2
_HEAD = re.compile(rf"commit ([0-9a-f]{{40,64}})\b|{DECISION}(.+)")
_BEGIN = re.compile(r"(?:repository .*\n)?commit [0-9a-f]{40,64}\b.*\n(?:Merge: .*\n)?Author: ")
_AUTHOR = re.compile(r"Author:\s+(.*?)\s*(?:<([^<>]*)>)?")
_DATE = re.compile(r"Date:\s+(\S.*)")
_INDENT = "    "


@dataclass(slots=True)
class _Entry:
    """A commit, or the text of a decision, as far as it is read."""

    commit: str | None
    path: str | None
    where: str
    author: str = _NO_NAME
    date: str | None = None
    lines: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Take the next line."""
        if line.startswith(_INDENT) or (not line and self.lines and not self.files):
            self.lines.append(line.removeprefix(_INDENT))
        elif not self.lines and (found := _AUTHOR.fullmatch(line)):
            self.author = found[1] or found[2] or _NO_NAME
        elif not self.lines and (found := _DATE.fullmatch(line)):
            self.date = found[1]
        elif line and self.date is not None:
            self.files.append(line)


def is_log(start: str) -> bool:
    """Return whether a text begins as a log of Git does."""
    return _BEGIN.match(start) is not None


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the commits and decisions of a log.

    Raises:
        InvalidInputError: It has none.
    """
    repository, entry, count = "", None, 0
    with reading.open() as stream:
        for number, raw in lines_of(stream, _MAX_LINE_BYTES, blank=True):
            where = f"{reading.part.name}, line {number}"
            if isinstance(raw, RejectedItem):
                yield RejectedItem(where, "the line is too long")
                continue
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            if (head := _HEAD.fullmatch(line)) is not None:
                if entry is not None:
                    yield from _read(entry, repository, reading)
                entry, count = _Entry(head[1], head[2], f"{where}, {head[2] or line[:19]}"), count + 1
            elif entry is not None:
                entry.take(line)
            elif line.startswith(REPOSITORY):
                repository = line.removeprefix(REPOSITORY)
    if entry is None:
        raise InvalidInputError(f"{reading.part.name} has no commits: write it with git log --date=iso-strict.")
    yield from _read(entry, repository, reading)


def _read(entry: _Entry, repository: str, reading: Reading) -> Iterator[Item]:
    text, time = "\n".join(entry.lines).strip(), moment(entry.date)
    if not text or time is None:
        yield RejectedItem(entry.where, "it has no message" if not text else "its date is not in ISO 8601")
        return
    title = text.splitlines()[0].lstrip("# ")
    if entry.files:
        more = f" and {len(entry.files) - FILES_SHOWN:,} more" if len(entry.files) > FILES_SHOWN else ""
        text = f"{text}\n\nFiles: {', '.join(entry.files[:FILES_SHOWN])}{more}"
    message = IncomingMessage(Role.USER, text, entry.author, None, time)
    about = {"repository": repository, "commit": entry.commit, "path": entry.path}
    yield from assemble(
        entry.where,
        f"git:{entry.commit}" if entry.commit else derived_id("git-decision", repository, entry.path),
        [IncomingMessage(Role.USER, text, entry.author, message_id(1, message), time)],
        title=title,
        fallback_time=reading.fallback_time,
        details=SourceDetails(
            origin=FORMAT, author=entry.author, metadata={name: value for name, value in about.items() if value}
        ),
    )
