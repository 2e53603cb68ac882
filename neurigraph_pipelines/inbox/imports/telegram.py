"""Telegram: ``result.json`` of Telegram Desktop, of one chat or of all. Each day of a chat becomes a conversation.

Telegram documents the fields only by its program. ``json_stream`` reads the file, ``chat_days`` splits the chats.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from neurigraph_pipelines.inbox.imports.assemble import Item, Spoken, moment, moment_of
from neurigraph_pipelines.inbox.imports.chat_days import days, with_ids
from neurigraph_pipelines.model import ImportNote, IncomingMessage, RejectedItem, Role
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.text.hygiene import on_clock
from neurigraph_pipelines.text.json_fields import (
    Json,
    JsonObject,
    as_list,
    as_object,
    as_objects,
    number_of,
    object_of,
    objects_of,
    text_of,
    texts_of,
)
from neurigraph_pipelines.views.kinds import Channel

_FARTHEST_ZONE = timedelta(hours=14)

_DELETED_ACCOUNT = "Deleted account"
"""The author for whom Telegram writes null."""

_PLACES = {0: "CLP ISK JPY KRW PYG UGX VND XTR".split(), 3: "BHD IQD JOD KWD LYD OMR TND".split()}
"""Decimal places of the currencies that have not two."""

_HIGHEST = 10**15

_CHANNELS = {
    "personal_chat": Channel.DM,
    "bot_chat": Channel.DM,
    "saved_messages": Channel.DM,
    "public_supergroup": Channel.PUBLIC,
    "public_channel": Channel.PUBLIC,
}
"""Channels of the kinds of chats; of every other kind it is private."""


def conversations(item: JsonObject, where: str, fallback_time: datetime | None) -> Iterator[Item]:
    """Read a chat, or the chats of a whole export with those that were left. Service messages are left out."""
    chats = [chat for name in ("chats", "left_chats") for chat in objects_of(object_of(item, name), "list")]
    if item.get("chats") is None and not chats:
        chats = [item]
    if not chats:
        yield RejectedItem(where, "it has no list of chats")
    for number, chat in enumerate(chats, 1):
        here = where if chat is item else f"{where}, chat {number}"
        if not isinstance(chat.get("messages"), list):
            yield RejectedItem(here, "it has no list of messages")
            continue
        kind = str(chat.get("type"))
        title = text_of(chat, "name") or ("Saved messages" if kind == "saved_messages" else "Telegram chat")
        key = chat.get("id")
        yield from days(
            here,
            f"telegram:{key}" if isinstance(key, int | str) else None,
            title,
            with_ids(_messages(as_objects(chat["messages"]), here)),
            fallback_time=fallback_time,
            details=SourceDetails(origin="telegram", channel=_CHANNELS.get(kind, Channel.PRIVATE)),
        )


def _messages(messages: list[JsonObject], where: str) -> Iterator[Spoken]:
    for raw in messages:
        if raw.get("type", "message") != "message":
            yield ImportNote("left out: notices of the app", 1)
            continue
        words = "\n".join(filter(None, (*_attached(raw), _text(raw.get("text")).strip())))
        if not words:
            continue
        key = raw.get("id")
        time = _time(raw)
        if time is None:
            yield RejectedItem(f"{where}, message {key}", "it has no date in ISO 8601 between 1970 and 2200")
            continue
        named = ("forwarded_from",) if "forwarded_from" in raw else ("from", "actor")
        author = text_of(raw, *named) or _DELETED_ACCOUNT
        yield IncomingMessage(Role.USER, words, author, str(key) if isinstance(key, int) else None, time)


def _time(raw: JsonObject) -> datetime | None:
    """Return the time; ``date`` is the clock of the computer that exported, and alone it is taken as UTC."""
    seconds, clock = raw.get("date_unixtime"), moment_of(raw, "date")
    if not (isinstance(seconds, str) and seconds.isascii() and seconds.isdigit()):
        return clock
    time = moment(int(seconds))
    if time is None or clock is None or abs(clock - time) > _FARTHEST_ZONE:
        return time
    return on_clock(time, round((clock - time) / timedelta(minutes=1)))


def _text(value: Json) -> str:
    """Return the words of a text, which is a string or a list of strings and marked-up pieces."""
    if isinstance(value, str):
        return value
    return "".join(
        piece if isinstance(piece, str) else str(as_object(piece).get("text", "")) for piece in as_list(value)
    )


def _attached(raw: JsonObject) -> Iterator[str]:
    """Yield the contents of a message beside its text: files by name, polls, contacts and places in words."""
    for kind in ("photo", "file"):
        value = raw.get(kind)
        if isinstance(value, str) and value:
            name = text_of(raw, "file_name") or value.rsplit("/", 1)[-1]
            media = str(raw.get("media_type") or kind).replace("_", " ")
            yield f"[{media}]" if name.startswith("(File ") else f"[attached: {name}]"
    yield from _poll(object_of(raw, "poll"))
    yield from _of_bots(raw)
    yield from _todo(object_of(raw, "todo_list"))
    if contact := object_of(raw, "contact_information"):
        yield f"[contact: {' '.join(texts_of(contact, 'first_name', 'last_name', 'phone_number'))}]"
    if place := object_of(raw, "location_information"):
        where = ", ".join(str(place.get(name)) for name in ("latitude", "longitude"))
        yield f"[place: {', '.join([*texts_of(raw, 'place_name', 'address'), where])}]"


def _of_bots(raw: JsonObject) -> Iterator[str]:
    """Yield games and invoices in words."""
    if text_of(raw, "game_title"):
        yield f"[game: {': '.join(texts_of(raw, 'game_title', 'game_description'))}]"
    if invoice := object_of(raw, "invoice_information"):
        amount, currency = invoice.get("amount"), text_of(invoice, "currency")
        said = texts_of(invoice, "title", "description")
        if isinstance(amount, int) and abs(amount) < _HIGHEST and currency:
            said.append(f"{_units(amount, currency)} {currency}")
        yield f"[invoice: {', '.join(said)}]"


def _units(amount: int, currency: str) -> str:
    """Return an amount of the smallest units of a currency in the units of its name."""
    digits = next((places for places, names in _PLACES.items() if currency in names), 2)
    return f"{amount / 10**digits:.{digits}f}"


def _todo(todo: JsonObject) -> Iterator[str]:
    """Yield the title of a list of tasks, and the tasks."""
    if todo:
        yield f"[list: {_text(todo.get('title')).strip()}]"
    for task in objects_of(todo, "answers"):
        yield f"- {_text(task.get('text')).strip()}"


def _poll(poll: JsonObject) -> Iterator[str]:
    """Yield the question of a poll, and its answers with their votes."""
    if question := _text(poll.get("question")).strip():
        yield f"[poll: {question}]"
    for answer in objects_of(poll, "answers") if question else ():
        votes = number_of(answer, "voters")
        counted = f" ({votes:,} votes)" if votes is not None else ""
        yield f"- {_text(answer.get('text')).strip()}{counted}"
