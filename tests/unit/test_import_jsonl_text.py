"""Imports of JSON lines and plain text: round trips, ids, times, speakers, encodings."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.model import ImportedConversation, IncomingMessage, RejectedItem, Role
from tests.support import exports
from tests.support.exports import START, at, read, read_one

# JSON lines

texts = st.text(st.characters(codec="utf-8"), max_size=30)
names = st.none() | texts.filter(bool)
times = st.datetimes(datetime(1970, 1, 2), datetime(2200, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001
messages_with_ids = st.lists(
    st.builds(
        IncomingMessage,
        role=st.sampled_from(Role),
        content=texts,
        author=names,
        external_id=texts.filter(bool),
        occurred_at=times,
        tool_calls=st.lists(st.dictionaries(texts, st.integers() | texts, max_size=2), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda message: message.external_id,
)


def as_line(conversation: ImportedConversation) -> dict[str, Any]:
    def plain(value: Any) -> Any:
        return value.isoformat() if isinstance(value, datetime) else value

    fields = ("role", "content", "author", "external_id", "occurred_at", "tool_calls")
    return {
        **{key: plain(getattr(conversation, key)) for key in ("external_id", "title", "started_at", "ended_at")},
        "messages": [{key: plain(getattr(message, key)) for key in fields} for message in conversation.messages],
    }


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    messages=messages_with_ids,
    external_id=texts.filter(lambda text: text and "\x00" not in text),
    title=st.none() | texts.filter(lambda text: text.strip() and "\x00" not in text),
    started_at=times,
    ended_at=times,
)
def test_lines_round_trip(
    messages: list[IncomingMessage],
    external_id: str,
    title: str | None,
    started_at: datetime,
    ended_at: datetime,
    tmp_path: Path,
) -> None:
    conversation = ImportedConversation(external_id, tuple(messages), title, started_at, ended_at)
    path = exports.write_lines(tmp_path / "x.jsonl", as_line(conversation))
    assert read_one(path, "jsonl") == conversation


def test_broken_lines_and_messages_are_rejected_alone(tmp_path: Path) -> None:
    good = {"role": "user", "content": "x"}
    deep = '{"messages": [{"role": "tool", "content": "", "tool_calls": [' + '{"a":' * 300 + "1" + "}" * 300 + "]}]}"
    path = exports.write_lines(
        tmp_path / "x.jsonl",
        {"external_id": "one", "messages": [good, {"role": "alien", "content": "x"}, {"role": "user"}, 5]},
        "",
        "{broken",
        "[1]",
        '{"messages": [' + "[" * 100_000,
        {"external_id": 5, "messages": [good]},
        {"started_at": "soon", "messages": [good]},
        {"messages": "none"},
        {"messages": []},
        deep,
        {"external_id": "two", "messages": [{**good, "occurred_at": "1901-01-01"}, good]},
    )
    with path.open("ab") as stream:
        stream.write(b'{"title": "\xff"}\n')
    found, rejected = read(path, "jsonl")
    assert [(item.external_id, len(item.messages)) for item in found] == [("one", 1), ("two", 1)]
    assert [item.where.removeprefix("x.jsonl, ") for item in rejected] == [
        *(f"line 1, message {n}" for n in (2, 3, 4)),
        *(f"line {n}" for n in (3, 4, 5, 6, 7, 8, 9)),
        *("line 10, message 1", "line 10"),
        *("line 11, message 1", "line 12"),
    ]


def test_lines_without_ids_get_stable_ids(tmp_path: Path) -> None:
    hello, reply, other = ({"role": "user", "content": text} for text in ("hello", "reply", "other"))
    before = exports.write_lines(
        tmp_path / "before.jsonl", {"messages": [hello]}, {"messages": [hello, other]}, {"messages": [hello]}
    )
    grown = exports.write_lines(
        tmp_path / "grown.jsonl",
        {"messages": [hello, reply]},
        {"messages": [hello, other]},
        {"title": "t", "messages": [hello]},
    )
    first, second, again = read(before, "jsonl")[0]
    grown_first, grown_second, titled = read(grown, "jsonl")[0]
    assert len({one.external_id for one in (first, second, again, grown_first, grown_second, titled)}) == 1
    assert all(one.by_opening for one in (first, second, titled)), "the other words decide which one it is"
    assert grown_first.messages[0].external_id == first.messages[0].external_id
    # A conversation wrongly taken for another adds its messages instead of hiding them.
    assert grown_first.messages[1].external_id != second.messages[1].external_id
    assert str(second.messages[1].external_id).startswith("m0002-")


def test_missing_times_are_inferred(tmp_path: Path) -> None:
    plain = {"role": "user", "content": "x"}
    dated = {**plain, "content": "y", "occurred_at": "2025-03-04T05:06:07"}
    path = exports.write_lines(
        tmp_path / "x.jsonl",
        {"external_id": "a", "messages": [plain, dated, {**plain, "content": "z"}]},
        {"messages": [plain]},
    )
    os.utime(path, (START, START))
    first, second = read(path, "jsonl")[0]
    date = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)
    assert {message.occurred_at for message in first.messages} == {date}
    assert (first.started_at, first.ended_at) == (date, date)
    assert second.ended_at == second.messages[0].occurred_at == at(0)


def test_unknown_keys_are_noted_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    line = {"colour": 1, "messages": [{"role": "user", "content": "x", "mood": "good"}]}
    with caplog.at_level(logging.WARNING):
        found, rejected = read(exports.write_lines(tmp_path / "x.jsonl", line, line), "jsonl")
    assert (len(found), rejected) == (2, [])
    assert [record.args for record in caplog.records] == [("x.jsonl", "colour"), ("x.jsonl", "mood")]


def test_surrogates_and_nul_bytes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        r'{"external_id": "a\u0000", "messages": [{"role": "user", "content": "\ud800"}]}'
    )
    conversation = read_one(tmp_path / "x.jsonl", "jsonl")
    assert conversation.external_id == "a\ufffd"
    assert conversation.messages[0].content == "\ud800"


# Plain text


def turns(conversation: ImportedConversation) -> list[tuple[str, str | None, str]]:
    return [(message.role.value, message.author, message.content) for message in conversation.messages]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_text_with_speakers_in_any_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "talk.txt"
    path.write_text(
        "Notes of today\nJosé: Hello Ann – how are you?\nAnn: Fine.\nNote: keep this\n\nJosé: Good.\nAnn: Bye\n",
        encoding=encoding,
    )
    os.utime(path, (START, START))
    conversation = read_one(path, "text")
    assert turns(conversation) == [
        ("user", None, "Notes of today"),
        ("user", "José", "Hello Ann – how are you?"),
        ("user", "Ann", "Fine.\nNote: keep this"),
        ("user", "José", "Good."),
        ("user", "Ann", "Bye"),
    ]
    assert conversation.title == "talk"
    assert conversation.ended_at == at(0)


def test_text_speakers_that_are_roles(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("Human: hi\nAI: hello\n  there\n", encoding="utf-8")
    assert turns(read_one(tmp_path / "x.txt", "text")) == [("user", None, "hi"), ("assistant", None, "hello\n  there")]


@pytest.mark.parametrize(
    "text", ["Ingredients: flour\nSteps: mix", "Just a story.\n\nIt ends: here.", "12:30: x\n12:31: y"]
)
def test_text_without_speakers_is_one_message(text: str, tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    assert turns(read_one(tmp_path / "x.txt", "text")) == [("user", None, text)]


@pytest.mark.parametrize("letter", ["a", "ü", "語", "🌍"])
def test_long_text_is_split_without_loss(letter: str, tmp_path: Path) -> None:
    text = "\n\n".join([letter * 40] * 30) + letter * 900
    (tmp_path / "x.txt").write_text(text, encoding="utf-8")
    conversation = read_one(tmp_path / "x.txt", "text", max_message_bytes=500)
    contents = [message.content for message in conversation.messages]
    assert max(len(content.encode()) for content in contents) <= 500
    assert "".join(contents).replace("\n", "") == text.replace("\n", "")
    assert len({message.external_id for message in conversation.messages}) == len(contents)


def test_grown_text_keeps_ids(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("User: a\nAssistant: b\n", encoding="utf-8")
    before = read_one(path, "text")
    path.write_text("User: a\nAssistant: b\nUser: c\n", encoding="utf-8")
    os.utime(path, (START, START))
    after = read_one(path, "text")
    assert after.external_id == before.external_id
    assert [replace(m, occurred_at=None) for m in after.messages[:2]] == [
        replace(m, occurred_at=None) for m in before.messages
    ]


def test_blank_text_has_no_messages(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(" \n\n ", encoding="utf-8")
    assert read(tmp_path / "x.txt", "text") == ([], [RejectedItem("x.txt", "no messages")])
