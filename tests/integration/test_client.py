"""The Python client against a real server: both forms, retries, waits, pages and streams."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from uuid import UUID, uuid4

import httpx
import pytest

from neurigraph_client import (
    AsyncMemory,
    Changed,
    Denied,
    Fact,
    Invalid,
    Memory,
    Message,
    Note,
    NotFound,
    Source,
    Unavailable,
)
from neurigraph_client.frames import to_dataframe
from neurigraph_client.models import Given
from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.views.erasures import ErasurePreview
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import new_user, store
from tests.support.api_server import serving

TALK: list[Given] = [
    "I went fishing with Dave at the lake.",
    Message(role="assistant", content="How many trout did you catch?"),
    {"role": "user", "content": "We caught two trout and Dave fell into the water.", "author": "Bob"},
]


@pytest.fixture
def base(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as address:
        yield address


@pytest.fixture
def key(base: str) -> str:
    with httpx.Client(base_url=base, timeout=60.0) as client:
        return new_user(client, f"reader-{uuid4().hex[:8]}")["Authorization"].removeprefix("Bearer ")


@pytest.fixture
def memory(base: str, key: str) -> Iterator[Memory]:
    with Memory(base, key) as opened:
        yield opened


def stored_talk(memory: Memory, here: Installation) -> Source:
    """Hand the talk in, wait until it is stored, and give its source."""
    with pytest.raises(Invalid, match="the url"):
        memory.open_conversation(external_id="lake", url="javascript:alert(1)")
    conversation_id = memory.store_conversation(
        TALK, title="Fishing", external_id="lake", origin="slack", metadata={"team": "blue"}
    )
    assert memory.source("conversation", conversation_id).state == "waiting"
    with pytest.raises(TimeoutError, match="waiting"):
        memory.stored("conversation", conversation_id, 0.2)
    assert memory.store_conversation(TALK[:0], external_id="lake") == conversation_id
    storing = threading.Thread(target=store, args=(here,))
    storing.start()
    found = memory.stored("conversation", conversation_id, 60)
    storing.join()
    assert (found.state, found.title, found.message_count) == ("stored", "Fishing", 3)
    assert [one.source_id for one in memory.sources("conversation", state="stored")] == [conversation_id]
    return found


def test_conversation_from_first_message_to_answer(
    memory: Memory, shared_installation: Installation, tmp_path: Path
) -> None:
    found = stored_talk(memory, shared_installation)
    (record_id,) = found.record_ids
    result = memory.search("How many trout did Bob catch?")
    assert result.hits[0].record_id == record_id
    source = result.hits[0].origin.source
    assert (source.origin, source.metadata, source.version) == ("slack", {"team": "blue"}, 1)
    assert (found.origin, found.metadata, found.received_through) == ("slack", {"team": "blue"}, "api")
    reply = memory.ask("Who fell into the water?")
    assert "Dave" in reply.answer
    assert reply.citations[0].record_id == record_id

    record = memory.memories.get(record_id)
    assert record.file_id is not None
    assert record.source is not None
    assert record.source.origin == "slack"
    with memory.file(record.file_id) as content:
        assert b"two trout" in b"".join(content)
    target = tmp_path / "talk.jsonl"
    assert memory.save_file(record.file_id, target) == target.stat().st_size
    with pytest.raises(FileExistsError):
        memory.save_file(record.file_id, target)

    revised = memory.memories.revise(record_id, etag=record.etag, title="A day at the lake")
    assert revised.title == "A day at the lake"
    with pytest.raises(Changed):
        memory.memories.revise(record_id, etag=record.etag, title="Again")
    (node,) = memory.graph.list_nodes(path=str(record.node_path))
    rebuild_profiles(shared_installation.database)
    found_node = memory.graph.shell(node.node_id)
    assert found_node.record_count == 1
    assert found_node.profile is not None
    assert found_node.profile.centroids[0].record_id == record_id
    memory.forget(record_id)
    assert memory.memories.get(record_id).title == "A day at the lake"
    memory.forget(record_id, dry_run=False)
    with pytest.raises(NotFound):
        memory.memories.get(record_id)


def test_lists_become_data_frames(memory: Memory, shared_installation: Installation) -> None:
    (record_id,) = stored_talk(memory, shared_installation).record_ids
    read_waiting(shared_installation.context)
    records = to_dataframe(memory.memories.list_records())
    assert list(records["record_id"]) == [record_id]
    facts = to_dataframe(memory.facts.list())
    assert set(facts["record_id"]) == {record_id}
    assert facts["confidence"].between(0, 1).all()
    assert record_id in set(to_dataframe(memory.search("trout").hits)["record_id"])
    assert to_dataframe(memory.facts.list(kind="decision", who="nobody")).empty


def test_same_for_asyncio(base: str, key: str, shared_installation: Installation) -> None:
    async def run() -> None:
        async with AsyncMemory(base, key) as memory:
            notes = [await memory.remember(f"The code of door {number} is 47{number}.") for number in range(3)]
            await asyncio.to_thread(store, shared_installation)
            for note in notes:
                assert (await memory.stored("note", note.note_id, 60)).state == "stored"
            assert len([one async for one in memory.sources("note", limit=2)]) == 3
            records = [one async for one in memory.memories.list_records(limit=1)]
            assert len(records) == 3
            file_id = records[0].file_id
            assert file_id is not None
            async with memory.file(file_id) as content:
                assert b"The code of door" in b"".join([part async for part in content])
            stated = await memory.facts.state("Dave owns a boat.", path="Family/Dave", tags=["boat"])
            await asyncio.to_thread(store, shared_installation)
            await asyncio.to_thread(read_waiting, shared_installation.context)
            assert [one.fact_id async for one in memory.facts.list(tags="boat")] == [stated.fact_id]
            assert (await memory.facts.get(stated.fact_id)).said_in[0].source_id == stated.note_id
            changed = await memory.facts.change(stated.fact_id, tags=["boat", "red"])
            assert isinstance(changed, Fact), "it is the fact, for no words changed"
            assert changed.tags == ["boat", "red"]
            await memory.facts.retract(stated.fact_id)
            await memory.facts.confirm(stated.fact_id)
            assert (await memory.facts.undo_decisions(stated.fact_id)).undone == []
            operations = [one.operation for one in (await memory.facts.history(stated.fact_id)).changes]
            assert operations == ["confirm", "retract", "change"]
            await _links(memory, stated.fact_id, records[0].record_id)
            await _digests(memory, [record.record_id for record in records[:2]])
            assert (await memory.retention.keep(records[0].record_id, "short", reason="for today")).tier == "short"
            assert (await memory.retention.promote(records[0].record_id)).tier == "mid"
            assert (await memory.retention.shown(records[0].record_id)).expiry_reason is not None
            assert (await memory.retention.add([records[0].record_id], "moved away")).record_ids == [
                records[0].record_id
            ]
            (away,) = [one async for one in memory.retention.list_archive()]
            assert (away.record_id, away.archived_reason) == (records[0].record_id, "moved away")
            assert (await memory.retention.purge(0.0)).record_count == 1
            with pytest.raises(NotFound):
                await memory.memories.get(records[0].record_id)
            assert (await memory.retention.restore([records[0].record_id])).record_ids == [records[0].record_id]
            assert (await memory.retention.shown(records[0].record_id)).tier == "mid"
            foreseen = await memory.forgetting.forget_fact(stated.fact_id)
            assert isinstance(foreseen, ErasurePreview)
            assert foreseen.record_count == 1
            assert "472" in (await memory.ask("What is the code of door 2?")).answer
            assert "472" in str((await memory.context("The code of door 2")).text)

    asyncio.run(run())


async def _digests(memory: AsyncMemory, record_ids: list[UUID]) -> None:
    made = await memory.digests.make(record_ids)
    assert (set(made.derived_from), made.days) == (set(record_ids), None)
    assert await memory.digests.make(record_ids) == made
    assert await memory.digests.get(made.digest_id) == made
    assert [one async for one in memory.digests.list(record_id=record_ids[1])] == [made]
    assert [one async for one in memory.digests.list(days="30")] == []
    (link,) = [one async for one in memory.links.of_record(record_ids[1])]
    assert (link.relation, link.from_kind, link.from_id) == ("derived_from", "digest", made.digest_id)
    assert (await memory.digests.remove(made.digest_id)).digest == made
    assert (await memory.digests.remove(made.digest_id, dry_run=False)).digest == made
    with pytest.raises(NotFound):
        await memory.digests.get(made.digest_id)


async def _links(memory: AsyncMemory, fact_id: UUID, record_id: UUID) -> None:
    made = (
        await memory.links.state("elaborates", from_fact_id=fact_id, to_record_id=record_id, reason="It names it.")
    ).link_id
    assert (await memory.links.state("elaborates", from_fact_id=fact_id, to_record_id=record_id)).link_id == made
    for links, direction in ((memory.links.of_fact(fact_id), "out"), (memory.links.of_record(record_id), "in")):
        assert [(one.link_id, one.direction) async for one in links] == [(made, direction)]
    assert (await memory.links.reject(made)).verdict == "rejected"
    assert [one.link_id async for one in memory.links.of_fact(fact_id)] == []
    assert (await memory.links.confirm(made)).verdict == "confirmed"
    assert (await memory.links.end(made, valid_until=datetime(2150, 1, 1, tzinfo=UTC))).ended_at is not None
    assert [one.link_id async for one in memory.links.of_fact(fact_id, all=True)] == [made]


def test_file_is_streamed(memory: Memory, shared_installation: Installation, tmp_path: Path) -> None:
    path = tmp_path / "gutters.txt"
    path.write_text("The copper gutters were chosen for the boathouse.\n" * 2_000)
    upload_id = memory.upload(path, title="Gutters")
    assert memory.upload(path, title="Gutters") == upload_id
    assert memory.source("upload", upload_id).message_count >= 0
    with pytest.raises(NotFound):
        memory.source("upload", uuid4())
    read = memory.source("upload", upload_id)
    memory.set_privacy("upload", upload_id, "private", etag=read.etag)
    with pytest.raises(Changed):
        memory.set_privacy("upload", upload_id, "shared", etag=read.etag)
    with pytest.raises(Changed):
        memory.call("PATCH", f"/v1/uploads/{upload_id}", {"privacy": "shared"}, etag=read.etag)
    assert memory.source("upload", upload_id).privacy == "private"


def test_refusals_are_typed(base: str, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Invalid, match="query") as invalid:
        memory.search("")
    assert invalid.value.request_id
    with pytest.raises(Invalid):
        memory.search("boat", colour="blue")
    with Memory(base, "ng_wrong") as stranger, pytest.raises(Denied):
        stranger.ask("Who?")
    with pytest.raises(ValueError, match="time zone"):
        memory.search("boat", occurred_after=datetime(2025, 1, 1))  # noqa: DTZ001 - it is refused
    monkeypatch.delenv("NEURIGRAPH_API_KEY", raising=False)
    with pytest.raises(ValueError, match="NEURIGRAPH_API_KEY"):
        Memory(base)
    assert memory.call("GET", "/v1/keys")["keys"]


class Flaky(BaseHTTPRequestHandler):
    """Answers 409 to a request that runs, then 503, then as a server would; keeps the keys of requests."""

    keys: list[str | None]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.keys.append(self.headers["Idempotency-Key"])
        good = len(self.keys) > 2
        note = Note(note_id=UUID(int=1), version=1, created=True, node_id=None, replaces=None, redacted={})
        body = note.model_dump_json() if good else "busy"
        self.send_response(202 if good else (409, 503)[len(self.keys) - 1])
        self.send_header("Retry-After", "0.01")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Log nothing."""


def test_change_is_repeated_under_one_key() -> None:
    class Handler(Flaky):
        keys: list[str | None] = []  # noqa: RUF012 - one server, one list

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with Memory(f"http://127.0.0.1:{server.server_address[1]}", "key") as memory:
            assert memory.remember("x").note_id == UUID(int=1)
        assert len(set(Handler.keys)) == 1
        assert len(Handler.keys) == 3
        assert Handler.keys[0]
        Handler.keys.clear()
        with (
            Memory(f"http://127.0.0.1:{server.server_address[1]}", "key", retries=1) as memory,
            pytest.raises(Unavailable),
        ):
            memory.remember("x")
    finally:
        server.shutdown()
        server.server_close()


def test_server_that_is_away() -> None:
    with Memory("http://127.0.0.1:9", "key", retries=1) as memory, pytest.raises(httpx.ConnectError):
        memory.ask("Who?")
