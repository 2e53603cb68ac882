"""Where sources come from and what they replace: stated, shown, versioned, hidden and forgotten."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg.sql import SQL

from neurigraph_pipelines.access.authentication import authenticate
from neurigraph_pipelines.graph import history
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.notes import IncomingNote, OnConflict, write_note
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.inbox.source_lists import get_source
from neurigraph_pipelines.knowledge import reading
from neurigraph_pipelines.knowledge.fact_lists import FactFilter, list_facts
from neurigraph_pipelines.lifecycle.verification import verify
from neurigraph_pipelines.model import (
    Claims,
    IncomingMessage,
    Privacy,
    ReceivedThrough,
    Role,
    Segment,
    SourceKind,
    Summary,
)
from neurigraph_pipelines.model.errors import ConflictError, InvalidInputError, NotFoundError
from neurigraph_pipelines.model.sources import SourceDetails
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.kinds import Channel, DocumentType
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from resources.offline.language_model import OfflineLanguageModel
from tests.support.erasures import RECORD, erase
from tests.support.memories import PlainModel, ingest, new_user, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

SLACK = SourceDetails(
    origin="slack",
    url="https://slack.example/archives/c1",
    channel=Channel.PRIVATE,
    author="Ana",
    metadata={"team": "blue", "replies": 3},
)
_PROSE = "The {0} of the lighthouse is described here in so many words that its part can stand alone. " * 5


class Documents:
    """A user whose documents change."""

    def __init__(self, here: Installation) -> None:
        self.here, self.context = here, plain_context(here)
        self.user, self.claims = new_user(here)

    def upload(self, content: str, **values: Any) -> UUID:
        """Upload a text; it is not read yet."""
        uploads, name = self.here.uploads, values.pop("name", "guide.md")
        return uploads.receive(self.claims, name, [content.encode()], **values).upload_id

    def store(self) -> None:
        self.here.uploads.read_due(self.here.text_extractor, self.user.user_id)
        ingest(self.context, self.user)

    def find(self, query: str, **filters: Any) -> Found:
        return search(self.context.acting_for(self.claims), Question(query, **filters))

    def source(self, upload_id: UUID) -> dict[str, Any]:
        return get_source(self.here.database, self.claims, SourceKind.UPLOAD, upload_id).model_dump()

    def memory(self, record_id: UUID) -> dict[str, Any]:
        return history.record_at(self.here.database, self.claims, record_id).model_dump()

    def successors(self, upload_id: UUID) -> list[UUID | None]:
        """Return by which records those of an upload are superseded, in the order of the text."""
        return [self.memory(one)["superseded_by"] for one in self.records(upload_id)]

    def faults(self) -> list[str]:
        return [one.detail for one in verify(self.here.context, user_id=self.user.user_id).findings]

    def records(self, upload_id: UUID) -> list[UUID]:
        ids: list[UUID] = self.source(upload_id)["record_ids"]
        return sorted(ids, key=lambda one: int(self.memory(one)["first_message"]))


@pytest.fixture
def documents(shared_installation: Installation) -> Documents:
    return Documents(shared_installation)


def guide(*sections: tuple[str, str]) -> str:
    return "\n".join(f"# {title}\n{_PROSE.format(word)}" for title, word in sections)


def sources_of(answer: Found) -> list[dict[str, Any]]:
    return [hit.origin.source.model_dump() for hit in answer.hits]


def test_details_are_shown_everywhere(shared_installation: Installation) -> None:
    here = shared_installation
    context, (user, claims) = plain_context(here), new_user(here)
    inbox = Inbox(here.context)
    with here.database.agent(claims) as tx:
        opened = inbox.open_source(tx, user.user_id, SourceKind.CONVERSATION, external_id="c1", details=SLACK)
        again = inbox.open_source(tx, user.user_id, SourceKind.CONVERSATION, external_id="c1")
        assert again == (opened[0], False)
        source_id = opened[0]
        inbox.append(
            tx, SourceKind.CONVERSATION, source_id, [IncomingMessage(Role.USER, "The cobalt sextant is Ana's.")]
        )
    shown = {
        "origin": "slack",
        "document_type": "conversation",
        "url": "https://slack.example/archives/c1",
        "channel": "private",
        "author": "Ana",
        "metadata": {"team": "blue", "replies": 3},
        "version": 1,
        "replaces": None,
        "updated_at": None,
    }
    asking = context.acting_for(claims)
    assert sources_of(search(asking, Question("cobalt sextant"))) == [shown], "what is not stored yet, too"
    with here.database.agent(claims) as tx:
        inbox.end(tx, SourceKind.CONVERSATION, source_id)
    ingest(context, user)
    answer = search(asking, Question("cobalt sextant"))
    assert sources_of(answer) == [shown]
    listed = get_source(here.database, claims, SourceKind.CONVERSATION, source_id).model_dump()
    assert shown.items() <= listed.items()
    record = history.record_at(here.database, claims, answer.hits[0].key)
    assert record.source.model_dump() == shown
    (cited,) = ask(asking, Question("Whose is the cobalt sextant?")).citations
    assert (cited.origin.source.model_dump(), cited.section) == (shown, None)
    with here.database.agent(claims) as tx, pytest.raises(InvalidInputError, match="the url"):
        inbox.open_source(tx, user.user_id, SourceKind.EVENT, details=SourceDetails(url="javascript:alert(1)"))


def test_new_version_supersedes_the_one_before_by_its_texts(documents: Documents) -> None:
    first = documents.upload(guide(("Lamp", "lamp"), ("Stairs", "stairs")), external_id="guide")
    documents.store()
    answer = documents.find("What of the stairs of the lighthouse?")
    assert {"Stairs", "Lamp"} >= {message.section for message in answer.messages[:1]} != {None}
    reply = ask(documents.context.acting_for(documents.claims), Question("What of the stairs of the lighthouse?"))
    assert reply.citations[0].section == answer.messages[0].section

    changed = guide(("Lamp", "lens"), ("Stairs", "stairs"))
    second = documents.upload(changed, external_id="guide", details=SourceDetails(document_type=DocumentType.PDF))
    assert second != first
    assert documents.upload(changed, external_id="guide") == second, "the same again"
    assert documents.successors(first) == [None], "the new version is not stored yet"
    documents.store()
    (newer,) = documents.records(second)
    assert documents.successors(first) == [newer]
    state = documents.source(second)
    assert (state["version"], state["replaces"], state["external_id"]) == (2, first, "guide")
    assert state["document_type"] == "text", "not what was stated"
    (found,) = documents.find("lighthouse").hits
    assert (found.record_id, found.origin.source.version) == (newer, 2)
    assert found.origin.source.replaces == first

    # What it was before comes back, which is a third version of the same bytes as the first.
    third = documents.upload(guide(("Lamp", "lamp"), ("Stairs", "stairs")), external_id="guide")
    documents.store()
    assert (documents.source(third)["version"], third == first) == (3, False)
    (newest,) = documents.records(third)
    assert documents.successors(second) == [newest]
    assert documents.successors(first) == [newer], "it stays as it was superseded"

    assert documents.faults() == []
    with documents.here.database.owner() as tx:
        tx.execute("UPDATE neurigraph.sources SET version = 9 WHERE source_id = %s", [second])
    assert documents.faults() == ["the source of the record replaces another one than the version before it"]

    # Forgetting the version in the middle leaves no id of it, in no cached layer either.
    assert documents.find("lighthouse").hits[0].origin.source.replaces == second
    erase(documents.here, documents.claims, RECORD, newer)
    assert documents.source(third)["replaces"] is None
    assert documents.find("lighthouse").hits[0].origin.source.replaces is None
    assert documents.memory(newest)["source"]["version"] == 3


class _Willing(PlainModel):
    """Reads what ``PlainModel`` takes for a network's failure."""

    def summarize(self, segment: Segment, words: int) -> Summary:
        return Summary(segment.messages[0].content[:60], " ".join(message.content for message in segment.messages))


def test_older_file_does_not_replace_a_newer_one(documents: Documents) -> None:
    """An export of last year, imported again, is no newer version; a file of a drop place is what lies there now."""
    last_year, today = (SourceDetails(updated_at=datetime(year, 5, 1, tzinfo=UTC)) for year in (2025, 2026))
    documents.upload(guide(("Times", "seven")), external_id="guide", details=last_year)
    newest = documents.upload(guide(("Times", "nine")), external_id="guide", details=today)
    documents.store()
    with pytest.raises(ConflictError, match="last changed on 2025-05-01"):
        documents.upload(guide(("Times", "seven")), external_id="guide", details=last_year)
    documents.store()
    assert {hit.source_id for hit in documents.find("Times").hits} == {newest}
    stated = replace(last_year, replaces=newest)
    undated = documents.upload(guide(("Times", "six")), external_id="guide", details=stated)
    documents.claims = documents.claims.through(ReceivedThrough.DROP)
    dropped = documents.upload(guide(("Times", "five")), external_id="guide", details=last_year)
    assert [documents.source(one)["version"] for one in (undated, dropped)] == [3, 4]


def test_versions_of_many_memories(documents: Documents) -> None:
    """No memory is superseded before all of the next version is stored, and then each by the one that says the same."""
    here = documents.here
    small = here.settings.changed(chunk_watch_tokens=200, chunk_target_tokens=200, chunk_limit_tokens=350)
    documents.context = documents.context.using(settings=small)

    def book(*rooms: str) -> str:
        return "\n".join(f"# {room}\n#Isles/{room} {_PROSE.format(room)}" for room in rooms)

    first = documents.upload(book("Attic", "Bath", "Cellar"), external_id="book")
    documents.store()
    before = documents.records(first)
    assert len(before) >= 3
    second = documents.upload(book("Cellar", "LATER", "Attic"), external_id="book")
    documents.store()
    assert 0 < len(documents.records(second)) < 3
    assert set(documents.successors(first)) == {None}, "a part of the new version waits for the network"
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET next_attempt_at = now() WHERE state = 'pending'")
    documents.context = documents.context.using(language_model=_Willing())
    documents.store()
    said = {documents.memory(one)["node_path"].rpartition("/")[2]: one for one in documents.records(second)}
    by = dict(zip((documents.memory(one)["node_path"] for one in before), documents.successors(first), strict=True))
    of = {path.rpartition("/")[2]: successor for path, successor in by.items()}
    assert (of["Attic"], of["Cellar"]) == (said["Attic"], said["Cellar"]), "by the one with the same text"
    assert of["Bath"] in said.values(), "what is gone is superseded, too"
    assert {hit.source_id for hit in documents.find("lighthouse").hits} == {second}


def assert_foreign_versions_are_refused(graph: SharedGraph, persona: Claims, second: UUID) -> None:
    """Nobody replaces a source of another kind, one that is absent, or one that another handed in."""
    here, inbox = graph.installation, Inbox(graph.installation.context)
    for claims, wanted, kind in (
        (persona, second, SourceKind.CONVERSATION),
        (graph.owners, second, SourceKind.EVENT),
        (graph.owners, uuid4(), SourceKind.CONVERSATION),
    ):
        with here.database.agent(claims) as tx, pytest.raises(NotFoundError):
            inbox.open_source(tx, claims.user_id, kind, details=SourceDetails(replaces=wanted))
    with here.database.agent(persona) as tx, pytest.raises(psycopg.errors.InsufficientPrivilege):
        tx.execute(
            "INSERT INTO neurigraph.sources (user_id, kind, external_id, version, replaces) "
            "VALUES (%s, 'conversation', 'plan', 3, %s)",
            (graph.owner.user_id, second),
        )


def test_versions_of_conversations_and_whose_they_are(shared_installation: Installation) -> None:
    graph = new_shared_graph(shared_installation)
    graph.grant("Work/Marketing", writes=True)
    here, inbox = graph.installation, Inbox(graph.installation.context)
    persona = authenticate(here.database, graph.personas_key())

    def say(claims: Claims, text: str, details: SourceDetails, **values: Any) -> UUID:
        with here.database.agent(claims) as tx:
            source_id, _ = inbox.open_source(tx, claims.user_id, SourceKind.CONVERSATION, details=details, **values)
            inbox.append(tx, SourceKind.CONVERSATION, source_id, [IncomingMessage(Role.USER, text)])
            inbox.end(tx, SourceKind.CONVERSATION, source_id)
        ingest(plain_context(here), graph.owner)
        return source_id

    def seen(claims: Claims, query: str) -> list[tuple[UUID, UUID | None]]:
        hits = search(plain_context(here).acting_for(claims), Question(query)).hits
        return [(hit.source_id, hit.origin.source.replaces) for hit in hits]

    first = say(graph.owners, "#Work/Marketing The ochre plan.", SLACK, external_id="plan", privacy=Privacy.SHARED)
    second = say(graph.owners, "#Work/Marketing The ochre plan, again.", SourceDetails(replaces=first))
    assert seen(graph.owners, "ochre plan")[0] == (second, first)
    with here.database.agent(graph.owners) as tx:
        newest = inbox.open_source(tx, graph.owner.user_id, SourceKind.CONVERSATION, external_id="plan")
        replacing: dict[str, Any] = {"kind": SourceKind.CONVERSATION, "details": SourceDetails(replaces=first)}
        assert newest == inbox.open_source(tx, graph.owner.user_id, **replacing) == (second, False)
        with pytest.raises(InvalidInputError, match="external id of the source that it replaces"):
            inbox.open_source(tx, graph.owner.user_id, external_id="other", **replacing)
    # The persona sees the memory, and replaces only what it handed in itself.
    assert (second, None) in seen(graph.personas, "ochre plan"), "the ids of versions are the owner's"
    assert_foreign_versions_are_refused(graph, persona, second)
    own = say(persona, "#Work/Marketing The sepia plan.", SourceDetails())
    with here.database.agent(graph.owners) as tx, pytest.raises(NotFoundError):  # the owner did not hand it in
        inbox.open_source(tx, graph.owner.user_id, SourceKind.CONVERSATION, details=SourceDetails(replaces=own))
    newer = say(persona, "#Work/Marketing The sepia plan, again.", SourceDetails(replaces=own))
    assert (newer, own) in seen(graph.owners, "sepia plan")
    # What replaces a private source is private.
    set_privacy(here.database, graph.owners, second, Privacy.PRIVATE)
    third = say(graph.owners, "#Work/Marketing The ochre plan, a third time.", SourceDetails(replaces=second))
    assert get_source(here.database, graph.owners, SourceKind.CONVERSATION, third).privacy == "private"
    assert not {second, third} & {source_id for source_id, _ in seen(graph.personas, "ochre plan")}
    count = SQL("SELECT count(*) AS seen FROM neurigraph.sources WHERE source_id = ANY(%(ids)s)")
    assert here.database.ask(graph.personas, count, {"ids": [second, third]})[0]["seen"] == 0


def test_notes_yield_facts_and_show_their_source(shared_installation: Installation) -> None:
    here = shared_installation
    user, claims = new_user(here)
    context = plain_context(here).acting_for(claims)
    note = IncomingNote("#Isles/Tresco Dave rows to Tresco.", title="Rowing", path="Isles", details=SLACK)
    written = write_note(context, note)
    ingest(context, user)
    reading.read_waiting(context, user_id=user.user_id)
    said = rows(here, "SELECT statement FROM neurigraph.facts WHERE user_id = %s", user.user_id)
    assert [one["statement"] for one in said] == [note.text]
    newer = replace(note, text="Dave sails to Tresco.", on_conflict=OnConflict.VERSION)
    assert write_note(context, newer).note_id == written.note_id
    ingest(context, user)
    (hit,) = search(context, Question("Dave Tresco")).hits
    assert (hit.origin.source.version, hit.origin.source.document_type) == (2, "note")
    assert hit.origin.source.url == SLACK.url


def test_facts_of_a_file_are_those_of_its_text(documents: Documents) -> None:
    documents.upload("# Ferry\nBella Brown lives in Porto since 2021.\n", name="ferry of 1987.md")
    documents.upload(" \n", name="nothing said in 1987.txt")
    documents.store()
    rules = documents.context.using(language_model=OfflineLanguageModel(None))
    reading.read_waiting(rules, user_id=documents.user.user_id)
    wanted = FactFilter(who="BELLA brown")
    for one in (wanted, FactFilter()):
        said = list_facts(documents.here.listing(documents.claims), one).items
        assert [fact.statement for fact in said] == ["Bella Brown lives in Porto since 2021."]
    again = reading.choose_days(rules, None, datetime.now(UTC) + timedelta(days=1), documents.user.user_id)
    assert len(again) == 1, "the file that says nothing"
