"""Discord: a channel as DiscordChatExporter writes it, in JSON or as text. Each day becomes a conversation.

The program documents its formats. ``json_stream`` reads the JSON, ``chat_days`` splits the channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from neurigraph_pipelines.inbox.imports import json_stream
from neurigraph_pipelines.inbox.imports.assemble import UNKNOWN, Item, Spoken, derived_id, moment_of
from neurigraph_pipelines.inbox.imports.chat_days import by_words, days, with_ids
from neurigraph_pipelines.inbox.imports.date_order import Numbers, Order, assumed, order_of, parts
from neurigraph_pipelines.inbox.imports.source import Reading
from neurigraph_pipelines.inbox.imports.text import read_text
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.json_fields import JsonObject, as_text, object_of, objects_of, text_of
from neurigraph_pipelines.views.kinds import Channel

_SPOKEN = ("Default", "Reply", "ThreadStarterMessage", "0", "19", "20", "23", "ChatInputCommand", "ContextMenuCommand")
_RULE = re.compile(r"={10,}")
_FIELD = re.compile(r"(?P<name>[A-Za-z]+): (?P<value>.+)")
_BEGIN = re.compile(
    r"\[(?P<date>\d{1,4}[./-](?:\d{1,2}|[A-Za-z]{3})[./-]\d{1,4}) (?P<hour>\d{1,2}):(?P<minute>\d\d)"
    r"(?:\s(?P<half>[AaPp])\.?[Mm]\.?)?\] (?P<author>.{1,100}?)(?: \(pinned\))?"
)
_FILES = re.compile(r"\{(?:Attachments|Embed|Stickers)\}")
_REACTIONS = "{Reactions}"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def is_log(start: str) -> bool:
    """Return whether a text begins as the exporter's text files do."""
    lines = start.lstrip("\ufeff").splitlines()[:3]
    return len(lines) > 2 and bool(_RULE.fullmatch(lines[0])) and lines[1].startswith("Guild: ")


def conversations(reading: Reading) -> Iterator[Item]:
    """Read the messages of a channel. Notices such as that somebody joined are left out.

    Raises:
        InvalidInputError: It is neither JSON of the exporter nor its text.
    """
    with reading.open() as stream:
        is_json = stream.peek(64).lstrip(json_stream.WHITE)[:1] in (b"{", b"[")
        if is_json:
            for item in json_stream.read_items(stream, reading.part.name):
                yield from (
                    [item] if isinstance(item, RejectedItem) else _channel(item[1], item[0], reading.fallback_time)
                )
    if not is_json:
        yield from _log(read_text(reading), reading)


def _channel(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    guild, channel = (object_of(item, name) for name in ("guild", "channel"))
    named = text_of(channel, "name") or "channel"
    title = f"{as_text(guild.get('name')) or 'Discord'} #{named}"
    is_direct = str(guild.get("id")) == "0" or "Direct" in str(channel.get("type"))
    key = channel.get("id")
    yield from days(
        where,
        f"discord:{key}" if isinstance(key, int | str) and key else None,
        named if is_direct else title,
        with_ids(_messages(objects_of(item, "messages"))),
        fallback_time=fallback_time,
        details=SourceDetails(origin="discord", channel=Channel.DM if is_direct else Channel.PRIVATE),
    )


def _messages(messages: list[JsonObject]) -> Iterator[Spoken]:
    for raw in messages:
        if str(raw.get("type", "Default")) not in _SPOKEN:
            yield ImportNote("left out: notices of the app", 1)
            continue
        author = text_of(object_of(raw, "author"), "nickname", "name") or UNKNOWN
        words = "\n".join(filter(None, (text_of(raw, "content"), *_embedded(raw))))
        if words:
            key = text_of(raw, "id")
            yield IncomingMessage(Role.USER, words, author, key, moment_of(raw, "timestamp"))


def _embedded(raw: JsonObject) -> Iterator[str]:
    """Yield the words of embedded cards, of a forwarded message with its mark, and the names of files."""
    for embed in objects_of(raw, "embeds"):
        fields = [f"{one.get('name')}: {one.get('value')}" for one in objects_of(embed, "fields")]
        yield from filter(None, (text_of(embed, "title"), text_of(embed, "description"), *fields))
    if words := text_of(object_of(raw, "forwardedMessage"), "content"):
        yield f"[forwarded] {words}"
    for sticker in objects_of(raw, "stickers"):
        yield f"[sticker: {text_of(sticker, 'name') or 'without a name'}]"
    poll = object_of(raw, "poll")
    if asked := text_of(object_of(poll, "question"), "text"):
        yield f"[poll: {asked}]"
        yield from (f"- {words}" for one in objects_of(poll, "answers") if (words := _answer(one)))
    for file in objects_of(raw, "attachments"):
        yield f"[attached: {text_of(file, 'fileName', 'url') or 'without a name'}]"


def _answer(answer: JsonObject) -> str | None:
    inner = object_of(answer, "pollMedia") or object_of(answer, "poll_media")
    return text_of(answer, "text") or text_of(inner, "text")


def _log(text: str, reading: Reading) -> Iterator[Item]:
    """Read the exporter's text: a head, and a line of time and author before the words of each message."""
    name = reading.part.name
    head: dict[str, str] = {}
    begun: list[tuple[re.Match[str], list[str]]] = []
    for line in text.splitlines():
        match = _BEGIN.fullmatch(line)
        if match is not None:
            begun.append((match, []))
        elif begun:
            begun[-1][1].append(line)
        elif (field := _FIELD.fullmatch(line)) is not None:
            head[field["name"]] = field["value"]
    if not begun:
        raise InvalidInputError(f"{name} has no line such as '[30/04/2025 20:00] kari' of a Discord channel.")
    dates = [_numbers(match["date"]) for match, _ in begun]
    has_halves = any(match["half"] for match, _ in begun)
    found = order_of(dates, has_halves=has_halves)
    order = Order(reading.date_order, is_certain=True) if reading.date_order else found
    if not order.is_certain:
        yield assumed(order.order)
    title = f"{head.get('Guild', 'Discord')} #{head.get('Channel', 'channel').rpartition(' / ')[2]}"
    read = days(
        name,
        derived_id("discord", head.get("Guild"), head.get("Channel")),
        title,
        with_ids(_said(begun, dates, order, name)),
        fallback_time=reading.fallback_time,
        details=SourceDetails(origin="discord", channel=Channel.PRIVATE),
    )
    yield from by_words(read, has_certain_times=order.is_certain)


def _said(
    begun: Sequence[tuple[re.Match[str], list[str]]], dates: Sequence[Numbers], order: Order, name: str
) -> Iterator[Spoken]:
    for (match, lines), numbers in zip(begun, dates, strict=True):
        hour = int(match["hour"])
        if match["half"]:
            hour = hour % 12 + (12 if match["half"] in "Pp" else 0)
        try:
            time = datetime(*parts(numbers, order.order), hour, int(match["minute"]), tzinfo=UTC)
        except (ValueError, OverflowError) as error:
            yield RejectedItem(f"{name}, {match['date']}", f"its date does not exist ({error})")
            continue
        if words := _words(lines):
            yield IncomingMessage(Role.USER, words, match["author"], occurred_at=time)


def _words(lines: Sequence[str]) -> str:
    """Return the words of a message, with the names of files, and without reactions and the foot of the file."""
    kept: list[str] = []
    for line in lines:
        if line == _REACTIONS or _RULE.fullmatch(line):
            break
        if not _FILES.fullmatch(line):
            kept.append(line)
    return "\n".join(kept).strip()


def _numbers(date: str) -> Numbers:
    """Return the three numbers of a date; a month in letters says where it stands."""
    first, second, third = re.split(r"[./-]", date)
    if second[:1].isalpha():
        month = second.lower()
        second = str(_MONTHS.index(month) + 1) if month in _MONTHS else "0"
    return first, second, third
