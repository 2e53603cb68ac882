"""Imports of what other memory systems keep: dates, users, metadata, what has no place, broken and truncated files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from neurigraph_pipelines.inbox.imports import detect_format, json_stream, read_conversations
from neurigraph_pipelines.model import ImportedConversation, RejectedItem, Role
from neurigraph_pipelines.model.errors import InvalidInputError
from tests.support.exports import read

FACT = {
    "uuid": "e-1",
    "name": "LIVES_IN",
    "fact": "Dev lives in Kiel",
    "created_at": "2024-05-20T12:00:00Z",
    "valid_at": "2024-05-01T00:00:00Z",
    "invalid_at": "2025-01-01T00:00:00Z",
    "source_node_uuid": "n-1",
    "target_node_uuid": "n-2",
    "attributes": {"weight": 1},
    "fact_embedding": [0.1, 0.2],
}
ITEM = {
    "namespace": ["users", "dev"],
    "key": "home",
    "value": {"city": "Kiel", "since": 2024, "pets": [{"name": "Rex"}, {"name": "Tom"}], "none": None},
    "created_at": "2024-05-20T12:00:00+00:00",
    "updated_at": "2024-05-21T12:00:00+00:00",
}
UNIT = {
    "id": "h-1",
    "text": "Dev works at TechCorp",
    "context": "Work",
    "date": "2024-01-15T10:30:00Z",
    "fact_type": "world",
    "entities": "Dev (PERSON)",
    "tags": ["team", "blue"],
    "chunk_id": "c-9",
}
SENT = {"function": {"name": "send_message", "arguments": json.dumps({"message": "Kiel is nice."})}}
SPOKEN = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": [{"type": "text", "text": "I moved to Kiel."}], "created_at": "2025-05-20T12:00:00Z"},
    {"role": "assistant", "content": [{"type": "text", "text": "He moved. I reply."}], "tool_calls": [SENT]},
    {"role": "user", "content": json.dumps({"type": "heartbeat", "reason": "again"})},
    {"role": "user", "content": json.dumps({"type": "user_message", "message": "Thanks!", "time": "now"})},
    {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "archival_memory_insert"}}]},
    {"role": "tool", "content": "OK"},
    {"role": "assistant", "content": "You are welcome."},
]
AGENT_FILE = {
    "agents": [{"id": "agent-0", "name": "Sam", "system": "You are Sam.", "messages": SPOKEN}],
    "blocks": [
        {"id": "block-0", "label": "human", "value": "The user lives in Kiel."},
        {"id": "block-1", "label": "persona", "value": ""},
    ],
    "tools": [{"name": "a"}, {"name": "b"}],
}
OLD_FILE = {
    "agent_type": "memgpt_agent",
    "name": "Sam",
    "system": "You are Sam.",
    "core_memory": AGENT_FILE["blocks"],
    "messages": SPOKEN,
    "in_context_message_indices": [0],
    "tools": AGENT_FILE["tools"],
}
GRAPH = [
    {"type": "entity", "name": "Dev", "entityType": "person", "observations": ["Lives in Kiel", "Likes olives"]},
    {"type": "entity", "name": "Empty", "entityType": "person", "observations": []},
    {"type": "relation", "from": "Dev", "to": "TechCorp", "relationType": "works_at"},
]
THREAD = {
    "messages": [
        {
            "uuid": "m-1",
            "role": "Dev",
            "role_type": "user",
            "content": "I moved.",
            "created_at": "2024-05-20T12:00:00Z",
        },
        {"uuid": "m-2", "name": "Bot", "role": "assistant", "content": "Where to?"},
        {"uuid": "m-3", "role": "function", "role_type": "function", "content": "{}"},
    ],
    "row_count": 3,
    "thread_id": "t-1",
    "user_id": "dev",
}


def bodies(conversation: ImportedConversation) -> list[str]:
    return [message.content for message in conversation.messages]


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


FILES: dict[str, tuple[str, str]] = {
    "a page of Zep": ("zep", json.dumps({"edges": [FACT], "episodes": [], "nodes": []})),
    "edges of Zep": ("zep", json.dumps([FACT, {**FACT, "uuid": "e-2"}])),
    "a thread of Zep": ("zep", json.dumps(THREAD)),
    "items of LangGraph": ("langgraph", json.dumps([ITEM])),
    "more items of LangGraph": ("langgraph", json.dumps([ITEM, {**ITEM, "key": "work"}])),
    "a page of Hindsight": ("hindsight", json.dumps({"items": [UNIT], "total": 1, "limit": 100, "offset": 0})),
    "an agent file": ("letta", json.dumps(AGENT_FILE)),
    "an earlier agent file": ("memgpt-af", json.dumps(OLD_FILE)),
    "a graph of MCP": ("mcp-memory", lines(GRAPH)),
}


def known(text: str, name: str, folder: Path) -> tuple[list[ImportedConversation], list[str], list[str]]:
    """What is read of a file, the reasons of rejections, and the notes."""
    path = folder / "export.json"
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    notes: list[str] = []
    found, rejected = read(path, name, on_note=notes.append)
    return found, [one.reason for one in rejected], notes


@pytest.mark.parametrize("file", FILES)
def test_formats_are_recognised_and_read_the_same_twice(file: str, tmp_path: Path) -> None:
    name, text = FILES[file]
    first = known(text, name, tmp_path)[0]
    assert first
    assert detect_format(tmp_path / "export.json") == name
    assert known(text, name, tmp_path)[0] == first
    assert all(message.external_id for one in first for message in one.messages)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_ends_early_loses_nothing_before(file: str, tmp_path: Path) -> None:
    name, text = FILES[file]
    whole = known(text, name, tmp_path)[0]
    for cut in range(len(text) - 2, 1, -max(1, len(text) // 10)):
        try:
            found, rejected, _ = known(text[:cut], name, tmp_path)
        except InvalidInputError:
            continue
        assert found == whole[: len(found)]
        assert rejected or len(found) == len(whole) or "\n" in text[:cut]


def test_facts_of_zep(tmp_path: Path) -> None:
    page = {
        "edges": [FACT],
        "episodes": [{"uuid": "p-1", "content": "Dev: hi", "created_at": "2024-05-20T12:00:00Z", "source": "text"}],
        "nodes": [{"uuid": "n-1", "name": "Dev", "summary": "Dev is a sailor.", "labels": ["Person"]}, {"uuid": "n-2"}],
    }
    (fact, episode, node), rejected, notes = known(json.dumps(page), "zep", tmp_path)
    assert (fact.external_id, bodies(fact)) == ("zep:e-1", ["Dev lives in Kiel (until 2025-01-01)"])
    assert fact.started_at == datetime(2024, 5, 1, tzinfo=UTC)
    assert fact.details.metadata == {"name": "LIVES_IN", "invalid_at": "2025-01-01T00:00:00Z"}
    assert (bodies(episode), episode.details.metadata) == (["Dev: hi"], {"source": "text"})
    assert (node.title, bodies(node), node.details.metadata) == ("Dev", ["Dev is a sailor."], {"labels": ["Person"]})
    assert rejected == ["it has no summary"]
    assert "zep: the field 'fact_embedding' has no place here, in memories: 1" in notes


def test_a_thread_of_zep(tmp_path: Path) -> None:
    (thread,), rejected, notes = known(json.dumps(THREAD), "zep", tmp_path)
    assert (thread.external_id, thread.details.metadata, rejected) == ("zep:t-1", {"user_id": "dev"}, [])
    assert [(one.role, one.author, one.content, one.external_id) for one in thread.messages] == [
        (Role.USER, "Dev", "I moved.", "m-1"),
        (Role.ASSISTANT, "Bot", "Where to?", "m-2"),
    ]
    assert notes == ["zep: messages of the role 'function' have no place here: 1"]


def test_items_of_langgraph(tmp_path: Path) -> None:
    (first,), _, notes = known(json.dumps([ITEM]), "langgraph", tmp_path)
    assert bodies(first) == ["city: Kiel\nsince: 2024\npets.name: Rex\npets.name: Tom"]
    assert first.details.metadata == {"namespace": ["users", "dev"], "key": "home"}
    assert (first.started_at, notes) == (datetime(2024, 5, 21, 12, tzinfo=UTC), [])
    (changed,), _, _ = known(json.dumps([{**ITEM, "value": {"city": "Lübeck"}}]), "langgraph", tmp_path)
    assert changed.external_id == first.external_id
    assert changed.messages[0].external_id != first.messages[0].external_id


def test_memories_of_hindsight(tmp_path: Path) -> None:
    page = {"items": [UNIT, {"id": "h-2"}], "total": 2, "limit": 100, "offset": 0}
    (kept,), rejected, notes = known(json.dumps(page), "hindsight", tmp_path)
    assert (kept.external_id, bodies(kept), kept.started_at) == (
        "hindsight:h-1",
        ["Dev works at TechCorp"],
        datetime(2024, 1, 15, 10, 30, tzinfo=UTC),
    )
    assert kept.details.metadata == {
        "context": "Work",
        "fact_type": "world",
        "entities": "Dev (PERSON)",
        "tags": ["team", "blue"],
    }
    assert rejected == ["it has no text"]
    assert notes == ["hindsight: the field 'chunk_id' has no place here, in memories: 1"]


@pytest.mark.parametrize(("name", "content"), [("letta", AGENT_FILE), ("memgpt-af", OLD_FILE)])
def test_agent_files(name: str, content: Any, tmp_path: Path) -> None:
    (agent, block), rejected, notes = known(json.dumps(content), name, tmp_path)
    assert (agent.title, agent.details.metadata) == ("Sam", {"agent": "Sam"})
    assert bodies(agent) == ["I moved to Kiel.", "Kiel is nice.", "Thanks!", "You are welcome."]
    assert agent.started_at == datetime(2025, 5, 20, 12, tzinfo=UTC)
    assert (block.title, bodies(block)) == ("human", ["The user lives in Kiel."])
    assert rejected == []
    assert sorted(notes)[:4] == [
        "letta: blocks without a value: 1",
        "letta: instructions of agents have no place here: 1",
        "letta: messages of the role 'system' have no place here: 1",
        "letta: messages of the role 'tool' have no place here: 1",
    ]
    assert "letta: tools have no place here: 2" in notes
    assert "letta: messages without words, such as uses of tools, have no place here: 2" in notes


def test_the_graph_of_mcp(tmp_path: Path) -> None:
    (entity, relation), rejected, _ = known(lines(GRAPH), "mcp-memory", tmp_path)
    assert (entity.external_id, entity.title) == ("mcp-memory:Dev", "Dev")
    assert bodies(entity) == ["Lives in Kiel\nLikes olives"]
    assert entity.details.metadata == {"entityType": "person"}
    assert bodies(relation) == ["Dev works at TechCorp"]
    assert rejected == ["it has no observations"]


def test_a_broken_line_loses_only_itself(tmp_path: Path) -> None:
    text = lines(GRAPH[:1]) + '{"type": "entity", "name": \n' + lines(GRAPH[2:])
    found, rejected, _ = known(text, "mcp-memory", tmp_path)
    assert [bodies(one) for one in found] == [["Lives in Kiel\nLikes olives"], ["Dev works at TechCorp"]]
    assert len(rejected) == 1


def test_a_large_file_is_read_item_by_item(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("w", encoding="utf-8") as stream:
        stream.write("[")
        for number in range(4_000):
            stream.write(f"{',' if number else ''}{json.dumps({**ITEM, 'key': str(number)})}")
        stream.write("]")
    taken = 0

    def count(size: int) -> None:
        nonlocal taken
        taken += size

    items: Iterator[Any] = read_conversations(path, "langgraph", on_bytes=count)
    next(items)
    assert taken < path.stat().st_size / 4
    assert sum(1 for _ in items) == 3_999


@pytest.mark.parametrize(
    ("written", "reasons"),
    [
        ('[{"memory": "a b", "id": "1"}, 5, {"memory": "c d", "id": "2"}]', ["expected an object, found int"]),
        ('[1, "x, {", {"memory": "a b", "id": "1"}, null]', ["expected an object, found int, str", "found NoneType"]),
        ('{"results": [{"memory": "a b", "id": "1"}, 7]}', ["expected an object, found int"]),
        ('[{"memory": "a b", "id": "1"}, {"memory": "cut', ["the file is truncated at byte 43"]),
        ('[{"memory": "a b", "id": "1"}, 12', ["the file is truncated at byte 34"]),
    ],
)
def test_what_is_no_memory_is_named(written: str, reasons: list[str], tmp_path: Path) -> None:
    (file := tmp_path / "file.json").write_text(written, encoding="utf-8")
    found = [one.reason for one in read_conversations(file, "mem0") if isinstance(one, RejectedItem)]
    assert len(found) == len(reasons)
    assert all(reason in one for reason, one in zip(reasons, found, strict=True)), found


def test_an_object_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_ITEM_BYTES", 200_000)
    (file := tmp_path / "file.json").write_text('[{"memory": "a b", "id": "1"}, {"memory": "', encoding="utf-8")
    os.truncate(file, 10 * 1024**3)
    kept, given_up = read_conversations(file, "mem0")
    assert isinstance(kept, ImportedConversation)
    assert isinstance(given_up, RejectedItem)
    assert "does not end within 200,000 bytes" in given_up.reason
    assert "write it as a list of smaller objects" in given_up.reason
