"""Conversations that come again: how imports know them, and what they add."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.importing import count_file, import_file
from neurigraph_pipelines.inbox.imports import detect_format
from neurigraph_pipelines.inbox.imports.assemble import derived_id
from neurigraph_pipelines.inbox.imports.date_order import DateOrder
from neurigraph_pipelines.inbox.imports.zones import with_zone
from neurigraph_pipelines.model import Claims, ImportReport
from neurigraph_pipelines.model.sources import NO_DETAILS
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.memories import rows

Said = Sequence[tuple[str, str]]
TALK = (("Ann", "Did the parcel come?"), ("Ben", "Yes, at noon."), ("Ann", "I pick it up."), ("Ben", "Good."))
ELSE = (*TALK[:2], ("Ann", "Where is it?"), ("Ben", "At the post office."))
NEW = ("Zoe", "Can you bring mine?")


def jsonl(said: Said, name: str) -> str:
    messages = [{"role": "user", "author": author, "content": words} for author, words in said]
    return json.dumps({"title": name, "messages": messages}) + "\n"


def openai(said: Said, name: str) -> str:
    messages = [
        {"role": "user", "name": author, "content": [{"type": "text", "text": words}]} for author, words in said
    ]
    return json.dumps({"title": name, "messages": messages}, indent=1)


def text(said: Said, name: str) -> str:
    return "".join(f"{author}: {words}\n" for author, words in said)


def vtt(said: Said, name: str) -> str:
    cues = (f"00:00:{n:02}.000 --> 00:00:{n + 1:02}.000\n<v {who}>{what}" for n, (who, what) in enumerate(said))
    return "WEBVTT\n\n" + "\n\n".join(cues)


def srt(said: Said, name: str) -> str:
    return "\n\n".join(f"{n}\n00:00:{n:02},000 --> 00:00:{n + 1:02},000\n{w}: {t}" for n, (w, t) in enumerate(said))


def whatsapp(said: Said, name: str) -> str:
    return "".join(f"20/05/2024, 12:{n:02} - {author}: {words}\n" for n, (author, words) in enumerate(said))


def discord_text(said: Said, name: str) -> str:
    head = f"{'=' * 62}\nGuild: {name}\nChannel: Text / {name}\n{'=' * 62}\n\n"
    return head + "".join(f"[20/05/2024 12:{n:02}] {author}\n{words}\n\n" for n, (author, words) in enumerate(said))


def times(said: Said) -> list[tuple[int, str, str]]:
    return [(1716206400 + 60 * n, author, words) for n, (author, words) in enumerate(said)]


def discord(said: Said, name: str) -> str:
    messages = [
        {
            "id": str(n),
            "type": "Default",
            "timestamp": f"2024-05-20T12:{n:02}:01.5+00:00",
            "content": words,
            "author": {"nickname": author},
        }
        for n, (author, words) in enumerate(said)
    ]
    return json.dumps({"guild": {"name": name}, "channel": {"name": name}, "messages": messages})


def telegram(said: Said, name: str) -> str:
    messages = [
        {"id": n, "type": "message", "date": "2024-05-20T12:00:00", "date_unixtime": str(at), "from": who, "text": what}
        for n, (at, who, what) in enumerate(times(said))
    ]
    return json.dumps({"chats": {"list": [{"name": name, "type": "private_group", "messages": messages}]}})


def messenger(said: Said, name: str) -> str:
    messages = [{"sender_name": who, "timestamp_ms": at * 1000, "content": what} for at, who, what in times(said)]
    return json.dumps({"participants": [{"name": name}], "title": name, "threadName": name, "messages": messages})


def google_chat(said: Said, name: str) -> str:
    messages = [
        {"creator": {"name": who}, "created_date": f"Monday, May 20, 2024 at 12:{n:02}:00 PM UTC", "text": what}
        for n, (who, what) in enumerate(said)
    ]
    return json.dumps({"messages": messages})


def mail(said: Said, name: str) -> str:
    mails = (
        f"From x Mon May 20 12:00:00 2024\nFrom: {who} {name} <{number % 2}@example.org>\nSubject: Parcel\n"
        f"Date: Mon, 20 May 2024 12:{number:02}:00 +0000\n\n{what}\n\n"
        for number, (who, what) in enumerate(said)
    )
    return "".join(mails)


def slack(path: Path, said: Said, name: str) -> None:
    messages = [{"type": "message", "user": who, "text": what, "ts": f"{at}.0001"} for at, who, what in times(said)]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/2024-05-20.json", json.dumps(messages))


def written(path: Path, write: Callable[..., Any], said: Said, name: str) -> Path:
    if write is slack:
        slack(path, said, name)
    else:
        path.write_text(write(said, name), encoding="utf-8")
    return path


def sizes(here: Installation, user: User) -> list[int]:
    """The messages of each source."""
    found = rows(here, "SELECT last_message FROM neurigraph.sources WHERE user_id = %s ORDER BY 1", user.user_id)
    return [row["last_message"] for row in found]


@pytest.mark.parametrize(
    ("write", "suffix"),
    [
        *((write, ".json") for write in (openai, discord, telegram, messenger, google_chat)),
        *((jsonl, ".jsonl"), (text, ".txt"), (vtt, ".vtt"), (srt, ".srt"), (whatsapp, ".txt"), (discord_text, ".txt")),
        *((mail, ".mbox"), (slack, ".zip")),
    ],
)
def test_conversation_is_known_by_its_words(
    write: Callable[..., Any], suffix: str, here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    def add(name: str, said: Said, zone: str | None = None) -> ImportReport:
        path = written(tmp_path / f"{name}{suffix}", write, said, name)
        details = with_zone(NO_DETAILS, zone)
        return import_file(here.acting_for(bob[1]), path, detect_format(path), details=details)

    renamed = tuple((who.replace("Ben", "Ben Lund"), words) for who, words in TALK)
    assert add("first", TALK).messages_added == len(TALK)
    for name, said, zone in (("first", TALK, None), ("Call 2024-05-27", renamed, None), ("zone", TALK, "Asia/Tokyo")):
        again = add(name, said, zone)
        assert (again.conversations_added, again.messages_added, again.rejected) == (0, 0, []), name
        assert again.messages_known == len(TALK)
    grown = add("grown", (*renamed, NEW))
    assert (grown.conversations_added, grown.messages_added, grown.rejected) == (write is mail, 1, [])


@pytest.mark.parametrize(("write", "suffix"), [(openai, ".json"), (jsonl, ".jsonl"), (text, ".txt"), (vtt, ".vtt")])
def test_conversations_that_begin_alike_stay_two(
    write: Callable[..., Any], suffix: str, here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    for _ in range(2):
        for name, said in (("a", TALK), ("b", ELSE), ("c", (*TALK, NEW)), ("d", (*ELSE, NEW))):
            path = written(tmp_path / f"{name}{suffix}", write, said, name)
            import_file(here.acting_for(bob[1]), path, detect_format(path))
    assert sizes(here, bob[0]) == [5, 5]


def test_conversations_of_one_file_are_as_many_as_differ(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    lines = [jsonl(said, name) for said, name in ((TALK[:1], "a"), (TALK[:2], "b"), (TALK[:1], "c"), (ELSE, "d"))]
    path.write_text("".join(lines), encoding="utf-8")
    assert count_file(here.settings, path, "jsonl").conversations_added == 3
    for expected in (3, 0):
        assert import_file(here.acting_for(bob[1]), path, "jsonl").conversations_added == expected
    path.write_text(jsonl((*TALK[:2], NEW), "grown"), encoding="utf-8")
    assert import_file(here.acting_for(bob[1]), path, "jsonl").messages_added == 1
    assert sizes(here, bob[0]) == [1, 3, 4]


def test_recording_whose_last_sentence_goes_on_is_the_same(
    here: Installation, bob: tuple[User, Claims], tmp_path: Path
) -> None:
    for name, last in (("a", "We pay"), ("b", "We pay 900 euros.")):
        path = written(tmp_path / f"{name}.vtt", vtt, (*TALK[:3], ("Ben", last)), name)
        assert import_file(here.acting_for(bob[1]), path, "subtitles").conversations_added == (name == "a")


@pytest.mark.parametrize(
    ("write", "suffix", "before", "after"),
    [
        (text, ".txt", TALK, (*TALK[:3], ("Ben", "Good.\n\nIt is heavy."))),
        (text, ".txt", TALK, (*TALK[:3], ("Ben", "Good.\nIt is heavy."), NEW)),
        (jsonl, ".jsonl", TALK, (*TALK[:3], ("Ben", "Good.\nIt is heavy."), NEW)),
        (lambda said, _: said, ".txt", "We moved in May.\n", "We moved in May.\n\nThe rent is 900 euros.\n"),
    ],
)
def test_file_whose_last_message_goes_on_is_the_same(
    write: Callable[..., str],
    suffix: str,
    before: Any,
    after: Any,
    here: Installation,
    bob: tuple[User, Claims],
    tmp_path: Path,
) -> None:
    path, wanted = tmp_path / f"a{suffix}", suffix.removeprefix(".").replace("txt", "text")
    reports = []
    for said in (
        before,
        after,
        after,
        write(after, "").rstrip("\n") + "\nMore of it.\n" if suffix == ".txt" else after,
    ):
        path.write_text(said if isinstance(said, str) else write(said, "a"), encoding="utf-8")
        reports.append(import_file(here.acting_for(bob[1]), path, wanted))
    first = 1 if isinstance(before, str) else len(TALK)
    assert [one.conversations_added for one in reports] == [1, 0, 0, 0]
    assert [one.messages_added for one in reports[:3]] == [first, len(after) - first + 1 if first > 1 else 1, 0]
    assert [one.rejected for one in reports] == [[]] * 4
    assert reports[3].messages_added == (suffix == ".txt")


def test_recording_of_an_earlier_release_is_known(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> None:
    former = derived_id("text", "a.txt", TALK[0][1])
    messages = [{"role": "user", "author": author, "content": words} for author, words in TALK]
    stored = tmp_path / "stored.jsonl"
    stored.write_text(json.dumps({"external_id": former, "messages": messages}), encoding="utf-8")
    import_file(here.acting_for(bob[1]), stored, "jsonl")
    again = import_file(here.acting_for(bob[1]), written(tmp_path / "a.txt", text, (*TALK, NEW), "a"), "text")
    assert (again.conversations_added, again.messages_added) == (0, 1)


Add = Callable[..., ImportReport]

AMERICAN = ("[1/2/24, 9:00:00 AM] Mona: Happy new year", "[1/3/24, 9:00:00 AM] Theo: Thanks")
PADDED = ("01/02/24, 09:00 - Mona: Happy new year", "01/03/24, 09:00 - Theo: Thanks", "01/03/24, 09:01 - Mona: Bye")


def kept(here: Installation, user: User) -> list[tuple[str, str]]:
    """Day and words of the messages of the newest versions."""
    found = rows(
        here,
        """SELECT m.occurred_at::date::text AS day, m.content FROM neurigraph.sources AS s
        INNER JOIN neurigraph.messages AS m USING (source_id)
        WHERE s.user_id = %s AND NOT EXISTS (SELECT FROM neurigraph.sources AS n WHERE n.replaces = s.source_id)
        ORDER BY m.occurred_at, m.seq""",
        user.user_id,
    )
    return [(row["day"], row["content"]) for row in found]


@pytest.fixture
def add(here: Installation, bob: tuple[User, Claims], tmp_path: Path) -> Add:
    def add(name: str, lines: Sequence[str], dates: str | None = None, zone: str | None = None) -> ImportReport:
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        order = DateOrder(dates) if dates else None
        return import_file(
            here.acting_for(bob[1]), path, "whatsapp", date_order=order, details=with_zone(NO_DETAILS, zone)
        )

    return add


def test_grown_chat_adds_what_is_new(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    first = add("_chat", AMERICAN)
    assert (first.conversations_added, first.messages_added) == (2, 2)
    assert ["assumed" in note for note in first.notes] == [True]
    grown = add("WhatsApp Chat with Mona", [*AMERICAN, "[1/25/24, 9:00:00 AM] Zoe: The kiln arrived."])
    assert (grown.conversations_added, grown.messages_added, grown.messages_known) == (1, 1, 2)
    later = add("_chat (1)", ["[1/25/24, 9:00:00 AM] Zoe: The kiln arrived.", "[1/25/24, 9:05:00 AM] Mona: Good."])
    assert (later.conversations_added, later.messages_added, later.messages_known) == (0, 1, 1)
    assert kept(here, bob[0]) == [
        ("2024-01-02", "Happy new year"),
        ("2024-01-03", "Thanks"),
        ("2024-01-25", "The kiln arrived."),
        ("2024-01-25", "Good."),
    ]


@pytest.mark.parametrize("dates", [None, "mdy"])
def test_proven_order_of_dates_corrects_and_adds(
    dates: str | None,
    here: Installation,
    bob: tuple[User, Claims],
    add: Add,
) -> None:
    add("_chat", PADDED)
    assert [day for day, _ in kept(here, bob[0])] == ["2024-02-01", "2024-03-01", "2024-03-01"]
    new = [] if dates else ["01/25/24, 09:00 - Zoe: The kiln arrived."]
    corrected = add("_chat", [*PADDED, *new], dates)
    assert (corrected.conversations_added, corrected.messages_added, corrected.messages_known) == (
        len(new),
        len(new),
        3,
    )
    assert "conversations whose dates were corrected: 2" in corrected.notes
    expected = [("2024-01-02", "Happy new year"), ("2024-01-03", "Thanks"), ("2024-01-03", "Bye")]
    expected += [("2024-01-25", "The kiln arrived.")] if new else []
    assert kept(here, bob[0]) == expected
    again = add("_chat", [*PADDED, "01/04/24, 09:00 - Mona: Rain"])
    assert (again.messages_added, again.messages_known) == (1, 3), "an assumed order follows the stored one"
    assert ("2024-01-04", "Rain") in kept(here, bob[0])


def test_equal_words_in_two_chats_are_two_days(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    for name in ("Ann", "Ben"):
        add(name, ["2024-01-01, 00:00 - Me: Happy new year", f"2024-01-01, 00:05 - {name}: Thank you, I am {name}"])
    assert len(kept(here, bob[0])) == 4
    assert add("Ben", ["2024-01-01, 00:00 - Me: Happy new year", "2024-01-01, 00:05 - Ben: Thank you, I am Ben"])
    assert len(kept(here, bob[0])) == 4


def test_zone_that_is_stated_later_corrects(here: Installation, bob: tuple[User, Claims], add: Add) -> None:
    lines = ["2024-01-01, 23:30 - Me: Happy new year soon", "2024-01-02, 09:00 - Ann: Happy new year"]
    add("Ann", lines)
    corrected = add("Ann", [*lines, "2024-01-02, 09:10 - Me: Thanks"], zone="America/New_York")
    assert (corrected.messages_added, corrected.messages_known) == (1, 2)
    assert kept(here, bob[0]) == [
        ("2024-01-02", "Happy new year soon"),
        ("2024-01-02", "Happy new year"),
        ("2024-01-02", "Thanks"),
    ]
    again = add("Ann", lines, zone="America/New_York")
    assert (again.messages_added, again.messages_known) == (0, 2)
