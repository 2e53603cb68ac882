"""Attacks by exports of chat services: archives that grow, paths in them, nesting and numbers without end."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from neurigraph_pipelines.inbox.imports.reader import read_conversations
from neurigraph_pipelines.model import ImportedConversation
from neurigraph_pipelines.model.errors import InvalidInputError

pytestmark = pytest.mark.attack

MEGABYTE = 1 << 20


def test_export_zip_bomb(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b" " * (100 * MEGABYTE))
    with pytest.raises(InvalidInputError, match="zip bomb"):
        read_conversations(tmp_path / "bomb.zip", "chatgpt")


def test_export_zip_with_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Members are read as streams: nothing is unpacked to the disk, neither beside the zip file nor elsewhere."""
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    (here / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(here / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    line = json.dumps([{"uuid": "c1", "chat_messages": [{"uuid": "m1", "sender": "human", "text": "The keel."}]}])
    for name in ("conversations.json", "../../conversations.json", str(tmp_path / "absolute" / "conversations.json")):
        with zipfile.ZipFile(here / "export.zip", "w") as archive:
            archive.writestr(name, line)
        try:
            found = [
                one
                for one in read_conversations(here / "export.zip", "claude")
                if isinstance(one, ImportedConversation)
            ]
            assert [one.messages[0].content for one in found] == ["The keel."]
        except InvalidInputError:
            assert name != "conversations.json", "a plain name is read"
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", "export.zip", "temporary"]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"mapping":{"x":'])
def test_export_of_nested_brackets(tmp_path: Path, opening: str) -> None:
    (tmp_path / "deep.json").write_text(opening * 100_000)
    with pytest.raises(InvalidInputError):
        list(read_conversations(tmp_path / "deep.json", "chatgpt"))


def test_export_with_huge_numbers(tmp_path: Path) -> None:
    lines = [
        {"messages": [{"role": "user", "content": "x", "occurred_at": 1e308}]},
        {"messages": [{"role": "user", "content": "x", "occurred_at": -1e308}]},
    ]
    text = "\n".join(json.dumps(line) for line in lines) + '\n{"messages": [{"role": "user", "content": 1e999999}]}'
    text += '\n{"messages": [{"role": "user", "content": "x", "occurred_at": ' + "9" * 100_000 + "}]}\n"
    (tmp_path / "numbers.jsonl").write_text(text)
    found = read_conversations(tmp_path / "numbers.jsonl", "jsonl")
    conversations = [one for one in found if isinstance(one, ImportedConversation)]
    # A number that is a message's content is kept as its text; no number is a time.
    assert [message.content for one in conversations for message in one.messages] == ["1e999999"]
