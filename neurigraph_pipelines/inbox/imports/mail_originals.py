"""The words of the mails that others answer: of the same thread, the same mailbox, or another file of the same zip."""

from __future__ import annotations

import email
import email.policy
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import EmailMessage
from functools import lru_cache
from pathlib import Path

from neurigraph_pipelines.inbox.imports.mail_bodies import content_of, header
from neurigraph_pipelines.inbox.imports.source import Part
from neurigraph_pipelines.model.errors import UnreadableFileError
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

ID = re.compile(r"<([^<>\s]{1,250})>")
"""The id of a message in a header."""

_MAX_HEAD_BYTES = 256 * 1024
_MAX_MAIL_BYTES = 64 * 1024**2


@dataclass(slots=True)
class Originals:
    """Finds the words of a mail by its id.

    Attributes:
        part: The file, beside which a zip may have others.
        place: Returns the mail of an id in the same mailbox.
        thread: The words of the mails of the thread by their ids, as far as they are read.
    """

    part: Part
    place: Callable[[str], EmailMessage | None]
    thread: dict[str, str] = field(default_factory=dict)

    def answered(self, mail: EmailMessage) -> str:
        """Return the words of the mail that a mail answers; nothing if the archive does not have it."""
        named = [*ID.findall(header(mail, "In-Reply-To"))[:1], *ID.findall(header(mail, "References"))[-1:]]
        return next((words for one in named if (words := self._words(one))), "")

    def _words(self, key: str) -> str:
        if key in self.thread:
            return self.thread[key]
        found = self.place(key)
        if found is not None:
            return _words_of(found)
        return "" if self.part.member is None else _words_beside(self.part.path, self.part.path.stat().st_mtime_ns, key)


def parsed(data: bytes) -> EmailMessage:
    """Parse a mail."""
    return email.message_from_bytes(data, _class=EmailMessage, policy=email.policy.default)


def _words_of(mail: EmailMessage) -> str:
    try:
        return content_of(mail).text
    except UnreadableFileError:  # the mail itself says so
        return ""


@lru_cache(maxsize=32)
def _words_beside(path: Path, modified: int, key: str) -> str:
    member = _members(path, modified).get(key)
    if member is None:
        return ""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as stream:
            return _words_of(parsed(stream.read(_MAX_MAIL_BYTES)))
    except READ_ERRORS:
        return ""


@lru_cache(maxsize=1)
def _members(path: Path, _modified: int) -> dict[str, str]:
    """Return the files of single mails in a zip by the ids of the mails."""
    found: dict[str, str] = {}
    with zipfile.ZipFile(path) as archive:
        for member in (name for name in archive.namelist() if name.lower().endswith(".eml")):
            try:
                with archive.open(member) as stream:
                    match = ID.search(header(parsed(stream.read(_MAX_HEAD_BYTES)), "Message-ID"))
            except (UnreadableFileError, *READ_ERRORS):  # the file itself says so
                continue
            if match is not None:
                found.setdefault(match[1], member)
    return found
