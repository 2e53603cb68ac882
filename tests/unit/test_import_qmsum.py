"""Imports of QMSum meetings: written ones, and those of the data folder."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from neurigraph_pipelines.inbox.imports import detect_format
from neurigraph_pipelines.inbox.imports.assemble import derived_id
from neurigraph_pipelines.model import EventKind, ImportedConversation, IncomingMessage, RejectedItem, Role
from tests.support import exports
from tests.support.exports import read, read_one


def meeting(*turns: Any) -> dict[str, Any]:
    return {"topic_list": [{"topic": "not part of what was said"}], "meeting_transcripts": list(turns)}


def turn(speaker: Any, content: Any) -> dict[str, Any]:
    return {"speaker": speaker, "content": content}


def test_meeting_becomes_event(tmp_path: Path) -> None:
    spoken = meeting(turn("Ann", "Shall we start? "), turn("Ben", " \n"), turn("李", "好的。"))
    path = exports.write(tmp_path / "Bed004.json", spoken)
    written = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    assert detect_format(path) == "qmsum"
    assert read_one(path, "qmsum") == ImportedConversation(
        external_id=derived_id("qmsum", "user", "Shall we start? ", None),
        messages=(
            IncomingMessage(Role.USER, "Shall we start? ", "Ann", "0", written),
            IncomingMessage(Role.USER, "好的。", "李", "2", written),
        ),
        started_at=written,
        ended_at=written,
        event_kind=EventKind.MEETING,
        by_opening=True,
        former_ids=("Bed004",),
    )


def test_meetings_of_a_list_have_ids_of_their_own(tmp_path: Path) -> None:
    listed = [meeting(turn("Ann", "one")), {"meeting_transcripts": "none"}, meeting(turn("Ann", "three"))]
    found, rejected = read(exports.write(tmp_path / "train.json", listed), "qmsum")
    assert [item.former_ids for item in found] == [("train",), ("train:3",)]
    assert rejected == [RejectedItem("train.json, conversation 2", "it has no list of meeting_transcripts")]


def test_broken_turns_are_rejected(tmp_path: Path) -> None:
    broken = [turn("Ann", "first"), "a text", turn(None, "nobody"), turn("Ben", 7), turn("Ben", "last")]
    found, rejected = read(exports.write(tmp_path / "m.json", meeting(*broken)), "qmsum")
    assert [message.external_id for message in found[0].messages] == ["0", "4"]
    assert [item.where for item in rejected] == [f"m.json, conversation 1, turn {n}" for n in (1, 2, 3)]


def test_real_meetings(data_folder: Path) -> None:
    paths = sorted((data_folder / "qmsum").glob("*.json"))
    assert paths
    for path in paths:
        spoken = json.loads(path.read_text(encoding="utf-8"))["meeting_transcripts"]
        event = read_one(path, detect_format(path))
        assert event.former_ids == (path.stem,)
        assert event.event_kind is EventKind.MEETING
        assert event.ended_at is not None
        assert [(message.external_id, message.author, message.content) for message in event.messages] == [
            (str(index), turn["speaker"], turn["content"])
            for index, turn in enumerate(spoken)
            if turn["content"].strip()
        ]
