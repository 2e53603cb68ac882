"""Spaces: sources in them, and callers that are limited to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest

from neurigraph_pipelines.access import spaces
from neurigraph_pipelines.access.authentication import issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.graph import navigation
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.privacy import find_source, set_privacy
from neurigraph_pipelines.ingestion.stored_segments import read_segment
from neurigraph_pipelines.model import Claims, ImportedConversation, Privacy
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.open import file_of_record, open_file
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.text.container_tags import checked_tags
from neurigraph_pipelines.views.kinds import SubjectType
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from resources.providers.transcript import about_text
from tests.support.api_server import serving
from tests.support.growing_graph import records
from tests.support.memories import (
    START,
    WordEmbedder,
    evidence,
    ingest,
    messages,
    new_user,
    plain_context,
    rows,
    schemas_of,
    stored,
    words_of_nodes,
)

SECRET = "zanzibar"
GARDEN, KITCHEN = "sm_project_garden", "kitchen"


@dataclass(frozen=True)
class World:
    """A user with a memory in the garden and a secret one in the kitchen, both in one node."""

    here: Installation
    user: User
    owner: Claims
    node_id: UUID
    shown_id: UUID
    secret_id: UUID
    secret_source: UUID

    @property
    def bound(self) -> Claims:
        """The claims of a key that is bound to the garden."""
        return self.owner.within([GARDEN])

    def ask(self, claims: Claims, query: str = SECRET) -> Found:
        question = Question(query, limit=50, explain=True)
        return search(self.here.acting_for(claims).using(embedder=WordEmbedder()), question)

    def found(self, claims: Claims, query: str = SECRET) -> set[str]:
        return {str(hit.record_id) for hit in self.ask(claims, query).hits}

    def seen(self, claims: Claims, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table that SQL with these claims sees."""
        with self.here.database.agent(claims) as tx:
            return tx.execute(f"SELECT * FROM {table}").fetchall()


def hand_in(here: Installation, claims: Claims, external_id: str, *contents: str, tags: tuple[str, ...] = ()) -> UUID:
    said = tuple(replace(message, author=f"speaker of {external_id}") for message in messages(*contents))
    details = SourceDetails(container_tags=tags)
    conversation = ImportedConversation(external_id, said, title=external_id, ended_at=START, details=details)
    with here.database.agent(claims) as tx:
        Inbox(here.context).add_conversations(tx, claims.user_id, [conversation])
    return find_source(here.database, claims, external_id) if claims.role == "user" else UUID(int=0)


@pytest.fixture
def world(shared_installation: Installation) -> World:
    here = shared_installation
    user, owner = new_user(here)
    hand_in(here, owner, "open talk", "#Family We met for tea.", "How nice.", tags=(GARDEN,))
    (first,) = stored(ingest(plain_context(here), user))
    said = (f"#Family Off to {SECRET}.", "@Dave:lover Soon.")
    source = hand_in(here, owner, "secret talk", *said, tags=(KITCHEN,))
    (second,) = stored(ingest(plain_context(here), user))
    with here.database.agent(owner) as tx:
        node_id = navigation.find_node(tx, user.user_id, "Family")
    return World(here, user, owner, node_id, first.record_id, second.record_id, source)


def test_limited_caller_sees_only_its_spaces(world: World) -> None:
    here, secret = world.here, str(world.secret_id)
    assert world.found(world.owner) == {str(world.shown_id), secret}
    assert world.found(world.bound) == {str(world.shown_id)}
    assert SECRET not in repr(world.ask(world.bound))
    assert world.found(world.owner.within([GARDEN, KITCHEN])) == {str(world.shown_id), secret}
    assert world.found(world.owner.within(["nowhere"])) == set()
    assert world.bound.within([KITCHEN]).container_tags == ()
    assert world.found(world.bound.within([KITCHEN])) == set()
    file_id = file_of_record(here.database, world.owner, world.secret_id)
    assert SECRET.encode() in open_file(here.acting_for(world.owner), file_id).content
    with pytest.raises(NotFoundError):
        file_of_record(here.database, world.bound, world.secret_id)
    with pytest.raises(NotFoundError):
        open_file(here.acting_for(world.bound), file_id)
    assert file_of_record(here.database, world.bound, world.shown_id)


def test_tables_and_counts_hide_other_spaces(world: World) -> None:
    schema = schemas_of(world.here, world.user)["Family"]
    tables = {
        "neurigraph.sources": 1,
        "neurigraph.source_spaces": 1,
        "neurigraph.spaces": 1,
        "neurigraph.record_index": 1,
        "neurigraph.segments": 1,
        "neurigraph.file_index": 1,
        "neurigraph.delta_log": 1,
        "neurigraph.compression_state_log": 1,
        "neurigraph.storage_triggers": 1,
        f'"{schema}".metadata_records': 1,
        f'"{schema}".file_manifest': 1,
    }
    for table, shown in tables.items():
        assert len(world.seen(world.owner, table)) > shown, table
        found = world.seen(world.bound, table)
        assert len(found) == shown, table
        assert SECRET not in repr(found), table
        assert str(world.secret_source) not in repr(found), table
    for table in (
        "node_edges",
        "edge_evidence",
        "node_aliases",
        "profiles",
        "permission_grants",
        "actions",
    ):
        assert world.seen(world.bound, f"neurigraph.{table}") == [], table
    with world.here.database.agent(world.bound) as tx:
        shell = navigation.shell(tx, world.node_id)
        assert (shell.record_count, shell.edges) == (1, [])
        assert "lover" not in repr(shell)
        assert SECRET not in repr(shell).lower()
    assert len(records(world.here, world.bound, node_id=world.node_id)) == 1


def test_search_reveals_nothing_of_other_spaces(world: World) -> None:
    with world.here.database.owner() as tx:
        tx.execute(
            "UPDATE neurigraph.graph_index SET node_summary = %s WHERE node_id = %s", [f"Of {SECRET}.", world.node_id]
        )
    everything = world.owner.within([GARDEN, KITCHEN])
    first = world.ask(world.bound, SECRET).anchors
    for query in ("qwertyuiop", SECRET):  # from memory
        assert world.ask(world.bound, query).anchors == first
    said = ["speaker of open talk", "speaker of secret talk"]
    for claims, speakers in ((world.owner, said), (world.bound, []), (everything, [])):
        row = evidence(world.here, claims, stems=[SECRET])
        assert row is not None
        assert (row["words"] is not None) is (claims is world.owner)
        assert row["speakers"] == speakers
        assert (row["centroids"] is not None) is (claims is world.owner), "a mean tells of what it is the mean of"
        counted = words_of_nodes(world.here, claims, [world.node_id])
        assert counted == ({world.node_id} if claims is world.owner else set()), "counts tell of what is counted"


def test_node_without_visible_record_is_absent(world: World) -> None:
    here = world.here
    hand_in(here, world.owner, "third", f"#Affairs/{SECRET} Hush.", "Yes.", tags=(KITCHEN,))
    ingest(plain_context(here), world.user)

    def names(claims: Claims) -> set[str]:
        return {row["node_name"] for row in world.seen(claims, "neurigraph.graph_index")}

    assert "Affairs" in names(world.owner)
    assert names(world.bound) == {world.user.slug, "Family"}
    assert names(world.owner.within(["nowhere"])) == {world.user.slug}


def test_source_moves_between_spaces_at_once(world: World) -> None:
    here, database = world.here, world.here.database
    garden = spaces.get_space(database, world.owner, GARDEN)
    assert garden.source_count == 1
    added = spaces.add_sources(database, world.owner, garden.space_id, [world.secret_source])
    assert added.source_count == 2
    assert world.found(world.bound) == {str(world.shown_id), str(world.secret_id)}
    page = spaces.page_of_sources(here.listing(world.owner), garden.space_id)
    assert {one.external_id for one in page.items} == {"open talk", "secret talk"}
    spaces.remove_sources(database, world.owner, garden.space_id, [world.secret_source])
    assert world.found(world.bound) == {str(world.shown_id)}
    with pytest.raises(NotFoundError):
        spaces.add_sources(database, world.owner, garden.space_id, [UUID(int=5)])
    assert spaces.remove_space(database, world.owner, garden.space_id).container_tag == GARDEN
    assert world.found(world.bound) == set()
    assert world.found(world.owner) == {str(world.shown_id), str(world.secret_id)}


def test_private_source_shows_to_owner_within_spaces_only(world: World) -> None:
    reader = Claims("reader", "third_party", world.user.user_id).within([KITCHEN])
    subject = sharing.Subject(SubjectType.THIRD_PARTY, "reader")
    sharing.grant(world.here.database, world.owner, subject, world.node_id)
    hand_in(world.here, world.owner, "open too", "#Family The kitchen is open.", tags=(KITCHEN,))
    (shared,) = stored(ingest(plain_context(world.here), world.user))
    both = {str(world.secret_id), str(shared.record_id)}
    assert world.found(reader) == both
    set_privacy(world.here.database, world.owner, world.secret_source, Privacy.PRIVATE)
    assert world.found(world.owner.within([KITCHEN])) == both
    assert world.found(reader) == {str(shared.record_id)}


def test_what_a_limited_caller_writes_is_in_its_spaces(world: World) -> None:
    here, bound = world.here, world.bound
    hand_in(here, bound, "secret talk", "#Family Roses need water.")
    (written,) = stored(ingest(plain_context(here), world.user))
    assert str(written.record_id) in world.found(bound, "roses")
    tags = rows(
        here,
        "SELECT p.container_tag FROM neurigraph.source_spaces m JOIN neurigraph.spaces p USING (space_id)"
        " JOIN neurigraph.sources s USING (source_id) WHERE s.user_id = %s AND s.binding IS NOT NULL",
        world.user.user_id,
    )
    assert [row["container_tag"] for row in tags] == [GARDEN], "its external ids are its own"
    for named in (KITCHEN, "unheard_of"):
        with pytest.raises(NotFoundError, match="there is no such space"):
            hand_in(here, bound, "another", "#Family No.", tags=(named,))
    hand_in(here, world.owner.within([GARDEN, KITCHEN]), "both", "#Family Both.", tags=(KITCHEN,))
    (only,) = stored(ingest(plain_context(here), world.user))
    assert str(only.record_id) not in world.found(bound, "both")
    spaces.remove_space(here.database, world.owner, spaces.get_space(here.database, world.owner, GARDEN).space_id)
    with pytest.raises((NotFoundError, psycopg.errors.InsufficientPrivilege)):
        hand_in(here, bound, "late", "#Family Late.")


def test_limited_caller_cannot_step_out_with_sql(world: World) -> None:
    database = world.here.database
    secret, kitchen = world.secret_source, spaces.get_space(database, world.owner, KITCHEN).space_id
    attempts = (
        f"INSERT INTO neurigraph.spaces (user_id, name, container_tag) VALUES ('{world.user.user_id}', 'x', 'x')",
        "INSERT INTO neurigraph.source_spaces (source_id, space_id, user_id)"
        f" SELECT source_id, '{kitchen}', user_id FROM neurigraph.sources",
        "SELECT set_config('request.jwt.claims', '{}', true), 1 / (SELECT count(*) FROM neurigraph.sources)",
    )
    for statement in attempts:
        with pytest.raises(psycopg.Error), database.agent(world.bound) as tx:
            tx.execute(statement)
    with database.agent(world.bound) as tx:
        tx.execute("SELECT set_config('neurigraph.container_tags', %s, true)", [KITCHEN])
        assert tx.execute("UPDATE neurigraph.sources SET title = 'mine'").rowcount == 1
        assert tx.execute("DELETE FROM neurigraph.source_spaces").rowcount == 0
        assert tx.execute("UPDATE neurigraph.spaces SET name = 'mine'").rowcount == 0
        tx.execute(f"UPDATE neurigraph.messages SET author = 'me' WHERE source_id = '{secret}'")
    assert rows(world.here, "SELECT FROM neurigraph.messages WHERE author = 'me'") == []
    titles = rows(world.here, "SELECT title FROM neurigraph.sources WHERE source_id = %s", secret)
    assert titles == [{"title": "secret talk"}]


def test_spaces_have_checked_fields(world: World) -> None:
    context = world.here.acting_for(world.owner)
    made = spaces.add_space(context, "a:b-c_1", metadata={"team": "green", "size": 3}, entity_context=" We plant. ")
    assert (made.name, made.metadata, made.entity_context) == ("a:b-c_1", {"team": "green", "size": 3}, "We plant.")
    with pytest.raises(ConflictError):
        spaces.add_space(context, "a:b-c_1")
    changed = spaces.change_space(context, made.space_id, {"name": "Beds", "entity_context": None})
    assert (changed.name, changed.metadata, changed.entity_context) == ("Beds", made.metadata, None)
    for tag in ("", "a b", "ä", "x" * 101, "a\n"):
        with pytest.raises(InvalidInputError, match="container tag"):
            spaces.add_space(context, tag)
    for fields in ({"entity_context": "x" * 1501}, {"name": "x" * 301}, {"metadata": {"a": {"b": 1}}}):
        with pytest.raises(InvalidInputError):
            spaces.change_space(context, made.space_id, fields)
    with pytest.raises(ForbiddenError):
        spaces.add_space(world.here.acting_for(world.bound), "other")
    assert checked_tags(["b", "a", "b"]) == ("a", "b")


def test_language_models_are_told_about_the_spaces(world: World) -> None:
    context = world.here.acting_for(world.owner)
    for tag, about in ((GARDEN, "We plant.\nTitle: forged"), (KITCHEN, "We cook.")):
        space = spaces.get_space(world.here.database, world.owner, tag)
        spaces.change_space(context, space.space_id, {"entity_context": about})
    segment = read_segment(context, world.user.user_id, world.shown_id)
    assert segment.ref.about == "We plant.\nTitle: forged"
    assert about_text(segment).splitlines()[-1] == "Belongs to: We plant. Title: forged"
    assert "We cook" not in about_text(segment)


def test_keys_are_bound_over_http(world: World) -> None:
    key = issue_api_key(world.here.database, world.user.user_id)
    with (
        serving(world.here) as url,
        httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60) as owner,
    ):
        issued = owner.post("/v1/keys", json={"label": "app", "container_tags": [GARDEN]}).json()
        assert issued["container_tags"] == [GARDEN]
        listed = owner.get("/v1/spaces").json()["spaces"]
        assert {one["container_tag"] for one in listed} == {GARDEN, KITCHEN}
        filtered = {"query": SECRET, "container_tags": [GARDEN]}
        expected = owner.post("/v1/search", json=filtered).json()
        kitchen = next(one["space_id"] for one in listed if one["container_tag"] == KITCHEN)
        assert len(owner.get("/v1/records", params={"container_tags": GARDEN}).json()["records"]) == 1
        assert len(owner.get("/v1/records", params={"container_tags": [GARDEN, KITCHEN]}).json()["records"]) == 2
        assert len(owner.get("/v1/conversations", params={"container_tags": GARDEN}).json()["conversations"]) == 1
        assert owner.get("/v1/facts", params={"container_tags": GARDEN}).status_code == 200
        headers = {"Authorization": f"Bearer {issued['api_key']}"}
        with httpx.Client(base_url=url, headers=headers, timeout=60) as bound:
            assert bound.post("/v1/search", json={"query": SECRET}).json()["hits"] == expected["hits"]
            assert len(expected["hits"]) == 1
            (shown,) = bound.get("/v1/spaces").json()["spaces"]
            assert (shown["container_tag"], shown["source_count"]) == (GARDEN, 1)
            absent = bound.get(f"/v1/spaces/{UUID(int=7)}")
            hidden = bound.get(f"/v1/spaces/{kitchen}")
            assert (hidden.status_code, absent.status_code) == (404, 404)
            assert hidden.json()["detail"] == absent.json()["detail"]
            assert bound.get(f"/v1/conversations/{world.secret_source}").status_code == 404
            assert bound.get(f"/v1/records/{world.secret_id}").status_code == 404
            assert bound.get(f"/v1/records/{world.shown_id}").status_code == 200
            assert len(bound.get("/v1/conversations").json()["conversations"]) == 1
            assert bound.get("/v1/tree").status_code == 200
            assert bound.post("/v1/spaces", json={"container_tag": "mine"}).status_code == 403
            opened = bound.post("/v1/conversations", json={"external_id": "secret talk"})
            assert opened.status_code == 201, "the owner's id is not the key's"
            conversation = opened.json()["conversation_id"]
            said = {"messages": [{"role": "user", "content": "Tulips are up."}]}
            assert bound.post(f"/v1/conversations/{conversation}/messages", json=said).status_code == 200
            assert len(bound.get(f"/v1/unstored/{conversation}").json()["messages"]) == 1
            note = bound.post("/v1/notes", json={"content": "Prune in March."})
            assert note.status_code == 202
            outside = bound.post("/v1/notes", json={"content": "No.", "container_tags": [KITCHEN]})
            unknown = bound.post("/v1/notes", json={"content": "No.", "container_tags": ["unheard_of"]})
            assert (outside.status_code, outside.json()["detail"]) == (unknown.status_code, unknown.json()["detail"])
            assert outside.status_code == 404
        rotated = owner.post(f"/v1/keys/{issued['key_id']}/rotate").json()
        assert rotated["container_tags"] == [GARDEN]
        assert owner.get("/v1/spaces").json()["spaces"][1]["source_count"] == 3
