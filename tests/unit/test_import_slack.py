"""Imports of exports: Slack."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import content_size, detect_format, read_conversations
from neurigraph_pipelines.model import ImportedConversation, Role
from neurigraph_pipelines.views.kinds import Channel
from tests.support.exports import read


def said(conversation: ImportedConversation) -> list[tuple[str | None, str]]:
    assert all(message.role is Role.USER for message in conversation.messages)
    return [(message.author, message.content) for message in conversation.messages]


# Slack


def workspace(path: Path, days: dict[str, Any], **lists: Any) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**lists, **days}.items():
            archive.writestr(f"{name}.json", content if isinstance(content, str) else json.dumps(content))
    return path


PEOPLE = [
    {"id": "U1", "name": "ann", "profile": {"real_name": "Ann Lee"}},
    {"id": "U2", "name": "ben", "profile": {"real_name": "Ben Roe"}},
]
DAY = "2024-05-20"


def test_slack_workspace(tmp_path: Path) -> None:
    general = [
        {"type": "message", "subtype": "channel_join", "user": "U1", "text": "joined", "ts": "1716206300.000100"},
        {
            "type": "message",
            "user": "U1",
            "text": "<@U2> see <https://a.example|the plan> &amp; say",
            "ts": "1716206400.1",
        },
        {"type": "message", "user": "U2", "text": "", "files": [{"name": "a.pdf"}], "ts": "1716206401.2"},
        {"type": "message", "username": "deploys", "subtype": "bot_message", "text": "<!here> done in <#C1|general>"},
        "broken",
    ]
    path = workspace(
        tmp_path / "export.zip",
        {
            f"general/{DAY}": general,
            f"D1/{DAY}": [{"type": "message", "user": "U2", "text": "between us", "ts": "1716206400.000300"}],
            f"secret/{DAY}": "not json",
        },
        users=PEOPLE,
        channels=[{"id": "C1", "name": "general", "members": ["U1", "U2"]}],
        dms=[{"id": "D1", "members": ["U1", "U2"]}],
    )
    assert detect_format(path) == "slack"
    conversations, rejected = read(path, "slack")
    by_title = {one.title: one for one in conversations}
    assert set(by_title) == {f"#general, {DAY}", f"Ann Lee, Ben Roe, {DAY}"}
    public, direct = by_title[f"#general, {DAY}"], by_title[f"Ann Lee, Ben Roe, {DAY}"]
    assert said(public) == [
        ("Ann Lee", "@Ben Roe see the plan (https://a.example) & say"),
        ("Ben Roe", "[attached: a.pdf]"),
        ("deploys", "@here done in #general"),
    ]
    assert public.external_id == f"slack:C1:{DAY}"
    assert (public.details.channel, direct.details.channel) == (Channel.PUBLIC, Channel.DM)
    assert [message.external_id for message in public.messages][:2] == ["1716206400.1", "1716206401.2"]
    assert {item.reason.split(" (")[0] for item in rejected} == {
        "it is not an object",
        f"export.zip/secret/{DAY}.json is not readable JSON",
    }


def slack_message(user: str, text: str, stamp: float, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "user": user, "text": text, "ts": f"{stamp:.4f}", **fields}


def rich(text: str) -> list[dict[str, Any]]:
    words = {"type": "rich_text_section", "elements": [{"type": "text", "text": text}]}
    return [{"type": "rich_text", "elements": [words]}]


ASKED = 1740996000.0
QUESTION = f"{ASKED:.4f}"


SPACE = {"type": "text", "text": " "}
MENTIONS = [
    {"type": "channel", "channel_id": "C7"},
    SPACE,
    {"type": "usergroup", "usergroup_id": "S1"},
    SPACE,
    {"type": "broadcast", "range": "here"},
    SPACE,
    {"type": "date", "timestamp": 1740996000, "fallback": "3 March"},
]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"attachments": [{"fallback": "db", "title": "Alert", "text": "db-7 is full"}]},
            [("Ann Lee", "Alert\ndb-7 is full")],
        ),
        ({"attachments": [{"fallback": "db-7 is full"}]}, [("Ann Lee", "db-7 is full")]),
        ({"attachments": [{"fields": [{"title": "Host", "value": "db-7"}]}]}, [("Ann Lee", "Host: db-7")]),
        ({"blocks": rich("Rotation is on the 1st")}, [("Ann Lee", "Rotation is on the 1st")]),
        ({"text": "hi", "blocks": rich("hi")}, [("Ann Lee", "hi")]),
        (
            {"text": "Deploy", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "eu-north-1 is up"}}]},
            [("Ann Lee", "Deploy\neu-north-1 is up")],
        ),
        (
            {"text": "look", "attachments": [{"author_name": "Tom Ek", "text": "Budget is 40k", "is_share": True}]},
            [("Ann Lee", "look"), ("Tom Ek", "Budget is 40k")],
        ),
        *(
            ({"attachments": [{"text": "Sold", "is_msg_unfurl": True, **by}]}, [(author, "Sold")])
            for by, author in (({"author_id": "U2"}, "Ben Roe"), ({"author_id": "U7"}, "U7"), ({}, "Unknown"))
        ),
        ({"user": None, "text": "Down", "bot_profile": {"name": "Pager"}, "bot_id": "B1"}, [("Pager", "Down")]),
        ({"user": None, "text": "Down", "bot_id": "B1"}, [("B1", "Down")]),
        ({"user": None, "text": "Down"}, [("Unknown", "Down")]),
        (
            {"blocks": [{"type": "image", "title": {"type": "plain_text", "text": "Plan"}, "alt_text": "a mast"}]},
            [("Ann Lee", "Plan\na mast")],
        ),
        (
            {
                "blocks": [
                    {"type": "video", "title": {"text": "Tour"}, "description": {"text": "of a boat"}, "alt_text": "x"}
                ]
            },
            [("Ann Lee", "Tour\nof a boat\nx")],
        ),
        (
            {"blocks": [{"type": "table", "rows": [[{"type": "raw_text", "text": "Flat"}, rich("900")[0]]]}]},
            [("Ann Lee", "Flat | 900")],
        ),
        (
            {"files": [{"name": "a.txt", "preview": "The key"}, {"name": "b.eml", "plain_text": "is blue"}]},
            [("Ann Lee", "[attached: a.txt]\nThe key\n[attached: b.eml]\nis blue")],
        ),
        ({"comment": {"comment": "Nice boat"}, "subtype": "file_comment"}, [("Ann Lee", "Nice boat")]),
        ({"text": "On <!date^1740996000^{date}|3 March>"}, [("Ann Lee", "On 3 March")]),
        (
            {"blocks": [{"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": MENTIONS}]}]},
            [("Ann Lee", "#C7 @S1 @here 3 March")],
        ),
        ({"subtype": "tombstone", "text": "This message was deleted."}, []),
        ({"subtype": "channel_join", "text": "joined"}, []),
    ],
)
def test_slack_keeps_all_words(fields: dict[str, Any], expected: list[tuple[str, str]], tmp_path: Path) -> None:
    day = [slack_message("U2", "before", ASKED), slack_message("U1", "", ASKED + 1) | fields]
    path = workspace(tmp_path / "export.zip", {f"general/{DAY}": day}, users=PEOPLE)
    notes: list[str] = []
    (conversation,), rejected = read(path, "slack", on_note=notes.append)
    assert said(conversation) == [("Ben Roe", "before"), *expected]
    assert not rejected
    assert [note.partition(":")[0] for note in notes] == ["left out"] * (not expected)


def test_slack_answers_stand_with_their_questions(tmp_path: Path) -> None:
    first = [
        slack_message("U1", "Which region?", ASKED, thread_ts=QUESTION),
        slack_message("U2", "Lunch is at noon", ASKED + 60),
        slack_message("U2", "eu-north-1, I think", ASKED + 90, thread_ts=QUESTION),
    ]
    second = [slack_message("U2", "eu-north-1", ASKED + 86_400, thread_ts=QUESTION)]
    users = [{**PEOPLE[0]}, {**PEOPLE[1], "tz_offset": 3_600}]
    path = workspace(tmp_path / "e.zip", {"ops/2025-03-03": first, "ops/2025-03-04": second}, users=users)
    (today, tomorrow), _ = read(path, "slack")
    assert [words for _, words in said(today)] == ["Which region?", "eu-north-1, I think", "Lunch is at noon"]
    assert said(tomorrow) == [("Ann Lee", "Which region?"), ("Ben Roe", "eu-north-1")]
    answered = tomorrow.messages[1].occurred_at
    assert answered == tomorrow.started_at == datetime.fromtimestamp(ASKED + 86_400, UTC)
    assert answered is not None
    assert answered.utcoffset() == timedelta(hours=1)


def test_slack_without_lists_keeps_ids(tmp_path: Path) -> None:
    path = workspace(
        tmp_path / "export.zip",
        {f"plans/{DAY}": [{"type": "message", "user": "U1", "text": "<@U9> hi", "ts": "1716206400.1"}]},
        users="[broken",
    )
    (conversation,), rejected = read(path, "slack")
    assert not rejected
    assert said(conversation) == [("U1", "@U9 hi")]
    assert conversation.details.channel is Channel.PRIVATE
    assert content_size(path) == len(
        json.dumps([{"type": "message", "user": "U1", "text": "<@U9> hi", "ts": "1716206400.1"}])
    )


def event(subtype: str, **fields: Any) -> dict[str, Any]:
    return {"type": "message", "subtype": subtype, "hidden": True, "ts": "1716206900.1", **fields}


def test_slack_edits_and_what_has_no_words(tmp_path: Path) -> None:
    first = {"type": "message", "user": "U1", "text": "Rent is 800", "ts": "1716206400.1"}
    gone = {"type": "message", "user": "U1", "text": "a secret", "ts": "1716206401.1"}
    edited = {**first, "text": "Rent is 900", "edited": {"user": "U1"}}
    earlier = {"type": "message", "user": "U2", "text": "Keys are new", "ts": "1716100000.1"}
    day = [
        first,
        gone,
        event("message_changed", message=edited, previous_message=first),
        event("message_changed", message=earlier),
        event("message_deleted", deleted_ts=gone["ts"], previous_message=gone),
        event("message_replied", message=first),
        {"type": "message", "subtype": "bot_add", "user": "U1", "text": "added an integration", "ts": "1716206405.1"},
        {"type": "message", "user": "U1", "text": "", "ts": "1716206406.1"},
    ]
    canvases = [{"id": "F1", "title": "Welcome"}, {"id": "F2", "name": "Rules"}]
    path = workspace(tmp_path / "export.zip", {f"general/{DAY}": day}, users=PEOPLE, canvases=canvases)
    notes: list[str] = []
    (found,) = read_conversations(path, "slack", on_note=notes.append)
    assert isinstance(found, ImportedConversation)
    assert said(found) == [("Ann Lee", "Rent is 900"), ("Ben Roe", "Keys are new")]
    assert sorted(notes) == [
        "canvases whose words are not in the export: 2 (Welcome, Rules)",
        "left out: deleted messages: 1",
        "left out: messages without words: 1",
        "left out: notices of the app: 1",
    ]


def test_slack_edits_of_another_day_are_applied_there(tmp_path: Path) -> None:
    rent = {"type": "message", "user": "U1", "text": "Rent is 800", "ts": "1716206400.1", "thread_ts": "1716206400.1"}
    gone = {"type": "message", "user": "U1", "text": "a secret", "ts": "1716206401.1"}
    answer = {"type": "message", "user": "U2", "text": "Too much", "ts": "1716292800.1", "thread_ts": rent["ts"]}
    first, last = ({**rent, "text": f"Rent is {value}", "edited": {"user": "U1"}} for value in (850, 900))
    second = [
        event("message_changed", message=first, previous_message=rent),
        event("message_deleted", deleted_ts=gone["ts"], previous_message=gone),
        answer,
    ]
    days = {
        f"general/{DAY}": [rent, gone],
        "general/2024-05-21": second,
        "general/2024-05-22": [
            event("message_changed", message=last),
            {**answer, "text": "Fine", "ts": "1716379200.1"},
        ],
        "other/2024-05-22": [event("message_changed", message={**gone, "text": "another channel"})],
    }
    found, rejected = read(workspace(tmp_path / "export.zip", days, users=PEOPLE), "slack")
    assert [said(one) for one in found] == [
        [("Ann Lee", "Rent is 900")],
        [("Ann Lee", "Rent is 900"), ("Ben Roe", "Too much")],
        [("Ann Lee", "Rent is 900"), ("Ben Roe", "Fine")],
        [("Ann Lee", "another channel")],
    ]
    assert rejected == []
