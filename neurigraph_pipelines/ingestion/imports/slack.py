"""Slack: the zip of a workspace's export, a file for each day of a channel. Each becomes a conversation.

Slack documents the export's files. Names of people and channels come from the lists beside them.
"""

from __future__ import annotations

import html
import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from neurigraph_pipelines.errors import InvalidInputError
from neurigraph_pipelines.ingestion.imports.assemble import Item, assemble, moment, objects_of, text_of
from neurigraph_pipelines.ingestion.imports.source import Reading
from neurigraph_pipelines.model import NewMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import Channel, SourceDetails
from neurigraph_pipelines.text.zip_limits import READ_ERRORS

DAY = re.compile(r"(?:.+/)?(?P<folder>[^/]+)/(?P<day>\d{4}-\d\d-\d\d)\.json")
"""Name of the file of a channel's day."""

_MAX_FILE_BYTES = 256 * 1024**2
_LISTS = {"channels": Channel.PUBLIC, "groups": Channel.PRIVATE, "mpims": Channel.DM, "dms": Channel.DM}
"""Files that list channels, and who could read those."""

_MARKED = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")
_NOTICES = ("_join", "_leave", "_topic", "_purpose", "_name", "_archive", "_unarchive")
"""Ends of the subtypes of what Slack itself says in a channel."""


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Names of people by id, and of each folder its id, name and channel."""

    people: Mapping[str, str]
    folders: Mapping[str, tuple[str, str, Channel]]


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the day of a channel.

    Raises:
        InvalidInputError: The file is not a list in JSON.
    """
    part = reading.part
    match = DAY.fullmatch(part.member or "")
    if match is None:
        raise InvalidInputError(f"{part.name} is not a day of a channel: import the zip of the export.")
    workspace = _workspace(part.path, part.modified)
    with reading.open() as stream:
        messages = _parsed(stream.read(_MAX_FILE_BYTES + 1), part.name)
    key, name, channel = workspace.folders.get(match["folder"], (match["folder"], match["folder"], Channel.PRIVATE))
    yield from assemble(
        part.name,
        f"slack:{key}:{match['day']}",
        _messages(messages, workspace, part.name),
        title=f"{name}, {match['day']}",
        fallback_time=moment(f"{match['day']}T00:00:00+00:00") or reading.fallback_time,
        details=SourceDetails(origin="slack", channel=channel),
    )


@lru_cache(maxsize=1)
def _workspace(path: Path, _modified: float) -> _Workspace:
    """Read the lists of people and channels of an export once; ``_modified`` tells versions of a file apart."""
    with zipfile.ZipFile(path) as archive:
        files = {PurePosixPath(name).name: name for name in archive.namelist() if name.endswith(".json")}

        def listed(name: str) -> list[dict[str, Any]]:
            inside = files.get(f"{name}.json")
            if inside is None or archive.getinfo(inside).file_size > _MAX_FILE_BYTES:
                return []
            try:
                return objects_of(json.loads(archive.read(inside)))
            except (ValueError, RecursionError, *READ_ERRORS):
                return []  # ids stand for names then

        people = {str(one.get("id")): _person(one) for one in listed("users")}
        folders: dict[str, tuple[str, str, Channel]] = {}
        for kind, channel in _LISTS.items():
            for one in listed(kind):
                key = str(one.get("id"))
                members = [people.get(str(member), str(member)) for member in one.get("members") or []]
                name = text_of(one.get("name"))
                folders[key if kind == "dms" else name or key] = (
                    key,
                    f"#{name}" if name and channel is not Channel.DM else ", ".join(members) or key,
                    channel,
                )
    return _Workspace(people, folders)


def _person(raw: dict[str, Any]) -> str:
    profile = raw.get("profile") if isinstance(raw.get("profile"), dict) else {}
    assert isinstance(profile, dict)
    names = (profile.get("real_name"), raw.get("real_name"), profile.get("display_name"), raw.get("name"))
    return next((name for value in names if (name := text_of(value))), str(raw.get("id")))


def _parsed(data: bytes, name: str) -> list[Any]:
    if len(data) > _MAX_FILE_BYTES:
        raise InvalidInputError(f"{name} is longer than {_MAX_FILE_BYTES:,} bytes.")
    try:
        messages = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not readable JSON ({str(error)[:80]}).") from error
    if not isinstance(messages, list):
        raise InvalidInputError(f"{name} is not a list of messages.")
    return messages


def _messages(messages: list[Any], workspace: _Workspace, where: str) -> Iterator[NewMessage | RejectedItem]:
    for number, raw in enumerate(messages, 1):
        if not isinstance(raw, dict):
            yield RejectedItem(f"{where}, message {number}", "it is not an object")
            continue
        subtype = str(raw.get("subtype") or "")
        if raw.get("type", "message") != "message" or subtype.endswith(_NOTICES):
            continue
        words = "\n".join(filter(None, (_plain(str(raw.get("text") or ""), workspace).strip(), *_files(raw))))
        if not words:
            continue
        stamp = text_of(raw.get("ts"))
        try:
            time = moment(float(stamp)) if stamp else None
        except ValueError:
            time = None
        yield NewMessage(Role.USER, words, _author(raw, workspace), stamp, time)


def _author(raw: dict[str, Any], workspace: _Workspace) -> str | None:
    profile = raw.get("user_profile")
    user = text_of(raw.get("user"))
    named = text_of(profile.get("real_name")) if isinstance(profile, dict) else None
    return named or workspace.people.get(user or "") or text_of(raw.get("username")) or user


def _files(raw: dict[str, Any]) -> Iterator[str]:
    for file in objects_of(raw.get("files")):
        yield f"[attached: {text_of(file.get('name')) or text_of(file.get('title')) or 'without a name'}]"


def _plain(text: str, workspace: _Workspace) -> str:
    """Return a text without Slack's marks: names for ids, the label or the address of a link."""

    def written(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{label or workspace.people.get(target, target)}"
        if sign == "#":
            return f"#{label or target}"
        return f"@{target}" if sign == "!" else f"{label} ({target})" if label and label != target else target

    return html.unescape(_MARKED.sub(written, text))
