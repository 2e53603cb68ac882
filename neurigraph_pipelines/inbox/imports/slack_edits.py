"""Edits and deletions among the events of a Slack channel, which some exports list beside the messages.

They are of messages of any day. ``slack`` reads the files of an export, ``slack_messages`` the messages.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from functools import lru_cache
from pathlib import Path

from neurigraph_pipelines.inbox.imports.assemble import moment
from neurigraph_pipelines.inbox.imports.source import Part
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_object, as_objects, object_of, text_of
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

_CHANGED, _DELETED, _REPEATED = "message_changed", "message_deleted", "message_replied"
"""The events of an edit, of a deletion, and of an answer, which the export also has as a message."""

_MAX_FILE_BYTES = 256 * 1024**2
_FILES_IN_MEMORY = 4


@dataclass(slots=True)
class _Edits:
    """The last versions of edited messages of a channel, and deleted ones, by their time stamps."""

    changed: dict[str, JsonObject] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)

    def add(self, event: JsonObject) -> None:
        inner, stamp = object_of(event, "message"), text_of(event, "deleted_ts")
        if event.get("subtype") == _CHANGED and (edited := text_of(inner, "ts")):
            self.changed[edited] = inner
        elif event.get("subtype") == _DELETED and stamp is not None:
            self.deleted.add(stamp)


def as_edited(messages: Sequence[Json], part: Part) -> list[Json]:
    """Return the messages of a day as they were last: edited words in place of the first ones, without deleted ones.

    Args:
        messages: As the file has them. The edit of a message that no file has stands where it was edited.
        part: The file, whose folder has the edits of other days.
    """
    edits = _edits_beside(part)
    known = {_stamp_of(one) for one in messages} | edits.deleted
    found: list[Json] = []
    for one in messages:
        event, stamp = as_object(one), _stamp_of(one)
        edited = text_of(object_of(event, "message"), "ts")
        if event.get("subtype") == _CHANGED and edited is not None:
            if edited not in known and not any(_of_other_days(edited, part)):
                known.add(edited)
                found.append(edits.changed[edited])
        elif event.get("subtype") != _REPEATED and (stamp is None or stamp not in edits.deleted):
            found.append(edits.changed.get(stamp or "", one))
    return found


def message_of_other_day(stamp: str, part: Part) -> JsonObject | None:
    """Return the message of a time stamp from the file of its day, as it was last; None if there is none."""
    edits, found = _edits_beside(part), next(_of_other_days(stamp, part), None)
    return None if found is None or stamp in edits.deleted else edits.changed.get(stamp, found)


def _of_other_days(stamp: str, part: Part) -> Iterator[JsonObject]:
    """Yield the message of a time stamp from the file of its day, which begins when it does in the workspace's zone."""
    try:
        sent = moment(float(stamp))
    except ValueError:
        return
    if sent is None or part.member is None:
        return
    folder = part.member.rpartition("/")[0]
    for days in (0, -1, 1):
        day = (sent.astimezone(UTC) + timedelta(days=days)).date()
        listed = _of_file(part.path, part.path.stat().st_mtime_ns, f"{folder}/{day}.json")
        yield from (one for one in listed if _stamp_of(one) == stamp)


def _edits_beside(part: Part) -> _Edits:
    folder = (part.member or "").rpartition("/")[0]
    return _edits_of(part.path, part.path.stat().st_mtime_ns, folder)


@lru_cache(maxsize=1)
def _edits_of(path: Path, _modified: int, folder: str) -> _Edits:
    """Read the edits in all files of a channel, in the order of the days."""
    found = _Edits()
    with zipfile.ZipFile(path) as archive:
        for member in sorted(name for name in archive.namelist() if name.rpartition("/")[0] == folder):
            data = _read(archive, member)
            if _CHANGED.encode() in data or _DELETED.encode() in data:
                for one in _parsed(data):
                    found.add(one)
    return found


@lru_cache(maxsize=_FILES_IN_MEMORY)
def _of_file(path: Path, _modified: int, member: str) -> list[JsonObject]:
    with zipfile.ZipFile(path) as archive:
        return _parsed(_read(archive, member))


def _read(archive: zipfile.ZipFile, member: str) -> bytes:
    """Return the bytes of a file; none of one that cannot be read: the file of the day itself says why."""
    try:
        return archive.read(member) if archive.getinfo(member).file_size <= _MAX_FILE_BYTES else b""
    except (KeyError, *READ_ERRORS):
        return b""


def _parsed(data: bytes) -> list[JsonObject]:
    try:
        return as_objects(KeepingParser().parse(data.decode("utf-8-sig")))
    except (ValueError, RecursionError):
        return []


def _stamp_of(message: Json) -> str | None:
    """Return the time stamp of a message; None for an event."""
    fields = as_object(message)
    return None if str(fields.get("subtype")).startswith("message_") else text_of(fields, "ts")
