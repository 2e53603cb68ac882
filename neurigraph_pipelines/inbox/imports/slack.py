"""Slack: the zip of a workspace's export, a file for each day of a channel. Each becomes a conversation.

Slack documents the export's files. Names of people and channels come from the lists beside them;
``slack_messages`` reads the messages.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath

from neurigraph_pipelines.inbox.imports import slack_messages
from neurigraph_pipelines.inbox.imports.assemble import Item, assemble, moment
from neurigraph_pipelines.inbox.imports.chat_days import by_words
from neurigraph_pipelines.inbox.imports.json_stream import said_twice
from neurigraph_pipelines.inbox.imports.slack_edits import as_edited
from neurigraph_pipelines.inbox.imports.slack_messages import Workspace, zone_of
from neurigraph_pipelines.inbox.imports.slack_threads import in_threads
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.model import IncomingMessage
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.exact_json import KeepingParser
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects, list_of, object_of, text_of
from neurigraph_pipelines.text.zip_limits import READ_ERRORS
from neurigraph_pipelines.views.kinds import Channel

DAY = re.compile(r"(?:.+/)?(?P<folder>[^/]+)/(?P<day>\d{4}-\d\d-\d\d)\.json")
"""Name of the file of a channel's day."""

_MAX_FILE_BYTES = 256 * 1024**2
_SHOWN = 5
_LISTS = {"channels": Channel.PUBLIC, "groups": Channel.PRIVATE, "mpims": Channel.DM, "dms": Channel.DM}
"""Files that list channels, and who could read those."""


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the day of a channel.

    Raises:
        InvalidInputError: The file is not a list in JSON.
    """
    part = reading.part
    match = DAY.fullmatch(part.member or "")
    if match is None:
        raise InvalidInputError(f"{part.name} is not a day of a channel: import the zip of the export.")
    workspace = _workspace(part.path, part.path.stat().st_mtime_ns)
    with reading.open() as stream:
        parser = KeepingParser()
        listed = as_edited(_parsed(stream.read(_MAX_FILE_BYTES + 1), part.name, parser), part)
        yield from said_twice(part.name, parser)
    key, name, channel = workspace.folders.get(match["folder"], (match["folder"], match["folder"], Channel.PRIVATE))
    day = moment(f"{match['day']}T00:00:00+00:00") or reading.fallback_time
    times = (
        message.occurred_at
        for message in slack_messages.read(listed, workspace, part.name)
        if isinstance(message, IncomingMessage) and message.occurred_at
    )
    read = assemble(
        part.name,
        f"slack:{key}:{match['day']}",
        slack_messages.read(in_threads(listed, part), workspace, part.name),
        title=f"{name}, {match['day']}",
        started_at=min(times, default=day),
        fallback_time=day,
        details=SourceDetails(origin="slack", channel=channel),
    )
    yield from read if match["folder"] in workspace.folders else by_words(read, has_certain_times=True)


def unread(path: Path) -> list[str]:
    """Return the names of the canvases and lists of a workspace; the export has no more of them."""
    if not zipfile.is_zipfile(path):
        return []
    with zipfile.ZipFile(path) as archive:
        files = {PurePosixPath(name).name: name for name in archive.namelist()}
        said: list[str] = []
        for kind in ("canvases", "lists"):
            items = _listed(archive, files, kind)
            names = [name for one in items if (name := text_of(one, "title", "name"))]
            shown = ", ".join([*names[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])
            if items:
                said.append(f"{kind} whose words are not in the export: {len(items):,} ({shown})")
    return said


@lru_cache(maxsize=1)
def _workspace(path: Path, _modified: int) -> Workspace:
    """Read the lists of people and channels of an export once; a file that changed has another ``_modified``."""
    with zipfile.ZipFile(path) as archive:
        files = {PurePosixPath(name).name: name for name in archive.namelist() if name.endswith(".json")}
        users = _listed(archive, files, "users")
        people = {str(one.get("id")): _person(one) for one in users}
        zones = {str(one.get("id")): zone for one in users if (zone := zone_of(one)) is not None}
        folders: dict[str, tuple[str, str, Channel]] = {}
        for kind, channel in _LISTS.items():
            for one in _listed(archive, files, kind):
                key = str(one.get("id"))
                members = [people.get(str(member), str(member)) for member in list_of(one, "members")]
                name = text_of(one, "name")
                folders[key if kind == "dms" else name or key] = (
                    key,
                    f"#{name}" if name and channel is not Channel.DM else ", ".join(members) or key,
                    channel,
                )
    return Workspace(people, zones, folders)


def _listed(archive: zipfile.ZipFile, files: Mapping[str, str], name: str) -> list[JsonObject]:
    """Return the objects of a list beside the channels; none if it cannot be read, so that ids stand for names."""
    inside = files.get(f"{name}.json")
    if inside is None or archive.getinfo(inside).file_size > _MAX_FILE_BYTES:
        return []
    try:
        return as_objects(KeepingParser().parse(archive.read(inside).decode("utf-8-sig")))
    except (ValueError, RecursionError, *READ_ERRORS):
        return []


def _person(raw: JsonObject) -> str:
    profile = object_of(raw, "profile")
    named = text_of(profile, "real_name") or text_of(raw, "real_name")
    return named or text_of(profile, "display_name") or text_of(raw, "name") or str(raw.get("id"))


def _parsed(data: bytes, name: str, parser: KeepingParser) -> list[Json]:
    if len(data) > _MAX_FILE_BYTES:
        raise InvalidInputError(f"{name} is longer than {_MAX_FILE_BYTES:,} bytes.")
    try:
        messages = parser.parse(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} is not readable JSON ({str(error)[:80]}).") from error
    if not isinstance(messages, list):
        raise InvalidInputError(f"{name} is not a list of messages.")
    return messages
