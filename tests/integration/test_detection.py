"""Detection of segments in a real database: chunks of running conversations, ended conversations, events."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.provisioning import User, create_user
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.ingestion.detection import (
    detect,
    detect_chunks,
    detect_conversation_ends,
    detect_event_ends,
)
from neurigraph_pipelines.model import Claims, EventKind, ImportedConversation, IncomingMessage, Role, SourceKind
from neurigraph_pipelines.model.errors import ConflictError
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.views.inbox import Appended
from neurigraph_pipelines.wiring.installation import Installation

WATCH, TARGET, LIMIT = 480, 500, 620


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """The default chunk sizes, a thousandth of each."""
    return settings.changed(chunk_watch_tokens=WATCH, chunk_target_tokens=TARGET, chunk_limit_tokens=LIMIT)


@dataclass(frozen=True)
class Writer:
    """One user's inbox, as an application writes to it."""

    installation: Installation
    user: User

    def open(self, kind: SourceKind = SourceKind.CONVERSATION, **fields: Any) -> UUID:
        with self.installation.database.agent(Claims.of_user(self.user.user_id)) as tx:
            return self._inbox.open_source(tx, self.user.user_id, kind, **fields)[0]

    def append(
        self, source_id: UUID, *messages: IncomingMessage, kind: SourceKind = SourceKind.CONVERSATION
    ) -> Appended:
        with self.installation.database.agent(Claims.of_user(self.user.user_id)) as tx:
            return self._inbox.append(tx, kind, source_id, messages)

    def end(self, source_id: UUID, kind: SourceKind = SourceKind.CONVERSATION) -> None:
        with self.installation.database.agent(Claims.of_user(self.user.user_id)) as tx:
            self._inbox.end(tx, kind, source_id)

    @property
    def _inbox(self) -> Inbox:
        return Inbox(self.installation.context)


@pytest.fixture
def ada(installation: Installation) -> Writer:
    return Writer(installation, create_user(installation.database, "ada")[0])


def said(role: Role, tokens: int, **fields: Any) -> IncomingMessage:
    return IncomingMessage(role, " ".join(["word"] * tokens), **fields)


def talk(*sizes: int) -> list[IncomingMessage]:
    """User and assistant in turns, of as many tokens each."""
    return [said(Role.ASSISTANT if number % 2 else Role.USER, size) for number, size in enumerate(sizes)]


_SEGMENTS = sql.SQL(
    "SELECT t.trigger_type, t.first_message, t.last_message, t.token_count FROM neurigraph.storage_triggers AS t "
    "WHERE t.source_id = %s ORDER BY t.first_message"
)
_STATE = sql.SQL(
    "SELECT s.last_message, s.triggered_through, s.stored_through, s.untriggered_tokens FROM neurigraph.sources AS s "
    "WHERE s.source_id = %s"
)
_MESSAGES = sql.SQL(
    "SELECT m.seq, m.content, m.token_count, m.complete FROM neurigraph.messages AS m WHERE m.source_id = %s "
    "ORDER BY m.seq"
)


def segments(installation: Installation, source_id: UUID) -> list[tuple[str, int, int, int]]:
    with installation.database.pipeline() as tx:
        return [tuple(row.values()) for row in tx.execute(_SEGMENTS, [source_id])]


def state(installation: Installation, source_id: UUID) -> tuple[int, ...]:
    with installation.database.pipeline() as tx:
        row = tx.execute(_STATE, [source_id]).fetchone()
    assert row is not None
    return tuple(row.values())


def messages(installation: Installation, source_id: UUID) -> list[tuple[int, str, int, bool]]:
    with installation.database.pipeline() as tx:
        return [tuple(row.values()) for row in tx.execute(_MESSAGES, [source_id])]


def test_open_conversation_is_cut_at_target(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, *talk(100, 300, 50, 29))
    assert detect(installation.context) == 0, "479 tokens are not watched"
    ada.append(source, *talk(10, 60, 5, 60))
    assert detect(installation.context) == 1
    assert segments(installation, source) == [("chunk_threshold", 1, 6, 549)]
    assert state(installation, source) == (8, 6, 0, 65)
    assert detect(installation.context) == 0
    ada.append(source, *talk(400, 50))
    assert detect(installation.context) == 1
    assert segments(installation, source)[1:] == [("chunk_threshold", 7, 10, 515)]


def test_streaming_response_is_awaited(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, said(Role.USER, 100))
    for tokens in (200, 450, 520):
        part = ada.append(source, said(Role.ASSISTANT, tokens, external_id="answer", complete=False))
        assert (part.added, part.replaced) == ((1, 0) if tokens == 200 else (0, 1))
        assert detect_chunks(installation.context) == 0
    assert state(installation, source)[3] == 620
    again = ada.append(source, said(Role.ASSISTANT, 520, external_id="answer", complete=False))
    assert (again.known, again.tokens) == (1, 0)
    whole = ada.append(source, said(Role.ASSISTANT, 515, external_id="answer"))
    assert (whole.replaced, whole.tokens) == (1, -5)
    assert detect_chunks(installation.context) == 1
    assert segments(installation, source) == [("chunk_threshold", 1, 2, 615)]
    late = ada.append(source, said(Role.ASSISTANT, 300, external_id="answer"))
    assert (late.conflicts, late.replaced) == (["answer"], 0)


def test_completing_last_message_is_detected(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, said(Role.USER, 100), said(Role.ASSISTANT, 450, external_id="answer", complete=False))
    assert detect_chunks(installation.context) == 0
    assert ada.append(source, said(Role.ASSISTANT, 450, external_id="answer")).replaced == 1
    assert detect_chunks(installation.context) == 1


def test_newest_incomplete_message_is_replaced(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    streaming = said(Role.ASSISTANT, 3, external_id="a", complete=False)
    both = ada.append(source, streaming, said(Role.ASSISTANT, 5, external_id="a"), said(Role.USER, 1, external_id="u"))
    assert (both.added, both.replaced, both.tokens) == (2, 1, 6)
    assert [row[2:] for row in messages(installation, source)] == [(5, True), (1, True)]
    ada.append(source, said(Role.ASSISTANT, 2, external_id="b", complete=False), said(Role.USER, 1, external_id="v"))
    overtaken = ada.append(source, said(Role.ASSISTANT, 9, external_id="b"))
    assert overtaken.conflicts == ["b"]
    assert ada.append(source, said(Role.ASSISTANT, 2, external_id="b")).known == 1
    assert state(installation, source)[3] == 9


def test_ended_source_refuses_incomplete_messages(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, said(Role.ASSISTANT, 3, external_id="a", complete=False))
    ada.end(source)
    assert ada.append(source, said(Role.ASSISTANT, 4, external_id="a")).replaced == 1
    with pytest.raises(ConflictError, match="once it is complete"):
        ada.append(source, said(Role.USER, 1), said(Role.ASSISTANT, 3, complete=False))
    assert len(messages(installation, source)) == 1
    assert detect(installation.context) == 1
    ada.append(source, said(Role.USER, 1))
    assert detect(installation.context) == 1
    assert segments(installation, source) == [("conversation_end", 1, 1, 4), ("conversation_end", 2, 2, 1)]


def test_only_streaming_message_is_replaceable(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, said(Role.USER, 1), said(Role.ASSISTANT, 1, complete=False))
    change = sql.SQL("UPDATE neurigraph.messages SET content = 'forged' WHERE source_id = %s")
    eve, _ = create_user(installation.database, "eve")
    with installation.database.agent(Claims.of_user(eve.user_id)) as tx:
        assert tx.execute(change, [source]).rowcount == 0
    with installation.database.agent(Claims.of_user(ada.user.user_id)) as tx:
        assert tx.execute(change, [source]).rowcount == 1
    assert [row[1] for row in messages(installation, source)] == ["word", "forged"]
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        installation.database.agent(Claims.of_user(ada.user.user_id)) as tx,
    ):
        tx.execute(sql.SQL("UPDATE neurigraph.messages SET seq = 7 WHERE source_id = %s"), [source])


def test_tool_call_stays_with_result(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    calling = said(Role.ASSISTANT, 10, tool_calls=({"id": "1", "name": "look"},))
    ada.append(source, said(Role.USER, 495), calling, said(Role.TOOL, 20), said(Role.ASSISTANT, 10), *talk(2, 70))
    assert detect_chunks(installation.context) == 1
    assert segments(installation, source) == [("chunk_threshold", 1, 4, 535)]
    self_contained = ada.open()
    answered = said(Role.ASSISTANT, 40, tool_calls=({"name": "look", "result": "found"},))
    ada.append(self_contained, said(Role.USER, 470), answered)
    assert detect_chunks(installation.context) == 1


def test_long_ended_conversation_is_cut(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, *talk(*[7, 13] * 100))
    ada.end(source)
    assert detect_conversation_ends(installation.context) == 4
    found = segments(installation, source)
    assert [kind for kind, *_ in found] == ["chunk_threshold"] * 3 + ["conversation_end"]
    assert [last for _, _, last, _ in found] == [50, 100, 150, 200]
    assert [first for _, first, _, _ in found] == [1, 51, 101, 151]
    assert state(installation, source) == (200, 200, 0, 0)
    assert detect(installation.context) == 0


def test_oversized_message_is_stored(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, said(Role.USER, 5_000))
    ada.end(source)
    assert detect(installation.context) == 1
    assert segments(installation, source) == [("conversation_end", 1, 1, 5_000)]


def test_event_is_one_segment(installation: Installation, ada: Writer) -> None:
    source = ada.open(SourceKind.EVENT, event_kind=EventKind.MEETING, title="Kick-off")
    ada.append(source, *talk(*[40] * 100), kind=SourceKind.EVENT)
    assert detect(installation.context) == 0
    ada.end(source, SourceKind.EVENT)
    assert detect_conversation_ends(installation.context) == 0
    assert detect_event_ends(installation.context) == 1
    assert segments(installation, source) == [("event_boundary", 1, 100, 4_000)]
    ada.append(source, *talk(7), kind=SourceKind.EVENT)
    assert detect_event_ends(installation.context) == 1
    assert segments(installation, source)[1:] == [("event_boundary", 101, 101, 7)], "an afterthought is its own segment"


def test_locked_source_waits(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, *talk(250, 260))
    with installation.database.agent(Claims.of_user(ada.user.user_id)) as tx:
        Inbox(installation.context).append(tx, SourceKind.CONVERSATION, source, talk(5, 5))
        assert detect_chunks(installation.context) == 0
    assert detect_chunks(installation.context) == 1


def test_unchanged_tail_is_not_reread(installation: Installation, ada: Writer) -> None:
    source = ada.open()
    ada.append(source, *talk(300, 190))
    assert detect_chunks(installation.context) == 0
    unchanged = sql.SQL("SELECT FROM neurigraph.sources WHERE source_id = %s AND NOT tail_changed")
    with installation.database.pipeline() as tx:
        assert tx.execute(unchanged, [source]).fetchone() is not None
    ada.append(source, said(Role.USER, 1))
    with installation.database.pipeline() as tx:
        assert tx.execute(unchanged, [source]).fetchone() is None


def test_concurrent_detectors_create_segments_once(installation: Installation, ada: Writer) -> None:
    sources = [ada.open() for _ in range(12)]
    for number, source in enumerate(sources):
        ada.append(source, *talk(*[30, 30] * 20))
        if number % 2:
            ada.end(source)
    with ThreadPoolExecutor(4) as pool:
        looks = [pool.submit(detect, installation.context) for _ in range(8)]
        found = sum(look.result() for look in looks)
    found += detect(installation.context)
    tiles = [segments(installation, source) for source in sources]
    assert found == sum(map(len, tiles)) == 6 * 2 + 6 * 3
    for tile in tiles:
        assert [first for _, first, _, _ in tile] == [1, *(last + 1 for _, _, last, _ in tile[:-1])]


def test_chunks_of_running_conversation(installation: Installation, ada: Writer) -> None:
    source = ada.open(title="The boathouse")
    ada.append(source, *talk(*[50, 60] * 11))
    results = list(run_due(installation.context, "tests"))
    assert sum(len(result.stored) for result in results) == 2
    assert state(installation, source) == (22, 20, 20, 110)
    kept = [content for _, content, _, _ in messages(installation, source)]
    assert kept[:20] == [None] * 20
    assert None not in kept[20:]
    ada.end(source)
    list(run_due(installation.context, "tests"))
    assert state(installation, source) == (22, 22, 22, 0)


def test_import_is_cut_alike(installation: Installation, ada: Writer) -> None:
    whole = ImportedConversation("long", tuple(talk(*[20] * 100)), ended_at=None)
    inbox = Inbox(installation.context)
    with installation.database.agent(Claims.of_user(ada.user.user_id)) as tx:
        inbox.add_conversations(tx, ada.user.user_id, [whole])
    detect(installation.context)
    imported = ada.open(external_id="long")
    live = ada.open()
    for message in whole.messages:
        ada.append(live, message)
        detect(installation.context)
    assert segments(installation, imported) == segments(installation, live)
