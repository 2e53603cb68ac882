"""Private conversations: only the owner finds and opens them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange.sharing import Subject, add_node, grant
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.privacy import find_source, set_privacy
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import Claims, ImportedConversation, NodeType, Privacy, SourceKind, SubjectType
from neurigraph_pipelines.model.errors import ForbiddenError, NotFoundError
from neurigraph_pipelines.retrieval.index.packs import FORMAT
from neurigraph_pipelines.retrieval.open import file_of_record, open_file, open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.command_line import run_cli
from tests.support.growing_graph import records
from tests.support.memories import (
    START,
    WordEmbedder,
    converse,
    evidence,
    explained,
    ingest,
    messages,
    new_user,
    plain_context,
    rows,
    schemas_of,
    stored,
)

SECRET_WORD = "zanzibar"


@dataclass(frozen=True)
class Shared:
    """A user with a shared and a private memory in one node, which a friend is granted."""

    here: Installation
    user: User
    owner: Claims
    friend: Claims
    node_id: UUID
    shared_id: UUID
    private_id: UUID
    private_source: UUID

    def ask(self, claims: Claims, query: str = SECRET_WORD) -> Found:
        question = Question(query, limit=50, explain=True)
        return search(self.here.acting_for(claims).using(embedder=WordEmbedder()), question)

    def found(self, claims: Claims) -> set[str]:
        return {str(hit.record_id) for hit in self.ask(claims).hits}

    def seen(self, claims: Claims, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table that SQL with these claims sees."""
        with self.here.database.agent(claims) as tx:
            return tx.execute(f"SELECT * FROM {table}").fetchall()


def hand_in(here: Installation, claims: Claims, external_id: str, *contents: str, private: bool) -> UUID:
    said = tuple(replace(message, author=f"speaker of {external_id}") for message in messages(*contents))
    conversation = ImportedConversation(external_id, said, title=external_id, ended_at=START)
    inbox = Inbox(here.context)
    with here.database.agent(claims) as tx:
        inbox.add_conversations(tx, claims.user_id, [conversation], Privacy.PRIVATE if private else Privacy.SHARED)
    return find_source(here.database, claims, external_id)


@pytest.fixture(params=SubjectType)
def world(shared_installation: Installation, request: pytest.FixtureRequest) -> Shared:
    here = shared_installation
    user, owner = new_user(here)
    hand_in(here, owner, "open talk", "#Family We met for tea.", "How nice.", private=False)
    (first,) = stored(ingest(plain_context(here), user))
    source = hand_in(here, owner, "secret talk", f"#Family Off to {SECRET_WORD}.", "@Dave:lover Soon.", private=True)
    (second,) = stored(ingest(plain_context(here), user))
    with here.database.agent(owner) as tx:
        node_id = navigation.find_node(tx, user.user_id, "Family")
    subject = Subject(request.param, "friend")
    if subject.kind is SubjectType.PERSONA:
        persona = add_node(here.database, owner, user.root_node_id, "Friend", node_type=NodeType.PERSONA)
        subject = Subject(subject.kind, str(persona))
    grant(here.database, owner, subject, node_id)
    friend = Claims(subject.name, subject.kind.value, user.user_id)
    return Shared(here, user, owner, friend, node_id, first.record_id, second.record_id, source)


def test_grantee_does_not_see_private_record(world: Shared) -> None:
    here, secret = world.here, str(world.private_id)
    assert world.found(world.owner) == {str(world.shared_id), secret}
    assert world.found(world.friend) == {str(world.shared_id)}
    answer = repr(world.ask(world.friend))
    assert SECRET_WORD not in answer
    assert secret not in answer
    file_id = file_of_record(here.database, world.owner, world.private_id)
    assert SECRET_WORD.encode() in open_file(here.acting_for(world.owner), file_id).content
    assert open_message(here.acting_for(world.owner), file_id, 1).content
    for denied in (
        lambda: file_of_record(here.database, world.friend, world.private_id),
        lambda: open_file(here.acting_for(world.friend), file_id),
        lambda: open_message(here.acting_for(world.friend), file_id, 1),
    ):
        with pytest.raises(NotFoundError):
            denied()
    shared_file = file_of_record(here.database, world.friend, world.shared_id)
    assert open_message(here.acting_for(world.friend), shared_file, 1).content


def test_tables_and_counts_hide_private_records(world: Shared) -> None:
    schema = schemas_of(world.here, world.user)["Family"]
    tables = {
        "neurigraph.sources": 1,
        "neurigraph.record_index": 1,
        "neurigraph.segments": 1,
        "neurigraph.file_index": 1,
        "neurigraph.delta_log": 1 if world.friend.role == "persona" else 0,
        "neurigraph.compression_state_log": 1,
        f'"{schema}".metadata_records': 1,
        f'"{schema}".file_manifest': 1,
    }
    for table, shown in tables.items():
        assert len(world.seen(world.owner, table)) > shown, table
        found = world.seen(world.friend, table)
        assert len(found) == shown, table
        assert SECRET_WORD not in repr(found), table
        assert str(world.private_source) not in repr(found), table
    with world.here.database.agent(world.owner) as tx:
        assert navigation.shell(tx, world.node_id).record_count == 2
    assert len(records(world.here, world.owner, node_id=world.node_id)) == 2
    with world.here.database.agent(world.friend) as tx:
        shell = navigation.shell(tx, world.node_id)
        assert (shell.record_count, shell.edges) == (1, [])
        assert SECRET_WORD not in repr(shell)
        assert "lover" not in repr(shell)
    assert len(records(world.here, world.friend, node_id=world.node_id)) == 1


def test_search_reveals_no_private_record(world: Shared) -> None:
    result, nonsense = world.ask(world.friend, SECRET_WORD), world.ask(world.friend, "qwertyuiop")
    assert result.anchors == nonsense.anchors
    assert world.ask(world.owner, SECRET_WORD).anchors != world.ask(world.owner, "qwertyuiop").anchors
    lexical = [explained(message)["window_lexical"] for message in result.messages]
    assert set(lexical) == {0}
    for claims, speakers in ((world.owner, ["speaker of open talk", "speaker of secret talk"]), (world.friend, [])):
        row = evidence(world.here, claims)
        assert row is not None
        assert row["speakers"] == speakers
        assert (row["centroids"] is not None) is (claims is world.owner), "a mean tells of what it is the mean of"
        with world.here.database.agent(claims) as tx:
            words = tx.execute("SELECT * FROM neurigraph.node_words(%s, %s)", [[world.node_id], FORMAT]).fetchall()
        assert len(words) == (claims is world.owner), "a caller who may not see a word may not count it"
    set_privacy(world.here.database, world.owner, world.private_source, Privacy.SHARED)
    assert world.ask(world.friend, SECRET_WORD).anchors != nonsense.anchors


def test_private_conversation_shapes_no_graph(shared_installation: Installation) -> None:
    here = shared_installation
    user, owner = new_user(here)
    hand_in(here, owner, "first", "#Family/Ana Ana came.", "Yes.", private=False)
    ingest(plain_context(here), user)
    before = rows(here, "SELECT node_id, node_keywords, node_summary, aliases FROM neurigraph.graph_index ORDER BY 1")
    hand_in(here, owner, "second", "#Family/Ana/Affair It is Zed.", "@Ana:spy", private=True)
    (record,) = stored(ingest(plain_context(here), user))
    assert record.node_path == f"{user.slug}/Family/Ana"
    after = rows(here, "SELECT node_id, node_keywords, node_summary, aliases FROM neurigraph.graph_index ORDER BY 1")
    assert after == before
    assert rows(here, "SELECT FROM neurigraph.node_edges WHERE user_id = %s AND relation = 'spy'", user.user_id) == []
    assert not verify(here.context, user_id=user.user_id).findings


def test_privacy_covers_all_records_of_source(world: Shared) -> None:
    here = world.here
    set_privacy(here.database, world.owner, world.private_source, Privacy.SHARED)
    set_privacy(here.database, world.owner, world.private_source, Privacy.SHARED)
    assert world.found(world.friend) == {str(world.shared_id), str(world.private_id)}
    with here.database.agent(world.friend) as tx:
        assert SECRET_WORD.capitalize() in repr(world.ask(world.friend)) or SECRET_WORD in repr(world.ask(world.friend))
        assert navigation.shell(tx, world.node_id).record_count == 2
    set_privacy(here.database, world.owner, world.private_source, Privacy.PRIVATE)
    assert world.found(world.friend) == {str(world.shared_id)}
    with here.database.agent(world.friend) as tx:
        shell = navigation.shell(tx, world.node_id)
    assert "Off" not in shell.keywords
    assert shell.record_count == 1
    assert not verify(here.context).findings


def test_cached_answer_is_dropped(world: Shared) -> None:
    assert len(world.found(world.owner)) == 2
    set_privacy(world.here.database, world.owner, world.private_source, Privacy.SHARED)
    assert len(world.found(world.friend)) == 2
    set_privacy(world.here.database, world.owner, world.private_source, Privacy.PRIVATE)
    assert len(world.found(world.friend)) == 1


def test_only_owner_changes_privacy(world: Shared) -> None:
    database = world.here.database
    with pytest.raises(ForbiddenError):
        set_privacy(database, world.friend, world.private_source, Privacy.SHARED)
    _, stranger = new_user(world.here)
    with pytest.raises(NotFoundError):
        set_privacy(database, stranger, world.private_source, Privacy.SHARED)
    with pytest.raises(NotFoundError):
        set_privacy(database, world.owner, world.private_source, Privacy.SHARED, SourceKind.EVENT)
    with database.agent(world.friend) as tx, pytest.raises(psycopg.errors.InsufficientPrivilege):
        tx.execute("UPDATE neurigraph.sources SET privacy = 'shared'")
    assert world.found(world.friend) == {str(world.shared_id)}


def test_only_owner_sends_private_sources(world: Shared) -> None:
    """A persona that may write sends what the owner decides about, and cannot hide it from others."""
    here = world.here
    persona = add_node(
        here.database, world.owner, world.user.root_node_id, "Writer", node_type=NodeType.PERSONA, writes=True
    )
    writer = Claims(str(persona), "persona", world.user.user_id)
    insert = (
        "INSERT INTO neurigraph.sources (user_id, kind, external_id, started_at, privacy) "
        "VALUES (%s, 'conversation', %s, now(), %s)"
    )
    with here.database.agent(writer) as tx:
        assert tx.execute(insert, [world.user.user_id, "open", "shared"]).rowcount == 1
    with pytest.raises(psycopg.errors.InsufficientPrivilege), here.database.agent(writer) as tx:
        tx.execute(insert, [world.user.user_id, "hidden", "private"])
    with here.database.agent(world.owner) as tx:
        assert tx.execute(insert, [world.user.user_id, "hidden", "private"]).rowcount == 1


def test_persona_loses_what_it_sent_when_that_becomes_private(world: Shared) -> None:
    here = world.here
    persona = add_node(
        here.database, world.owner, world.user.root_node_id, "Sender", node_type=NodeType.PERSONA, writes=True
    )
    sender = Claims(str(persona), "persona", world.user.user_id)
    source = hand_in(here, sender, "sent", "#Sender Noted.", private=False)
    for privacy, shown in ((Privacy.SHARED, 1), (Privacy.PRIVATE, 0)):
        set_privacy(here.database, world.owner, source, privacy)
        for table in ("sources", "messages"):
            found = [row for row in world.seen(sender, f"neurigraph.{table}") if row["source_id"] == source]
            assert len(found) == shown, (table, privacy)


def test_privacy_by_api_and_cli(installation: Installation) -> None:
    user, owner = new_user(installation)
    key = issue_api_key(installation.database, user.user_id)
    with serving(installation) as base, httpx.Client(headers={"Authorization": f"Bearer {key}"}, timeout=60) as client:
        made = client.post(f"{base}/v1/conversations", json={"external_id": "c", "privacy": "private"}).json()
        event = client.post(f"{base}/v1/events", json={"kind": "call", "title": "t", "privacy": "private"}).json()
        upload = client.post(
            f"{base}/v1/files", files={"file": ("a.txt", b"some text")}, data={"privacy": "private"}
        ).json()
        kinds = rows(installation, "SELECT kind FROM neurigraph.sources WHERE privacy = 'private' ORDER BY kind")
        assert [row["kind"] for row in kinds] == ["conversation", "event", "upload"]
        for path in (
            f"conversations/{made['conversation_id']}",
            f"events/{event['event_id']}",
            f"uploads/{upload['upload_id']}",
        ):
            assert client.patch(f"{base}/v1/{path}", json={"privacy": "shared"}).status_code == 204
            assert client.patch(f"{base}/v1/{path}", json={"privacy": "secret"}).status_code == 422
        wrong = f"{base}/v1/events/{made['conversation_id']}"
        assert client.patch(wrong, json={"privacy": "private"}).status_code == 404
    assert rows(installation, "SELECT FROM neurigraph.sources WHERE privacy = 'private'") == []
    result = run_cli(installation.settings, "source", "edit", "c", "private", "--user", user.slug, "--json")
    assert result.returncode == 0, result.stderr
    assert len(rows(installation, "SELECT FROM neurigraph.sources WHERE privacy = 'private'")) == 1
    unknown = run_cli(installation.settings, "source", "edit", "nothing", "private", "--user", user.slug)
    assert unknown.returncode == 3
    converse(installation, owner, "Hello.")


def test_private_conversation_adds_no_candidates(shared_installation: Installation) -> None:
    """A doubtful topic of a private conversation is no evidence for a node; a shared one's is."""
    here = shared_installation
    user, owner = new_user(here)
    doubting = plain_context(here).using(settings=here.settings.changed(node_creation_confidence=0.95))

    def candidates() -> list[str]:
        found = rows(here, "SELECT node_name FROM neurigraph.node_candidates WHERE user_id = %s", user.user_id)
        return [row["node_name"] for row in found]

    hand_in(here, owner, "first", "#Affair It is Zed.", private=True)
    assert len(stored(ingest(doubting, user))) == 1
    assert candidates() == []
    hand_in(here, owner, "second", "#Affair It is Zed again.", private=False)
    assert len(stored(ingest(doubting, user))) == 1
    assert candidates() == ["Affair"]
