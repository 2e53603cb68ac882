"""Opening, recognising and streaming imports: hostile files, truncation, zips, memory."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurigraph_pipelines.inbox.imports import FORMATS, content_size, detect_format, jsonl, read_conversations, source
from neurigraph_pipelines.model import ImportedConversation, RejectedItem
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support import exports
from tests.support.exports import read

ROOT = Path(__file__).parents[2]


SMALL: dict[str, Any] = {
    "chatgpt": [exports.chatgpt_dialogue(n) for n in range(3)],
    "claude": [exports.claude(f"u{n}", [exports.claude_message(f"m{n}", "human", "hi")]) for n in range(3)],
    "locomo": [
        {
            **exports.locomo(
                session_1=[{"speaker": "Ann", "dia_id": "D1:1", "text": "hi"}],
                session_1_date_time="1:56 pm on 8 May, 2023",
            ),
            "sample_id": f"conv-{n}",
        }
        for n in range(3)
    ],
    "qmsum": [{"meeting_transcripts": [{"speaker": "Ann", "content": f"hi {n}"}]} for n in range(3)],
}


@pytest.mark.parametrize("name", SMALL)
def test_formats_are_recognised_by_content(name: str, tmp_path: Path) -> None:
    path = exports.write(tmp_path / "whatever.bin", SMALL[name])
    assert detect_format(path) == name
    assert detect_format(exports.write(tmp_path / "single.json", SMALL[name][0])) == name
    assert len(read(tmp_path / "single.json", name)[0]) == 1
    path.write_bytes(b"\xef\xbb\xbf \n" + path.read_bytes())
    assert detect_format(path) == name
    assert len(read(path, name)[0]) == 3


def test_lines_and_text_are_recognised(tmp_path: Path) -> None:
    lines = exports.write_lines(tmp_path / "a", {"title": "t", "messages": [{"role": "user", "content": "x"}]})
    assert detect_format(lines) == "jsonl"
    broken = exports.write_lines(tmp_path / "b.jsonl", "{broken", {"messages": []})
    assert detect_format(broken) == "jsonl"
    (tmp_path / "c.txt").write_text("[10:30] Ann: hi", encoding="utf-8")
    assert detect_format(tmp_path / "c.txt") == "text"
    (tmp_path / "d").write_text("Ann: hi", encoding="utf-16")
    assert detect_format(tmp_path / "d") == "text"


@pytest.mark.parametrize("content", [b"[]", b"[1, 2]", b'{"a": 1}', b"[[[", b" \n ", b"\x00\x01\x02binary", b"{"])
def test_ambiguous_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(InvalidInputError, match=r"one of chatgpt, claude, locomo, telegram, .*, text "):
        detect_format(tmp_path / "x")


@pytest.mark.parametrize("name", FORMATS)
def test_unusable_paths(name: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for path, reason in (
        (tmp_path, "is a folder"),
        (tmp_path / "absent", "does not exist"),
        (tmp_path / "empty", "is empty"),
        (tmp_path / "pipe", "not a regular file"),
        (tmp_path / "a\x00b", "does not exist|cannot be read"),
        (tmp_path / ("n" * 300), "cannot be read"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            read_conversations(path, name)
        with pytest.raises(InvalidInputError, match=reason):
            detect_format(path)


def test_unknown_and_wrong_formats(tmp_path: Path) -> None:
    path = exports.write(tmp_path / "x.json", SMALL["claude"])
    with pytest.raises(InvalidInputError, match="unknown: use one of chatgpt"):
        read_conversations(path, "csv")
    with pytest.raises(InvalidInputError, match="looks like the format claude, not chatgpt"):
        read_conversations(path, "chatgpt")
    (tmp_path / "y.json").write_bytes(b'[{"messages": []}]')
    with pytest.raises(InvalidInputError, match="one conversation per line"):
        read_conversations(tmp_path / "y.json", "jsonl")
    (tmp_path / "z.txt").write_bytes(b"hello")
    with pytest.raises(InvalidInputError, match="not JSON"):
        read_conversations(tmp_path / "z.txt", "locomo")
    (tmp_path / "b").write_bytes(b"\x7fELF\x00\x00")
    with pytest.raises(InvalidInputError, match="not plain text"):
        read_conversations(tmp_path / "b", "text")


@pytest.mark.parametrize("name", SMALL)
def test_truncation_keeps_earlier_items(name: str, tmp_path: Path) -> None:
    whole = json.dumps(SMALL[name])
    ends = [len(json.dumps(SMALL[name][:n])) - 1 for n in (1, 2, 3)]
    path = tmp_path / "cut.json"
    for cut in [*range(1, len(whole), 7), *(end + off for end in ends for off in (-1, 0, 1))]:
        path.write_text(whole[:cut], encoding="utf-8")
        complete = sum(cut >= end for end in ends)
        try:
            found, rejected = read(path, name)
        except InvalidInputError:
            assert complete == 0
            continue
        assert len(found) == complete
        assert len(rejected) == (cut < len(whole))


def test_truncated_jsonl_loses_last_line(tmp_path: Path) -> None:
    lines = [
        json.dumps({"external_id": f"e{n}", "messages": [{"role": "user", "content": "grün"}]}, ensure_ascii=False)
        for n in range(3)
    ]
    whole = "\n".join(lines).encode()
    path = tmp_path / "cut.jsonl"
    for cut in range(1, len(whole), 5):
        path.write_bytes(whole[:cut])
        found, rejected = read(path, "jsonl")
        complete = sum(cut >= len("\n".join(lines[:n]).encode()) for n in (1, 2, 3))
        assert len(found) == complete
        assert len(rejected) <= 1


@pytest.mark.parametrize(
    "broken",
    [
        b'{"a": nul}',
        b'"\xff"',
        b"NaN",
        b"9" * 5_000,
        b'{"mapping": {"a": %s' % (b"9" * 5_000) + b"x}}",
        b"x" * 70_000,
        b'{"a": "\x01"}',
        b"1, 2",
        b"{]",
    ],
)
def test_broken_items_are_rejected_alone(broken: bytes, tmp_path: Path) -> None:
    first, second, third = (json.dumps(item).encode() for item in SMALL["chatgpt"])
    path = tmp_path / "x.json"
    path.write_bytes(b"[" + first + b", " + second + b", " + broken + b", " + third + b"]")
    found, rejected = read(path, "chatgpt")
    assert [item.external_id for item in found] == ["c-0", "c-1", "c-2"]
    assert [item.where for item in rejected] == [f"x.json, conversation 3 (byte {len(first + second) + 6:,})"]


@pytest.mark.parametrize("broken", [b'{"a": "}', b"{", b"[", b"}", b"]", b'"'])
def test_unreadable_rest_is_one_rejection(broken: bytes, tmp_path: Path) -> None:
    first, second, third = (json.dumps(item).encode() for item in SMALL["chatgpt"])
    path = tmp_path / "x.json"
    path.write_bytes(b"[" + first + b", " + second + b", " + broken + b", " + third + b"]")
    found, rejected = read(path, "chatgpt")
    assert [item.external_id for item in found][:2] == ["c-0", "c-1"]
    assert rejected[-1].where.startswith("x.json, after conversation")
    assert "at byte" in rejected[-1].reason


def test_wrong_items_are_rejected_alone(tmp_path: Path) -> None:
    odd: list[Any] = [[], {}, {"mapping": 3}, {"mapping": {}}, {"mapping": {"a": None}}, "DEEP"]
    document = json.dumps([SMALL["chatgpt"][0], *odd, SMALL["chatgpt"][1]])
    (tmp_path / "x.json").write_text(document.replace('"DEEP"', "[" * 5_000 + "]" * 5_000))
    found, rejected = read(tmp_path / "x.json", "chatgpt")
    assert [item.external_id for item in found] == ["c-0", "c-1"]
    assert [item.where.split(" (")[0] for item in rejected] == [f"x.json, conversation {n}" for n in range(2, 8)]
    assert "expected an object, found list" in rejected[0].reason
    assert "nested too deeply" in rejected[-1].reason


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'[{"mapping":'])
def test_deep_nesting_is_refused(name: str, opening: bytes, tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(opening * 30_000)
    try:
        found, rejected = read(path, name)
    except InvalidInputError:
        return
    assert (len(found), len(rejected)) in ((1, 0), (0, 1))
    assert found == [] or name == "text"


KEYS = st.sampled_from(
    [
        *("mapping", "chat_messages", "conversation", "sample_id", "messages", "message", "id", "uuid", "parent"),
        *("children", "content", "parts", "author", "role", "sender", "text", "create_time", "current_node", "type"),
        *("external_id", "session_1", "session_1_date_time", "tool_calls", "title", "name", "attachments"),
        *("metadata", "content_type", "occurred_at", "tool_use_id", "blip_caption", "dia_id", "speaker"),
    ]
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            KEYS,
            inner | st.sampled_from(["user", "human", "text", "code", "tool_use", "tool_result", "", "root"]),
            max_size=8,
        )
    ),
    max_leaves=40,
)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=json_values, name=st.sampled_from(FORMATS))
def test_hostile_json(value: Any, name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    wrapped = {"chatgpt": "mapping", "claude": "chat_messages", "locomo": "conversation", "jsonl": "messages"}
    for document in (value, [value], [{wrapped.get(name, "x"): value}], {wrapped.get(name, "x"): value}):
        exports.write(path, document)
        try:
            found, _ = read(path, name)
        except InvalidInputError:
            continue
        for conversation in found:
            assert conversation.messages
            assert conversation.ended_at is not None
            assert all(message.occurred_at for message in conversation.messages)


def test_progress_sums_to_size(tmp_path: Path) -> None:
    path = exports.write(tmp_path / "x.json", [exports.chatgpt_dialogue(n, words="w" * 9_000) for n in range(30)])
    packed = _zip(tmp_path / "x.zip", {"export/conversations.json": path.read_bytes()})
    for given_path in (path, packed):
        steps: list[int] = []
        assert len(list(read_conversations(given_path, "chatgpt", on_bytes=steps.append))) == 30
        assert sum(steps) == content_size(given_path) == path.stat().st_size
        assert len(steps) > 3
        assert min(steps) > 0


def _zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["chatgpt", "claude"])
def test_zip_is_streamed(name: str, tmp_path: Path) -> None:
    document = json.dumps(SMALL[name]).encode()
    path = _zip(
        tmp_path / "export.zip",
        {
            "chat.html": b"<html>",
            "conversations.json": document,
            "__MACOSX/._conversations.json": b"\x00",
            "user.json": b"{}",
        },
    )
    assert detect_format(path) == name
    found, rejected = read(path, name)
    assert len(found) == 3
    assert rejected == []


def test_zip_with_several_files(tmp_path: Path) -> None:
    parts = {f"conversations-{n:03}.json": json.dumps([item]).encode() for n, item in enumerate(SMALL["chatgpt"])}
    parts["conversations-001.json"] = b"[{"
    found, rejected = read(_zip(tmp_path / "x.zip", parts), "chatgpt")
    assert [item.external_id for item in found] == ["c-0", "c-2"]
    assert len(rejected) == 1


def test_unusable_zips(tmp_path: Path) -> None:
    good = _zip(tmp_path / "good.zip", {"conversations.json": json.dumps(SMALL["chatgpt"]).encode()})
    (tmp_path / "half.zip").write_bytes(good.read_bytes()[:200])
    encrypted = bytearray(good.read_bytes())
    directory = encrypted.rindex(b"PK\x01\x02")
    encrypted[directory + 8] |= 1
    (tmp_path / "encrypted.zip").write_bytes(encrypted)
    _zip(tmp_path / "other.zip", {"shared_conversations.json": b"[]"})
    _zip(tmp_path / "bomb.zip", {"conversations.json": b" " * 80_000_000})
    for name, reason in (
        ("half.zip", "damaged or incomplete"),
        ("encrypted.zip", "encrypted"),
        ("other.zip", "no conversations.json"),
        ("bomb.zip", "zip bomb"),
    ):
        with pytest.raises(InvalidInputError, match=reason):
            read_conversations(tmp_path / name, "chatgpt")
    for name in ("jsonl", "text"):
        with pytest.raises(InvalidInputError, match="unpack it first"):
            read_conversations(good, name)


def test_zip_with_wrong_size(tmp_path: Path) -> None:
    document = json.dumps([SMALL["chatgpt"][0]]).encode() + b" " * 200_000_000
    bomb = bytearray(_zip(tmp_path / "bomb.zip", {"conversations.json": document}).read_bytes())
    directory = bomb.rindex(b"PK\x01\x02")
    bomb[directory + 24 : directory + 28] = struct.pack("<I", 100_000)
    (tmp_path / "bomb.zip").write_bytes(bomb)
    steps: list[int] = []
    items = list(read_conversations(tmp_path / "bomb.zip", "chatgpt", on_bytes=steps.append))
    assert sum(steps) <= 100_000
    assert isinstance(items[0], ImportedConversation)
    assert isinstance(items[-1], RejectedItem)


def test_damaged_zip_keeps_earlier_items(tmp_path: Path) -> None:
    # The same damage in each run: some damage still unpacks into what looks like a conversation.
    conversations = [exports.chatgpt_dialogue(n, words=Random(n).randbytes(4_000).hex()) for n in range(50)]
    packed = bytearray(
        _zip(tmp_path / "x.zip", {"conversations.json": json.dumps(conversations).encode()}).read_bytes()
    )
    middle = len(packed) // 2
    packed[middle : middle + 64] = b"\xff" * 64
    (tmp_path / "x.zip").write_bytes(packed)
    found, rejected = read(tmp_path / "x.zip", "chatgpt")
    assert 15 < len(found) < 50
    assert [item.external_id for item in found] == [f"c-{n}" for n in range(len(found))]
    assert "x.zip" in rejected[-1].where


_MEASURE = """
import resource, sys
from pathlib import Path
from random import Random
from neurigraph_pipelines.inbox.imports import read_conversations
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
count = sum(1 for _ in read_conversations(Path(sys.argv[1]), sys.argv[2]))
print(count, peak() - before)
"""


@pytest.mark.parametrize("name", ["chatgpt", "jsonl"])
def test_large_export_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("w", encoding="utf-8") as stream:
        if name == "chatgpt":
            item = json.dumps(exports.chatgpt_dialogue(1, turns=100, words="word " * 120))
            stream.write("[" + ", ".join([item] * 600) + "]")
        else:
            message = {"role": "user", "content": "word " * 120}
            line = json.dumps({"external_id": "e", "messages": [message] * 150}) + "\n"
            stream.write(line * 640)
    assert path.stat().st_size > 55_000_000
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(path), name], cwd=ROOT, capture_output=True, text=True, check=True
    )
    count, growth = map(int, done.stdout.split())
    assert count >= 600
    assert growth < 12  # megabytes; measured: 2 to 4


def test_overlong_line_is_skipped() -> None:
    short = b'{"external_id": "e", "messages": [{"role": "user", "content": "x"}]}\n'
    data: Any = io.BytesIO(b"x" * 1_000 + b"\n" + short)
    stream = io.BufferedReader(data)
    rejected, found = jsonl.conversations(stream, "x.jsonl", None, max_line_bytes=100)
    assert isinstance(rejected, RejectedItem)
    assert rejected.where == "x.jsonl, line 1"
    assert isinstance(found, ImportedConversation)
    assert found.external_id == "e"


def test_streams_yield_bytes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xef\xbb\xbfabc")
    part = source.parts_of(tmp_path / "x")[0]
    with part.open() as stream:
        assert isinstance(stream, io.BufferedReader)
        assert stream.read() == b"abc"
