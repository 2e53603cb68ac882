"""Messages that are not stored yet are found, once, by those who may read them."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import numpy as np
import pytest
from numpy.typing import NDArray
from psycopg.sql import SQL, Composed

from neurigraph_pipelines.database.statements import name_of
from neurigraph_pipelines.graph.provisioning import User
from neurigraph_pipelines.inbox.conversations import Inbox
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.ingestion.detection import detect
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import Claims, ImportedConversation, IncomingMessage, Privacy, Role, SourceKind
from neurigraph_pipelines.model.errors import NotFoundError
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.retrieval.unstored import open_unstored
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from resources.postgres.delegating import DelegatingDatabase
from tests.support.memories import START, WordEmbedder, converse, ingest, new_user, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph


def found_by(here: Installation, claims: Claims, query: str, **more: Any) -> Found:
    return search(plain_context(here).acting_for(claims), Question(query, limit=50, **more))


def waiting(answer: Found) -> list[tuple[UUID, int]]:
    """Return the messages of an answer that are not stored yet, by source and number."""
    return [(one.source_id, one.seq) for one in answer.messages if not one.stored]


def hand_in(here: Installation, claims: Claims, *said: IncomingMessage, ended: bool = False) -> UUID:
    name = uuid4().hex
    with here.database.agent(claims) as tx:
        conversation = ImportedConversation(name, said, ended_at=START if ended else None)
        Inbox(here.context).add_conversations(tx, claims.user_id, [conversation])
    (row,) = rows(here, "SELECT source_id FROM neurigraph.sources WHERE external_id = %s", name)
    source_id: UUID = row["source_id"]
    return source_id


def test_a_message_is_found_before_and_after_it_is_stored(here: Installation) -> None:
    user, claims = new_user(here)
    name = uuid4().hex
    source = converse(here, claims, "#Boats The varnish is amber.", "Amber it is.", external_id=name, ended=False)
    found = found_by(here, claims, "amber varnish")
    (hit,) = found.hits
    assert (hit.record_id, hit.node_id, hit.file_id, hit.stored) == (None, None, None, False)
    assert (hit.source_id, hit.summary) == (source, "#Boats The varnish is amber.")
    assert hit.origin.voices == {"owner": 1, "assistant": 1}
    assert (found.messages[0].seq, found.messages[0].content) == (1, "#Boats The varnish is amber.")
    converse(here, claims, "And the mast is spruce.", first=3, external_id=name, ended=False)
    assert waiting(found_by(here, claims, "spruce mast"))[0] == (source, 3), "a question reads what is new"
    assert [one.seq for one in found_by(here, claims, "mast", speaker="Ana").messages] == []
    for excluding in ({"at": START.replace(year=2099)}, {"node_id": user.root_node_id}):
        assert found_by(here, claims, "spruce mast", **excluding).hits == [], "what has no node and no past"
    opened = open_unstored(here.context.acting_for(claims), source, from_message=2)
    assert [(one.seq, one.content, one.voice) for one in opened.messages] == [
        (2, "Amber it is.", "assistant"),
        (3, "And the mast is spruce.", "owner"),
    ]
    (cited, *_) = ask(plain_context(here).acting_for(claims), Question("spruce mast")).citations
    assert (cited.stored, cited.seq, cited.text) == (False, 3, "And the mast is spruce.")
    converse(here, claims, "Thanks.", first=4, external_id=name)
    ingest(plain_context(here), user)
    (hit,) = found_by(here, claims, "spruce mast").hits
    assert hit.stored
    opened = open_unstored(here.context.acting_for(claims), source)
    assert (opened.messages, opened.record_ids) == ([], [hit.record_id])


def test_the_newest_are_searched_and_the_answer_says_so(here: Installation) -> None:
    _, claims = new_user(here)
    old = hand_in(here, claims, IncomingMessage(Role.USER, "An old heron."), IncomingMessage(Role.USER, "A tern."))
    new = hand_in(here, claims, *(IncomingMessage(Role.USER, f"heron {number}") for number in range(1, 6)))
    context = plain_context(here).using(settings=here.settings.changed(unstored_messages=3)).acting_for(claims)
    found = search(context, Question("heron tern"))
    assert sorted(waiting(found)) == [(new, 3), (new, 4), (new, 5)]
    assert "3" in found.notes[0]
    context = context.using(settings=here.settings.changed(unstored_messages=6))
    assert (old, 2) in waiting(search(context, Question("heron tern")))
    off = context.using(settings=here.settings.changed(unstored_messages=0))
    assert search(off, Question("heron tern")).hits == []


def test_a_message_that_streams_in_is_found_with_its_last_words(here: Installation) -> None:
    _, claims = new_user(here)
    name, inbox = uuid4().hex, Inbox(here.context)

    def send(text: str) -> None:
        part = IncomingMessage(Role.ASSISTANT, text, external_id="m", complete=False)
        with here.database.agent(claims) as tx:
            inbox.add_conversations(tx, claims.user_id, [ImportedConversation(name, (part,))])

    send("The ferry leaves")
    assert found_by(here, claims, "ferry").messages[0].content == "The ferry leaves"
    send("The ferry leaves from Ostend")
    assert found_by(here, claims, "Ostend").messages[0].content == "The ferry leaves from Ostend"
    assert len(found_by(here, claims, "ferry").messages) == 1


def test_many_questions_at_once_index_a_message_once(here: Installation) -> None:
    _, claims = new_user(here)
    hand_in(here, claims, IncomingMessage(Role.USER, "An old heron."))
    embedded: list[str] = []

    class Embedder(WordEmbedder):
        def embed(self, texts: Sequence[str], kind: Literal["document", "query"] = "document") -> NDArray[np.float32]:
            if kind == "document":
                embedded.extend(texts)
                time.sleep(0.2)  # as long as a model takes
            return super().embed(texts, kind)

    context = plain_context(here).acting_for(claims).using(embedder=Embedder())
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda number: search(context, Question(f"heron {number}")), range(8)))
    assert [len(one.messages) for one in found] == [1] * 8
    assert len(embedded) == 1


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def test_others_find_only_what_they_handed_in(graph: SharedGraph) -> None:
    here, word = graph.installation, "quokka"
    owners = hand_in(here, graph.owners, IncomingMessage(Role.USER, f"The {word} is the owner's."))
    granted = graph.grant("Work/Marketing", writes=True)
    graph.grant("Work/Marketing", "Accountant", writes=False)
    bound = replace(graph.personas, key_id=UUID(int=7))
    personas = hand_in(here, bound, IncomingMessage(Role.USER, f"The {word} is the lawyer's.", author="owner"))
    _, strangers = new_user(here)

    def seen(claims: Claims) -> set[UUID]:
        return {source for source, _ in waiting(found_by(here, claims, word))}

    assert seen(graph.owners) == {owners, personas}
    assert seen(bound) == {personas}
    assert seen(graph.third_party("Accountant")) == seen(strangers) == set()
    of_persona = next(one for one in found_by(here, graph.owners, word).messages if one.source_id == personas)
    assert (of_persona.voice, of_persona.author) == ("persona", "Legal (persona)")
    for claims, key_id in ((graph.owners, bound.key_id), (bound, None)):
        origins = {hit.source_id: hit.origin for hit in found_by(here, claims, word).hits}
        assert origins[personas].key_id == key_id, "only the owner sees keys"
    for claims in (bound, graph.third_party("Accountant"), strangers):
        for unseen in (owners, uuid4()):
            with pytest.raises(NotFoundError):
                open_unstored(here.context.acting_for(claims), unseen)
    assert len(open_unstored(here.context.acting_for(bound), personas).messages) == 1
    set_privacy(here.database, graph.owners, personas, Privacy.PRIVATE)
    assert seen(bound) == set(), "made private by the owner"
    set_privacy(here.database, graph.owners, personas, Privacy.SHARED)
    assert seen(bound) == {personas}
    graph.revoke(granted)
    assert seen(bound) == set(), "a persona that may not write any more"
    assert seen(graph.owners) == {owners, personas}


def test_what_a_quarantine_meets_is_not_found(graph: SharedGraph) -> None:
    here = graph.installation
    stolen = replace(graph.owners, key_id=UUID(int=9))
    source = hand_in(here, stolen, IncomingMessage(Role.USER, "Send the axolotl to Mallory."))
    with here.database.agent(graph.owners) as tx:
        Inbox(here.context).append(
            tx, SourceKind.CONVERSATION, source, [IncomingMessage(Role.ASSISTANT, "The axolotl it is.")]
        )
    honest = hand_in(here, graph.owners, IncomingMessage(Role.USER, "An axolotl regrows its legs."))
    everything = {source, honest}
    context = here.context.acting_for(graph.owners)

    def seen() -> set[UUID]:
        return everything & {one for one, _ in waiting(found_by(here, graph.owners, "axolotl"))}

    assert seen() == everything
    held = quarantine(context, QuarantineRule(key_id=UUID(int=9)), "a stolen key")
    assert seen() == {honest}, "with the messages that would become one memory with it"
    with pytest.raises(NotFoundError):
        open_unstored(context, source)
    release(context, held.quarantine_id)
    assert seen() == everything


class StoringDatabase(DelegatingDatabase):
    """A database in which everything is stored between a question's evidence and its layers."""

    def __init__(self, here: Installation, user: User) -> None:
        super().__init__(here.database)
        self.here, self.user = here, user

    def ask(self, claims: Claims | None, statement: SQL | Composed, *values: Any, **options: Any) -> Any:
        if name_of(statement) == "search.layers":
            ingest(plain_context(self.here), self.user)
        return super().ask(claims, statement, *values, **options)


def test_a_message_that_is_stored_during_a_question_is_found_once(here: Installation) -> None:
    user, claims = new_user(here)
    hand_in(here, claims, IncomingMessage(Role.USER, "#Boats A barge."), ended=True)
    ingest(plain_context(here), user)
    hand_in(here, claims, IncomingMessage(Role.USER, "#Boats Another barge.", external_id="new"), ended=True)
    still = hand_in(here, claims, IncomingMessage(Role.USER, "A third barge."))
    context = plain_context(here).using(database=StoringDatabase(here, user)).acting_for(claims)
    found = search(context, Question("barge"))
    assert [one.stored for one in found.messages if one.external_id == "new"] == [True]
    assert waiting(found) == [(still, 1)]
    assert len(found.messages) == 3


def test_segments_may_be_stored_out_of_their_order(here: Installation) -> None:
    """The first segment waits, the second is stored, and the inbox keeps its text: each message is found once."""
    user, claims = new_user(here)
    context = plain_context(here)
    context = context.using(settings=context.settings.changed(inbox_retention_days=1))
    source_id = hand_in(here, claims, IncomingMessage(Role.USER, "#Boats A barge.", external_id="first"), ended=True)
    detect(context)
    with here.database.pipeline() as tx:
        tx.execute("UPDATE neurigraph.storage_triggers SET state = 'failed' WHERE source_id = %s", [source_id])
        (name,) = tx.execute("SELECT external_id FROM neurigraph.sources WHERE source_id = %s", [source_id])
    with here.database.agent(claims) as tx:
        more = IncomingMessage(Role.USER, "#Boats A second barge.", external_id="second")
        Inbox(here.context).add_conversations(
            tx, claims.user_id, [ImportedConversation(name["external_id"], (more,), ended_at=START + timedelta(days=1))]
        )
    ingest(context, user)
    assert {one.external_id: one.stored for one in found_by(here, claims, "barge").messages} == {
        "first": False,
        "second": True,
    }
    assert waiting(found_by(here, claims, "barge")) == [(source_id, 1)]
    assert [one.seq for one in open_unstored(plain_context(here).acting_for(claims), source_id).messages] == [1]


def test_each_message_is_found_once_while_it_is_stored(here: Installation) -> None:
    user, claims = new_user(here)
    known = set[str]()
    wrong, asked, ended = list[Any](), list[int](), threading.Event()

    def watch(own: Installation) -> None:
        context = plain_context(own).acting_for(claims)
        while not ended.wait(0.01):
            expected = set(known)
            found = [one.external_id for one in search(context, Question("barge", message_limit=200)).messages]
            if len(found) > len(set(found)) or not expected <= set(found):
                wrong.append((sorted(expected - set(found)), found))
            asked.append(len(found))

    with Installation(here.settings) as other:
        watchers = [threading.Thread(target=watch, args=(one,)) for one in (here, other)]
        for thread in watchers:
            thread.start()
        try:
            for number in range(6):
                name = f"b{number}"
                message = IncomingMessage(Role.USER, f"#Boats/B{number % 3} Barge {number}.", external_id=name)
                hand_in(here, claims, message, ended=True)
                known.add(name)
                if number % 3 == 2:
                    ingest(plain_context(here), user)
        finally:
            ended.set()
            for thread in watchers:
                thread.join()
    assert not wrong
    assert len(set(asked)) > 1, "they asked meanwhile"
    assert {one.stored for one in found_by(here, claims, "barge").messages} == {True}
