"""Notes: writing them, where they lie, what happens if two meet, and who may pin them where."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.graph.history import history
from neurigraph_pipelines.graph.reshaping import merge_nodes, rename_node
from neurigraph_pipelines.inbox import triggers
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, write_note
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.lifecycle.erasure.forget import forget
from neurigraph_pipelines.lifecycle.erasure.receipts import ErasureSubject, SubjectKind
from neurigraph_pipelines.model import Claims, IncomingMessage, Privacy, ReceivedThrough, Role, SourceKind, TriggerType
from neurigraph_pipelines.model.context import Context
from neurigraph_pipelines.model.errors import ConflictError, ForbiddenError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES, MAX_TAG_LENGTH, MAX_TAGS, MAX_TITLE_LENGTH
from neurigraph_pipelines.retrieval.open import file_of_record, open_message
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.inbox import Note
from neurigraph_pipelines.wiring.installation import Installation
from resources.redaction import PatternRedactor
from tests.support.memories import converse, ingest, new_user, node_rows, plain_context, rows, stored
from tests.support.shared_graph import SharedGraph, new_shared_graph


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    """A graph with a persona that may write to ``Work/Marketing``."""
    graph = new_shared_graph(shared_installation)
    graph.grant("Work/Marketing", writes=True)
    return graph


def acting(graph: SharedGraph, claims: Claims | None = None) -> Context:
    return plain_context(graph.installation).acting_for(claims or graph.owners)


def write(graph: SharedGraph, text: str, claims: Claims | None = None, **options: Any) -> Note:
    return write_note(acting(graph, claims), IncomingNote(text, **options))


def store(graph: SharedGraph) -> list[UUID]:
    return [record.record_id for record in stored(ingest(plain_context(graph.installation), graph.owner))]


def record(graph: SharedGraph, path: str, record_id: UUID) -> dict[str, Any]:
    """Return a record as it lies in the node at a path."""
    (schema,) = rows(
        graph.installation,
        "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s",
        graph.node(path),
    )
    query = "SELECT * FROM {schema}.metadata_records WHERE record_id = %s"
    (found,) = node_rows(graph.installation, schema["schema_name"], query, record_id)
    return found


def hits(graph: SharedGraph, query: str, claims: Claims | None = None) -> list[UUID]:
    return [hit.key for hit in search(acting(graph, claims), Question(query)).hits]


def test_pinned_note_lies_where_it_was_pinned(graph: SharedGraph) -> None:
    here = graph.installation
    written = write(
        graph,
        "#Family The wifi word is kumquat.",
        title="Wifi",
        path="Home/Network",
        priority=9,
        tags=("kumquats", "Testing", "testing"),
    )
    assert (written.created, written.version, written.node_id) == (True, 1, graph.node("Home/Network"))
    (record_id,) = store(graph)
    found = record(graph, "Home/Network", record_id)
    assert (found["title"], found["source_id"], found["source_kind"]) == ("Wifi", written.note_id, "note")
    assert (found["content_type"], found["trigger_type"]) == ("note", "event_boundary")
    assert found["importance"] == pytest.approx(0.9)
    assert found["kw_topics"] == ["kumquats", "Testing"], "tags first, each once"
    assert hits(graph, "kumquat")[0] == record_id
    file_id = file_of_record(here.database, graph.owners, record_id)
    assert open_message(acting(graph), file_id, 1).content == "#Family The wifi word is kumquat."
    unpinned = write(graph, "#Family/Dave Dave likes kumquats.")
    (other,) = store(graph)
    assert record(graph, "Family/Dave", other)["source_id"] == unpinned.note_id
    assert record(graph, "Family/Dave", other)["importance"] is None
    with pytest.raises(InvalidInputError, match="layer 5"):
        write(graph, "Too deep.", path="Home/Network/a/b/c/d")
    with pytest.raises(NotFoundError):
        graph.node("Home/Network/a")
    assert rows(here, "SELECT FROM neurigraph.pipeline_failures WHERE user_id = %s", graph.owner.user_id) == []


def test_pin_follows_its_node(graph: SharedGraph) -> None:
    here = graph.installation
    write(graph, "The lawn is mown on Fridays.", path="Garden/Lawn")
    rename_node(here.database, graph.owners, graph.node("Garden"), "Yard")
    write(graph, "The hedge is cut in June.", path="Yard/Hedge")
    merge_nodes(here.database, graph.owners, graph.node("Yard/Hedge"), graph.node("Yard/Lawn"))
    lawn = store(graph)
    assert len(lawn) == 2
    assert all(record(graph, "Yard/Lawn", record_id) for record_id in lawn)
    lost = write(graph, "The shed is green.", path="Yard/Shed")
    subject = ErasureSubject(SubjectKind.NODE, graph.node("Yard/Shed"))
    forget(acting(graph), subject, through="test")
    assert store(graph) == [], "it is filed nowhere else"
    (failure,) = rows(
        here,
        """SELECT f.error FROM neurigraph.pipeline_failures AS f
        INNER JOIN neurigraph.storage_triggers AS t ON f.trigger_id = t.trigger_id WHERE t.source_id = %s""",
        lost.note_id,
    )
    assert "no longer exists" in failure["error"]


def test_same_note_is_written_once(graph: SharedGraph) -> None:
    first = write(graph, "The key is under the mat.", title="Key", path="Family")
    assert write(graph, "The key is under the mat.", title="Key", path="Family") == first.model_copy(
        update={"created": False}
    )
    (record_id,) = store(graph)
    again = write(graph, "The key is under the mat.", title=" Key ", path="family", on_conflict=OnConflict.SUPERSEDE)
    assert again == first.model_copy(update={"created": False, "record_ids": [record_id]}), (
        "also once it is stored, whatever happens to others"
    )
    assert store(graph) == []
    elsewhere = write(graph, "The key is under the mat.", title="Key", path="Work")
    private = write(graph, "The key is under the mat.", title="Key", path="Garage", privacy=Privacy.PRIVATE)
    assert len({first.note_id, elsewhere.note_id, private.note_id}) == 3
    personas = write(graph, "The key is under the mat.", graph.personas)
    assert personas.created, "each writer has notes of their own"
    forget(acting(graph), ErasureSubject(SubjectKind.RECORD, record_id), through="test")
    assert write(graph, "The key is under the mat.", title="Key", path="Family").created, "what was forgotten is new"


@pytest.mark.parametrize("waits", [False, True], ids=["stored", "waiting"])
def test_notes_that_meet(graph: SharedGraph, waits: bool) -> None:
    here = graph.installation
    first = write(graph, "The tea is in the tin.", title="Tea", path="Family")
    old = None if waits else store(graph)[0]
    with pytest.raises(ConflictError, match=f"note {first.note_id}" if waits else f"record {old}"):
        write(graph, "The tea is in the jar.", title="Tea", path="Family")
    assert write(graph, "Black tea.", title="Tea", path="Work").replaces is None, "at another node it is another note"

    version = write(graph, "The tea is in the jar.", title="Tea", path="Family", on_conflict=OnConflict.VERSION)
    assert (version.note_id, version.version, version.replaces) == (first.note_id, 2, first.note_id)
    successor = write(graph, "The tea is in the sack.", title="Tea", path="Family", on_conflict=OnConflict.SUPERSEDE)
    assert successor.note_id != first.note_id
    assert (successor.version, successor.replaces) == (1, first.note_id)
    store(graph)
    of_source = {
        (row["source_id"], row["first_message"]): row
        for row in node_rows(here, _schema(graph, "Family"), "SELECT * FROM {schema}.metadata_records")
        if row["source_kind"] == "note"
    }
    tin, jar, sack = (of_source[key] for key in ((first.note_id, 1), (first.note_id, 2), (successor.note_id, 1)))
    assert (tin["superseded_by"], jar["superseded_by"]) == (jar["record_id"], sack["record_id"])
    assert sack["superseded_by"] is None
    assert sack["record_id"] in hits(graph, "tea sack")
    assert not {tin["record_id"], jar["record_id"]} & set(hits(graph, "tea tin jar"))
    delta = history(here.database, graph.owners, tin["record_id"])[0]
    assert (delta.operation, delta.authored_by) == ("supersede", f"user:{graph.owner.user_id}")
    back = write(graph, "The tea is in the tin.", title="Tea", path="Family", on_conflict=OnConflict.VERSION)
    assert (back.created, back.note_id, back.version) == (True, successor.note_id, 2), "an old text can come back"
    (newest,) = store(graph)
    forget(acting(graph), ErasureSubject(SubjectKind.RECORD, newest), through="test")
    assert record(graph, "Family", sack["record_id"])["superseded_by"] is None, "the one before stands again"


def test_versions_are_stored_in_any_order(graph: SharedGraph) -> None:
    """The first version fails for now; the second is stored before it."""
    first = write(graph, "LATER the boat is blue.", title="Boat", path="Family")
    write(graph, "The boat is red.", title="Boat", path="Family", on_conflict=OnConflict.VERSION)
    (red,) = store(graph)
    assert record(graph, "Family", red)["superseded_by"] is None
    with graph.installation.database.pipeline() as tx:
        tx.execute(
            "UPDATE neurigraph.messages SET content = 'The boat is blue.' WHERE source_id = %s AND seq = 1",
            [first.note_id],
        )
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() WHERE state = 'pending'")
    (blue,) = store(graph)
    assert record(graph, "Family", blue)["superseded_by"] == red
    assert record(graph, "Family", red)["superseded_by"] is None


def test_note_is_not_held_up_by_conversations(graph: SharedGraph) -> None:
    """The event sensor leases it, whatever waits for the sensors of conversations."""
    here = graph.installation
    for number in range(5):
        converse(here, graph.owners, f"Long talk {number}.")
    note = write(graph, "Buy milk.")
    detect(here.context)
    batch = triggers.lease_due(here.context, "event", graph.owner.user_id, TriggerType.EVENT_BOUNDARY)
    assert batch is not None
    assert [ref.source_id for ref in triggers.segments_of(here.database, batch.batch_id)] == [note.note_id]
    triggers.release(here.database, batch.batch_id)
    assert len(store(graph)) == 6


def test_others_pin_only_where_they_may_write(graph: SharedGraph) -> None:
    here = graph.installation
    _, mallory = new_user(here)
    refused: list[str] = []
    for claims, place in (
        (graph.personas, {"path": "Family/Dave"}),
        (graph.personas, {"node_id": graph.node("Family/Dave")}),
        (graph.personas, {"path": "Legal"}),  # hers to read
        (graph.personas, {"path": "Marketing/New"}),
        (graph.personas, {"path": "No/Such"}),
        (graph.personas, {"node_id": uuid4()}),
        (mallory, {"node_id": graph.node("Family/Dave")}),
        (mallory, {"node_id": uuid4()}),
    ):
        with pytest.raises(NotFoundError) as error:
            write(graph, "Planted.", claims, **place)
        refused.append(str(error.value))
    assert len(set(refused)) == 1, "hidden, closed and absent are one answer"
    with pytest.raises(ForbiddenError):
        write(graph, "Planted.", graph.third_party("gmail"))
    assert (
        rows(here, "SELECT FROM neurigraph.notes WHERE user_id IN (%s, %s)", graph.owner.user_id, mallory.user_id) == []
    )

    mine = write(graph, "The campaign is green.", graph.personas, path="Marketing", title="Colour")
    (record_id,) = store(graph)
    found = record(graph, "Work/Marketing", record_id)
    assert (found["source_id"], found["persona_id"]) == (mine.note_id, graph.persona_id)
    assert list(search(acting(graph), Question("campaign green")).hits[0].origin.voices) == ["persona"]
    with pytest.raises(ConflictError, match="another writer"):
        write(graph, "It is blue.", path="Work/Marketing", title="Colour", on_conflict=OnConflict.VERSION)
    blue = write(graph, "It is blue.", path="Work/Marketing", title="Colour", on_conflict=OnConflict.SUPERSEDE)
    assert blue.replaces == mine.note_id


def test_database_refuses_a_pin(graph: SharedGraph) -> None:
    """Whatever a face lets through: the row of a note names no node that its writer may not write to."""
    here = graph.installation
    _, mallory = new_user(here)
    inbox, pin = Inbox(here.context), statements("notes")["insert_note"]
    for claims, path, is_open in (
        (graph.personas, "Work/Marketing", True),
        (graph.personas, "Work/Legal", False),
        (mallory, "Work/Marketing", False),
    ):
        values: dict[str, Any] = {
            "node_id": graph.node(path),
            "importance": None,
            "tags": [],
            "replaces": None,
            "digest": bytes(32),
            "fact": None,
            "follows": None,
        }
        with here.database.agent(claims) as tx:
            source_id, _ = inbox.open_source(tx, claims.user_id, SourceKind.NOTE)
            inbox.append(tx, SourceKind.NOTE, source_id, [IncomingMessage(Role.USER, "Planted.")])
            with nullcontext() if is_open else pytest.raises(psycopg.errors.InsufficientPrivilege):
                assert tx.execute(pin, {**values, "source_id": source_id}).fetchone() == {"message": 1}
            tx.rollback()


def test_grant_that_ended_stores_nothing(graph: SharedGraph) -> None:
    grant = graph.grant("Family/Dave", writes=True)
    note = write(graph, "Dave is a spy.", graph.personas, path="Dave")
    graph.revoke(grant)
    assert store(graph) == []
    (state,) = rows(
        graph.installation, "SELECT state FROM neurigraph.storage_triggers WHERE source_id = %s", note.note_id
    )
    assert state["state"] == "failed"


def test_private_note_is_the_owners(graph: SharedGraph) -> None:
    write(graph, "The ring is a quagmire.", path="Work/Marketing", title="Ring", privacy=Privacy.PRIVATE)
    (record_id,) = store(graph)
    assert hits(graph, "quagmire")[0] == record_id
    assert record_id not in hits(graph, "quagmire", graph.personas)
    theirs = write(graph, "A ring.", graph.personas, path="Marketing", title="Ring")
    assert theirs.replaces is None, "the title of a hidden note conflicts with nothing"
    shared = write(graph, "The hat is felt.", path="Family", title="Hat")
    with pytest.raises(ConflictError, match="shared"):
        write(
            graph,
            "The hat is stolen.",
            path="Family",
            title="Hat",
            on_conflict=OnConflict.VERSION,
            privacy=Privacy.PRIVATE,
        )
    assert shared.created


def test_importance_decides_between_equals(graph: SharedGraph) -> None:
    """Of equal records the newest comes first. What a persona says of its own notes lifts none."""
    for claims, path, text in (
        (None, "Harbour", "The ferry takes cyclists."),
        (graph.personas, "Marketing", "A yacht."),
    ):
        first = write(graph, text, claims, path=path, title="Going north", importance=1.0)
        last = write(graph, text, claims, path=path, title="Going south", importance=0.0)
        store(graph)
        answer = search(acting(graph), Question(text))
        order = [hit.source_id for hit in answer.hits if hit.title.startswith("Going")][:2]
        expected = [first, last] if claims is None else [last, first]
        assert order == [note.note_id for note in expected]


def test_voice_of_a_note_follows_its_door(graph: SharedGraph) -> None:
    write(graph, "The owner likes persimmons.", graph.owners.through(ReceivedThrough.CLI))
    write(graph, "The model noticed a tamarillo.", graph.owners.through(ReceivedThrough.MCP))
    store(graph)
    for word, voice, door in (("persimmons", "owner", "cli"), ("tamarillo", "assistant", "mcp")):
        origin = search(acting(graph), Question(word)).hits[0].origin
        assert (list(origin.voices), origin.received_through) == ([voice], door)


def test_redaction_covers_all_texts_of_a_note(graph: SharedGraph) -> None:
    context = acting(graph).using(redactor=PatternRedactor(["email"]))
    mail = "joan@example.org"
    note = IncomingNote(f"Write to {mail}.", title=f"Mail {mail}", path="Family", tags=(mail,))
    first = write_note(context, note)
    assert first.redacted == {"email": 1}
    assert write_note(context, note) == first.model_copy(update={"created": False, "redacted": {}})
    stored_rows = rows(
        graph.installation,
        """SELECT n.tags::text || s.title || m.content AS said FROM neurigraph.notes AS n
        INNER JOIN neurigraph.sources AS s ON n.source_id = s.source_id
        INNER JOIN neurigraph.messages AS m ON n.source_id = m.source_id WHERE n.source_id = %s""",
        first.note_id,
    )
    assert mail not in stored_rows[0]["said"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"text": " \n"}, "needs a text"),
        ({"text": "x" * 1_048_577}, "the limit is 1,048,576"),
        ({"title": "x" * 257}, "the limit is 256"),
        ({"tags": ("x",) * (MAX_TAGS + 1)}, "the limit is 32"),
        ({"tags": ("x" * 65,)}, "the limit is 64"),
        ({"tags": ("x" * 121,)}, "a tag"),
        ({"importance": 1.5}, "between 0 and 1"),
        ({"importance": float("nan")}, "between 0 and 1"),
        ({"priority": 0}, "between 1 and 10"),
        ({"priority": 5, "importance": 0.5}, "not both"),
        ({"path": "Family", "node_id": uuid4()}, "not both"),
        ({"path": "Family/\u200b"}, "visible character"),
        ({"title": "T", "on_conflict": OnConflict.VERSION}, "a title and a node"),
        ({"path": "Family", "on_conflict": OnConflict.SUPERSEDE}, "a title and a node"),
    ],
)
def test_bad_note_is_refused(here: Installation, options: dict[str, Any], says: str) -> None:
    _, claims = new_user(here)
    with pytest.raises(InvalidInputError, match=says):
        write_note(here.acting_for(claims), IncomingNote(**{"text": "Fine.", **options}))
    assert write_note(here.acting_for(claims), IncomingNote("Fine.")).created


def test_largest_note_is_taken(here: Installation) -> None:
    _, claims = new_user(here)
    tags = tuple(f"{number:02d}".ljust(MAX_TAG_LENGTH, "x") for number in range(MAX_TAGS))
    text = "word " * (MAX_CONTENT_BYTES // 5) + "x"
    assert len(text) == MAX_CONTENT_BYTES
    assert write_note(here.acting_for(claims), IncomingNote(text, title="t" * MAX_TITLE_LENGTH, tags=tags)).created


def _schema(graph: SharedGraph, path: str) -> str:
    (row,) = rows(
        graph.installation, "SELECT schema_name FROM neurigraph.graph_index WHERE node_id = %s", graph.node(path)
    )
    schema: str = row["schema_name"]
    return schema
