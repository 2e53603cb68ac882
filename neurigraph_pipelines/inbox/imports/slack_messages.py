"""Messages of Slack: words of texts, blocks and attachments, with names in place of ids.

Slack documents the fields. ``slack`` reads the files of an export.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Spoken, moment
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.text.json_fields import Json, JsonObject, as_objects, list_of, object_of, objects_of, text_of
from neurigraph_pipelines.views.kinds import Channel

_MARKED = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]+)(?:\|(?P<label>[^<>]*))?>")
_NOTICES = (
    "_join",
    "_leave",
    "_topic",
    "_purpose",
    "_name",
    "_archive",
    "_unarchive",
    "huddle_thread",
    "_posting_permissions",
    "_convert_to_private",
    "_convert_to_public",
    "_canvas_updated",
    "bot_add",
    "bot_remove",
    "bot_enable",
    "bot_disable",
    "pinned_item",
    "joiner_notification",
    "joiner_notification_for_inviter",
)
"""Ends of the subtypes of what Slack itself says in a channel."""

_NOTICE = "left out: notices of the app"
_DELETED = "left out: deleted messages"
_WORDLESS = "left out: messages without words"
_MENTIONS = ("channel", "usergroup", "broadcast", "date")
_MOST_LEVELS = 20
_FARTHEST_ZONE = 14 * 3_600


@dataclass(frozen=True, slots=True)
class Workspace:
    """Names and zones of people by id, and of each folder its id, name and channel."""

    people: Mapping[str, str]
    zones: Mapping[str, timezone]
    folders: Mapping[str, tuple[str, str, Channel]]


def zone_of(user: JsonObject) -> timezone | None:
    """Return the zone of a person, by the offset that the export states in seconds."""
    offset = user.get("tz_offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or abs(offset) > _FARTHEST_ZONE:
        return None
    return timezone(timedelta(seconds=offset))


def read(messages: Sequence[Json], workspace: Workspace, where: str) -> Iterator[Spoken]:
    """Read the messages of a day: their words, and those that they share by the names of their authors."""
    for number, raw in enumerate(messages, 1):
        if not isinstance(raw, dict):
            yield RejectedItem(f"{where}, message {number}", "it is not an object")
            continue
        subtype = str(raw.get("subtype") or "")
        if raw.get("type", "message") != "message" or subtype.endswith(_NOTICES):
            yield ImportNote(_NOTICE, 1)
            continue
        if subtype in ("tombstone", "message_deleted") or raw.get("hidden") is True:
            yield ImportNote(_DELETED, 1)
            continue
        stamp, time = text_of(raw, "ts"), time_of(raw, workspace)
        shared = [one for one in objects_of(raw, "attachments") if _is_shared(one)]
        cards = [one for one in objects_of(raw, "attachments") if not _is_shared(one)]
        said = (_said(raw, workspace), *(_card(one, workspace) for one in cards), *_files(raw))
        words = "\n".join(filter(None, said))
        cited = [_card(one, workspace, with_author=False) for one in shared]
        if words:
            yield IncomingMessage(Role.USER, words, _author(raw, workspace), stamp, time)
        elif not any(cited):
            yield ImportNote(_WORDLESS, 1)
        for place, (one, words) in enumerate(zip(shared, cited, strict=True), 1):
            if words:
                author, key = _author_of_shared(one, workspace), stamp and f"{stamp}#{place}"
                yield IncomingMessage(Role.USER, words, author, key, _shared_time(one) or time)


def time_of(raw: JsonObject, workspace: Workspace) -> datetime | None:
    """Return the time of a message, on the clock of its author if the export states it."""
    stamp = text_of(raw, "ts")
    try:
        time = moment(float(stamp)) if stamp else None
    except ValueError:
        return None
    zone = workspace.zones.get(str(raw.get("user")))
    return time.astimezone(zone) if time is not None and zone is not None else time


def _author(raw: JsonObject, workspace: Workspace) -> str:
    """Return who wrote a message; somebody without a name as well, because the owner has none."""
    user, profile = text_of(raw, "user"), object_of(raw, "user_profile")
    named = (
        text_of(profile, "real_name"),
        workspace.people.get(user or ""),
        text_of(raw, "username"),
        text_of(profile, "display_name", "name"),
        user,
        text_of(object_of(raw, "bot_profile"), "name"),
        text_of(raw, "bot_id"),
    )
    return next(filter(None, named), UNKNOWN)


def _author_of_shared(one: JsonObject, workspace: Workspace) -> str:
    user = text_of(one, "author_id")
    named = text_of(one, "author_name", "author_subname")
    return named or workspace.people.get(user or "") or user or UNKNOWN


def _said(raw: JsonObject, workspace: Workspace) -> str:
    """Return the words of a message; of its blocks only if the text does not have them already."""
    text = _plain(_string(raw.get("text")), workspace).strip()
    blocks = objects_of(raw, "blocks")
    if text and all(block.get("type") == "rich_text" for block in blocks):
        return text
    lines = [line for line in _blocks(blocks, workspace) if line and line not in text]
    return "\n".join(filter(None, (text, *lines)))


def _blocks(blocks: Sequence[JsonObject], workspace: Workspace) -> Iterator[str]:
    """Yield the words of blocks, a line for each."""
    for block in blocks:
        if block.get("type") == "rich_text":
            yield from filter(None, ("".join(_rich(part, workspace)).strip() for part in objects_of(block, "elements")))
            continue
        if block.get("type") == "table":
            yield from _table(block, workspace)
            continue
        parts = [block.get(name) for name in ("title", "text", "description")]
        for part in (*parts, *objects_of(block, "fields"), *objects_of(block, "elements"), _picture(block)):
            said = part.get("text") if isinstance(part, dict) and "text" in part else part
            said = text_of(said, "text", "alt_text") if isinstance(said, dict) else said
            if words := _plain(_string(said), workspace).strip():
                yield words


def _picture(block: JsonObject) -> str | None:
    """Return the caption of a picture or a video in a block."""
    return text_of(block, "alt_text")


def _table(block: JsonObject, workspace: Workspace) -> Iterator[str]:
    """Yield a line for each row of a table, whose cells are texts or rich texts."""
    for row in list_of(block, "rows"):
        cells = [_cell(cell, workspace) for cell in as_objects(row)]
        if any(cells):
            yield " | ".join(cells)


def _cell(cell: JsonObject, workspace: Workspace) -> str:
    text = cell.get("text")
    return _string(text).strip() if isinstance(text, str) else " ".join(_blocks([cell], workspace))


def _rich(element: JsonObject, workspace: Workspace, levels: int = 0) -> Iterator[str]:
    """Yield the words of a piece of rich text and of the pieces in it."""
    kind = element.get("type")
    if kind == "text":
        yield _string(element.get("text"))
    elif kind == "link":
        label, address = _string(element.get("text")), _string(element.get("url"))
        yield f"{label} ({address})" if label and label != address else address
    elif kind == "user":
        user = _string(element.get("user_id"))
        yield f"@{workspace.people.get(user, user)}"
    elif kind == "emoji":
        yield f":{_string(element.get('name'))}:"
    elif kind in _MENTIONS:
        yield _mention(element, workspace)
    elif levels < _MOST_LEVELS:
        for part in objects_of(element, "elements"):
            yield from _rich(part, workspace, levels + 1)
            if kind == "rich_text_list":
                yield "\n"


def _mention(element: JsonObject, workspace: Workspace) -> str:
    """Return the words of a piece of rich text that stands for a channel, a group, everybody or a time."""
    if element["type"] == "channel":
        key = _string(element.get("channel_id"))
        return f"#{_channel(key, workspace)}"
    if element["type"] == "date":
        return text_of(element, "fallback") or str(_moment_of(element.get("timestamp")) or "")
    return f"@{_string(element.get('usergroup_id')) or _string(element.get('range'))}"


def _channel(key: str, workspace: Workspace) -> str:
    """Return the name of a channel."""
    return next((name.removeprefix("#") for one, name, _ in workspace.folders.values() if one == key), key)


def _moment_of(stamp: Json) -> datetime | None:
    try:
        return moment(float(stamp)) if isinstance(stamp, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def _is_shared(attachment: JsonObject) -> bool:
    return bool(attachment.get("is_share") or attachment.get("is_msg_unfurl"))


def _shared_time(attachment: JsonObject) -> datetime | None:
    return _moment_of(attachment.get("ts"))


def _card(card: JsonObject, workspace: Workspace, *, with_author: bool = True) -> str:
    """Return the words of an attachment: those of a program, of a page, or of a shared message."""
    fields = [f"{_string(one.get('title'))}: {_string(one.get('value'))}" for one in objects_of(card, "fields")]
    inner = [object_of(one, "message") for one in objects_of(card, "message_blocks")]
    nested = [line for one in inner for line in _blocks(objects_of(one, "blocks"), workspace)]
    own = [_plain(_string(card.get(name)), workspace).strip() for name in ("pretext", "title", "text")]
    blocks = [*_blocks(objects_of(card, "blocks"), workspace), *nested]
    said = [*own, *(line for line in blocks if line not in own), *(_plain(one, workspace) for one in fields)]
    if not any(said):
        said = [_plain(_string(card.get("fallback")), workspace).strip()]
    author = text_of(card, "author_name") if with_author and any(said) else None
    return "\n".join(filter(None, (author, *said)))


def _files(raw: JsonObject) -> Iterator[str]:
    for file in objects_of(raw, "files"):
        if file.get("mode") != "tombstone":
            yield f"[attached: {text_of(file, 'name', 'title') or 'without a name'}]"
            if words := text_of(file, "plain_text", "preview"):
                yield words.strip()
    comment = object_of(raw, "file_comment") or object_of(raw, "comment")
    if words := text_of(comment, "comment"):
        yield words.strip()


def _string(value: Json) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, int | float) else ""


def _plain(text: str, workspace: Workspace) -> str:
    """Return a text without Slack's marks: names for ids, the label or the address of a link."""

    def written(match: re.Match[str]) -> str:
        sign, target, label = match["sign"], match["target"], match["label"]
        if sign == "@":
            return f"@{label or workspace.people.get(target, target)}"
        if sign == "#":
            return f"#{label or target}"
        if sign == "!" and target.startswith("date^"):
            return label or str(_moment_of(target.split("^")[1]) or "")
        if sign == "!":
            return f"@{(label or target).removeprefix('@')}" if target.startswith("subteam^") else f"@{target}"
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_MARKED.sub(written, text))
