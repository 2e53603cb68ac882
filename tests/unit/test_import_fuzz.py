"""Fuzz of the readers of chats: truncated and mutated samples are read, refused, or rejected with a reason."""

from __future__ import annotations

import json
import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.inbox.import_format import import_format
from neurigraph_pipelines.inbox.imports import read_conversations
from neurigraph_pipelines.model import ImportedConversation, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support import exports
from tests.unit.test_import_chats import telegram
from tests.unit.test_import_more_chats import DISCORD_TEXT, FOUND
from tests.unit.test_import_slack import QUESTION, rich, slack_message

EXAMPLES = int(os.environ.get("NEURIGRAPH_FUZZ_EXAMPLES", "60"))
"""Of each format; CI takes some seconds."""

SLACK_DAY = [
    slack_message("U1", "Which <@U2> region?", 1740996000.0, thread_ts=QUESTION),
    slack_message("U2", "", 1740996001.0, blocks=rich("words"), attachments=[{"fields": [{"title": "a"}]}]),
    slack_message("U2", "x", 1740996002.0, attachments=[{"is_share": True, "text": "y", "ts": "1740996000.1"}]),
]
OBJECTS: dict[str, Any] = {
    **{name: content for name, (content, _, _) in FOUND.items()},
    "chatgpt": [exports.chatgpt_dialogue(1, words="a \ue200cite\ue202turn0search1\ue201")],
    "claude": [
        exports.claude("u", [exports.claude_message("m", "human", "hi", parent_message_uuid="x")]),
        {"conversations_memory": "cats", "project_memories": {"p": "q"}},
        {"prompt_template": "x", "docs": [{"filename": "a", "content": "b"}], "uuid": "p"},
    ],
    "telegram": telegram(
        {"id": 1, "type": "message", "from": "Ann", "date": "2024-05-20T12:00:00", "text": ["a", {"text": "b"}]},
        {
            "id": 2,
            "type": "message",
            "date": "2024-05-20T12:00:00",
            "poll": {"question": "q", "answers": [{"text": "x"}]},
        },
        {"id": 3, "type": "message", "date": "2024-05-20T12:00:00", "location_information": {"latitude": 1}},
    ),
    "slack": SLACK_DAY,
}
TEXTS = {
    "whatsapp": "[1/2/24, 9:00:00 AM] Mona: Happy (new)\n\u200e[1/3/24, 1:00:00 AM] T: \u200e<attached: a.jpg>\nx",
    "discord": DISCORD_TEXT,
    "subtitles": "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana>Hi</v>\n<v B>Ho\n\n00:00:03,000 --> 00:00:04,000\nAnn: a\n",
    "text": "Ann: Did it come?\nBen  0:10\nYes.\nAnn: Good.\nBen：好的。\n",
}
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**400), 10**400),
    st.floats(),
    st.text(max_size=8),
    st.just([]),
    st.just({}),
    st.just([None, {"text": 1}]),
    st.sampled_from(["1e999", "9" * 400, "-1", "2024-13-45", "\ud800", "\x00"]),
)


def mutated(value: Any, draw: st.DataObject) -> Any:
    """Return a value with one odd value somewhere in it."""
    if isinstance(value, dict | list) and value and draw.draw(st.integers(0, 5)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw.draw(st.sampled_from(keys))
        copy = dict(value) if isinstance(value, dict) else list(value)
        if draw.draw(st.integers(0, 9)) == 0:
            del copy[key]
        else:
            copy[key] = mutated(value[key], draw)
        return copy
    return draw.draw(odd)


def check(path: Path, name: str) -> None:
    """Read a file as it is detected and as it is named; every message has a time."""
    with suppress(InvalidInputError):
        import_format(path)
    with suppress(InvalidInputError):
        for item in read_conversations(path, name):
            assert isinstance(item, ImportedConversation | RejectedItem)
            if isinstance(item, ImportedConversation):
                assert item.messages
                assert all(message.occurred_at for message in item.messages)


few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES == 60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", OBJECTS)
@few
@given(data=st.data())
def test_mutated_json_never_fails(name: str, tmp_path: Path, data: st.DataObject) -> None:
    content = OBJECTS[name]
    for _ in range(data.draw(st.integers(1, 3))):
        content = mutated(content, data)
    text = json.dumps(content)
    text = text[: data.draw(st.integers(len(text) // 2, len(text)))] if data.draw(st.booleans()) else text
    path = tmp_path / "x.json"
    if name == "slack":
        users = mutated([{"id": "U1", "tz_offset": 3600, "profile": {"real_name": "Ann"}}], data)
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("ops/2025-03-03.json", text)
            archive.writestr("ops/2025-03-04.json", json.dumps([slack_message("U2", "x", 1.0, thread_ts=QUESTION)]))
            archive.writestr("users.json", json.dumps(users))
    else:
        path.write_text(text, encoding="utf-8")
    check(path, name)


@pytest.mark.parametrize("name", TEXTS)
@few
@given(data=st.data())
def test_mutated_text_never_fails(name: str, tmp_path: Path, data: st.DataObject) -> None:
    text = TEXTS[name]
    for _ in range(data.draw(st.integers(1, 4))):
        at, end = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 6))
        new = data.draw(
            st.one_of(st.text(max_size=6), st.sampled_from(["99", "0", "\u200e", ": ", "٣", "<v", "-->", "["]))
        )
        text = text[:at] + new + text[at + end :]
    path = tmp_path / "x.txt"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(path, name)
