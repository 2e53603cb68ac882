"""Messages of Slack: words of texts, blocks and attachments, with names in place of ids.

Slack documents the fields. ``slack`` reads the files of an export.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Spoken, list_of, moment, objects_of, text_of
from neurigraph_pipelines.model import ImportNote, NewMessage, RejectedItem, Role
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


def zone_of(user: Mapping[str, Any]) -> timezone | None:
    """Return the zone of a person, by the offset that the export states in seconds."""
    offset = user.get("tz_offset")
    if not isinstance(offset, int) or isinstance(offset, bool) or abs(offset) > _FARTHEST_ZONE:
        return None
    return timezone(timedelta(seconds=offset))


def read(messages: Sequence[Any], workspace: Workspace, where: str) -> Iterator[Spoken]:
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
        stamp, time = text_of(raw.get("ts")), time_of(raw, workspace)
        shared = [one for one in objects_of(raw.get("attachments")) if _is_shared(one)]
        cards = [one for one in objects_of(raw.get("attachments")) if not _is_shared(one)]
        said = (_said(raw, workspace), *(_card(one, workspace) for one in cards), *_files(raw))
        words = "\n".join(filter(None, said))
        cited = [_card(one, workspace, with_author=False) for one in shared]
        if words:
            yield NewMessage(Role.USER, words, _author(raw, workspace), stamp, time)
        elif not any(cited):
            yield ImportNote(_WORDLESS, 1)
        for place, (one, words) in enumerate(zip(shared, cited, strict=True), 1):
            if words:
                author, key = _author_of_shared(one, workspace), stamp and f"{stamp}#{place}"
                yield NewMessage(Role.USER, words, author, key, _shared_time(one) or time)


def time_of(raw: Mapping[str, Any], workspace: Workspace) -> datetime | None:
    """Return the time of a message, on the clock of its author if the export states it."""
    stamp = text_of(raw.get("ts"))
    try:
        time = moment(float(stamp)) if stamp else None
    except ValueError:
        return None
    zone = workspace.zones.get(str(raw.get("user")))
    return time.astimezone(zone) if time is not None and zone is not None else time


def _author(raw: dict[str, Any], workspace: Workspace) -> str:
    """Return who wrote a message; somebody without a name as well, because the owner has none."""
    user = text_of(raw.get("user"))
    named = (
        _of_profile(raw, "user_profile", "real_name"),
        workspace.people.get(user or ""),
        text_of(raw.get("username")),
        _of_profile(raw, "user_profile", "display_name") or _of_profile(raw, "user_profile", "name"),
        user,
        _of_profile(raw, "bot_profile", "name"),
        text_of(raw.get("bot_id")),
    )
    return next(filter(None, named), UNKNOWN)


def _of_profile(raw: dict[str, Any], profile: str, name: str) -> str | None:
    value = raw.get(profile)
    return text_of(value.get(name)) if isinstance(value, dict) else None


def _author_of_shared(one: dict[str, Any], workspace: Workspace) -> str:
    user = text_of(one.get("author_id"))
    named = text_of(one.get("author_name")) or text_of(one.get("author_subname"))
    return named or workspace.people.get(user or "") or user or UNKNOWN


def _said(raw: dict[str, Any], workspace: Workspace) -> str:
    """Return the words of a message; of its blocks only if the text does not have them already."""
    text = _plain(_string(raw.get("text")), workspace).strip()
    blocks = objects_of(raw.get("blocks"))
    if text and all(block.get("type") == "rich_text" for block in blocks):
        return text
    lines = [line for line in _blocks(blocks, workspace) if line and line not in text]
    return "\n".join(filter(None, (text, *lines)))


def _blocks(blocks: Sequence[dict[str, Any]], workspace: Workspace) -> Iterator[str]:
    """Yield the words of blocks, a line for each."""
    for block in blocks:
        if block.get("type") == "rich_text":
            yield from filter(
                None, ("".join(_rich(part, workspace)).strip() for part in objects_of(block.get("elements")))
            )
            continue
        if block.get("type") == "table":
            yield from _table(block, workspace)
            continue
        parts = [block.get(name) for name in ("title", "text", "description")]
        for part in (*parts, *objects_of(block.get("fields")), *objects_of(block.get("elements")), _picture(block)):
            said = part.get("text") if isinstance(part, dict) and "text" in part else part
            said = (said.get("text") or said.get("alt_text")) if isinstance(said, dict) else said
            if words := _plain(_string(said), workspace).strip():
                yield words


def _picture(block: dict[str, Any]) -> str | None:
    """Return what is said of a picture or a video in a block."""
    return text_of(block.get("alt_text"))


def _table(block: dict[str, Any], workspace: Workspace) -> Iterator[str]:
    """Yield a line for each row of a table, whose cells are texts or rich texts."""
    for row in list_of(block.get("rows")):
        cells = [_cell(cell, workspace) for cell in objects_of(row)]
        if any(cells):
            yield " | ".join(cells)


def _cell(cell: dict[str, Any], workspace: Workspace) -> str:
    text = cell.get("text")
    return _string(text).strip() if isinstance(text, str) else " ".join(_blocks([cell], workspace))


def _rich(element: dict[str, Any], workspace: Workspace, levels: int = 0) -> Iterator[str]:
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
        for part in objects_of(element.get("elements")):
            yield from _rich(part, workspace, levels + 1)
            if kind == "rich_text_list":
                yield "\n"


def _mention(element: dict[str, Any], workspace: Workspace) -> str:
    """Return the words of a piece of rich text that stands for a channel, a group, everybody or a time."""
    if element["type"] == "channel":
        key = _string(element.get("channel_id"))
        return f"#{_channel(key, workspace)}"
    if element["type"] == "date":
        return text_of(element.get("fallback")) or str(_moment_of(element.get("timestamp")) or "")
    return f"@{_string(element.get('usergroup_id')) or _string(element.get('range'))}"


def _channel(key: str, workspace: Workspace) -> str:
    """Return the name of a channel."""
    return next((name.removeprefix("#") for one, name, _ in workspace.folders.values() if one == key), key)


def _moment_of(stamp: Any) -> datetime | None:
    try:
        return moment(float(stamp)) if isinstance(stamp, str | int | float) else None
    except (ValueError, OverflowError):
        return None


def _is_shared(attachment: dict[str, Any]) -> bool:
    return bool(attachment.get("is_share") or attachment.get("is_msg_unfurl"))


def _shared_time(attachment: dict[str, Any]) -> datetime | None:
    return _moment_of(attachment.get("ts"))


def _card(card: dict[str, Any], workspace: Workspace, *, with_author: bool = True) -> str:
    """Return the words of an attachment: those of a program, of a page, or of a shared message."""
    fields = [f"{_string(one.get('title'))}: {_string(one.get('value'))}" for one in objects_of(card.get("fields"))]
    inner = [one["message"] for one in objects_of(card.get("message_blocks")) if isinstance(one.get("message"), dict)]
    nested = [line for one in inner for line in _blocks(objects_of(one.get("blocks")), workspace)]
    own = [_plain(_string(card.get(name)), workspace).strip() for name in ("pretext", "title", "text")]
    blocks = [*_blocks(objects_of(card.get("blocks")), workspace), *nested]
    said = [*own, *(line for line in blocks if line not in own), *(_plain(one, workspace) for one in fields)]
    if not any(said):
        said = [_plain(_string(card.get("fallback")), workspace).strip()]
    author = text_of(card.get("author_name")) if with_author and any(said) else None
    return "\n".join(filter(None, (author, *said)))


def _files(raw: dict[str, Any]) -> Iterator[str]:
    for file in objects_of(raw.get("files")):
        if file.get("mode") != "tombstone":
            yield f"[attached: {text_of(file.get('name')) or text_of(file.get('title')) or 'without a name'}]"
            if words := text_of(file.get("plain_text")) or text_of(file.get("preview")):
                yield words.strip()
    comment = raw.get("file_comment") or raw.get("comment")
    if isinstance(comment, dict) and (words := text_of(comment.get("comment"))):
        yield words.strip()


def _string(value: Any) -> str:
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
