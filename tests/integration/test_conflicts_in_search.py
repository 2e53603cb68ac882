"""Searches and answers say what the messages they show was updated or is contradicted by, and show the newer first."""

from __future__ import annotations

from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.inbox.privacy import set_privacy
from neurigraph_pipelines.model import Claims, NodeType, Privacy, SubjectType
from neurigraph_pipelines.retrieval import changed
from neurigraph_pipelines.retrieval.ask import ask
from neurigraph_pipelines.retrieval.index.caches import Conflicting, caches_of
from neurigraph_pipelines.retrieval.query.question import Question
from neurigraph_pipelines.retrieval.query.search import search
from neurigraph_pipelines.views.search import Found
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http, owners_key, text_of
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, stored
from tests.support.told_people import People

_SAID = ("The user has learned 8 accordion tunes.", "The user has now learned 12 accordion tunes.")
_NOTE = (
    "Perhaps outdated: 2024-01-01 “The user has learned 8 accordion tunes”; "
    "2024-01-10 “The user has now learned 12 accordion tunes”."
)
_ABOUT_THE_FIRST = Question("accordion waltz polka spring", limit=10)
"""Words of the earlier message, which is therefore found first."""


@pytest.fixture
def people(shared_installation: Installation) -> People:
    return People(shared_installation, setting="flag")


def _told(people: People) -> list[tuple[UUID, UUID]]:
    """Store two conversations with a statement each, and return their sources and records."""
    told = []
    for words in (
        "#Music In spring I learned the waltz and the polka on the accordion.",
        "#Music The accordion again.",
    ):
        source_id = converse(people.here, people.claims, words)
        (record,) = stored(ingest(people.context, people.user))
        told.append((source_id, record.record_id))
    for number, (_, record_id) in enumerate(told):
        people.tell(record_id, _SAID[number], 9 * number)
    return told


def _found(people: People, claims: Claims) -> Found:
    return search(people.context.acting_for(claims), _ABOUT_THE_FIRST)


def _butler(people: People) -> Claims:
    """Make a persona that sees the node of both conversations."""
    database, root = people.here.database, people.user.root_node_id
    persona = sharing.add_node(database, people.claims, root, "Butler", node_type=NodeType.PERSONA)
    (row,) = people.rows("SELECT node_id FROM neurigraph.graph_index WHERE user_id = %s AND node_name = 'Music'")
    sharing.grant(database, people.claims, sharing.Subject(SubjectType.PERSONA, str(persona)), row["node_id"])
    return Claims(sub=str(persona), role="persona", user_id=people.user.user_id)


def test_newer_statement_comes_first_with_both_in_a_note(people: People) -> None:
    (_, earlier), (_, later) = _told(people)
    assert people.reconcile().flagged == 1
    found = _found(people, people.claims)
    assert [one.record_id for one in found.messages] == [later, earlier]
    assert found.messages[0].score < found.messages[1].score  # it took the place of the better one
    assert found.notes == [_NOTE]
    assert ask(people.context.acting_for(people.claims), _ABOUT_THE_FIRST).notes.count(_NOTE) == 1


def test_one_who_sees_one_side_learns_nothing_of_the_other(people: People) -> None:
    _, (source_id, later) = told = _told(people)
    assert people.reconcile().flagged == 1
    butler = _butler(people)
    assert _found(people, butler).notes == [_NOTE]
    set_privacy(people.here.database, people.claims, source_id, Privacy.PRIVATE)
    hidden = _found(people, butler)
    assert [one.record_id for one in hidden.messages] == [told[0][1]]
    assert str(later) not in str(hidden)
    assert hidden.notes == []


def test_verdict_that_was_taken_back_is_not_told(people: People) -> None:
    _told(people)
    assert people.reconcile().flagged == 1
    with people.here.database.pipeline() as tx:
        query = "UPDATE neurigraph.fact_verdicts SET undone_at = now(), undone_by = 'test' WHERE user_id = %s"
        tx.execute(query, [people.user.user_id])
    assert _found(people, people.claims).notes == []


def test_messages_with_conflicts_are_known(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {str(record_id) for _, record_id in _told(people)}
    assert _found(people, people.claims).notes == []
    assert caches_of(people.here.database).watches.peek(Conflicting, people.claims) is None  # nothing to look up
    assert people.reconcile().flagged == 1
    assert _found(people, people.claims).notes == [_NOTE]
    known = caches_of(people.here.database).watches
    found = known.peek(Conflicting, people.claims)
    assert found is not None
    assert (set(found.stated), found.are_all) == (expected, True)
    assert all(1 <= first <= last for ranges in found.stated.values() for first, last in ranges)
    assert known.peek(Conflicting, _butler(people)) is None  # what one caller sees is not what another sees
    known.drop(Conflicting, people.claims)
    monkeypatch.setattr(changed, "MOST_KNOWN", 1)
    assert _found(people, people.claims).notes == [_NOTE]
    found = known.peek(Conflicting, people.claims)
    assert found is not None
    assert not found.are_all  # there may be more of them


def test_every_face_tells(people: People) -> None:
    _told(people)
    assert people.reconcile().flagged == 1
    key = owners_key(people.here, people.user)
    headers = {"Authorization": f"Bearer {key}"}
    with serving(people.here) as base:
        body = {"query": _ABOUT_THE_FIRST.query}
        for route in ("search", "ask"):
            answer = httpx.post(f"{base}/v1/{route}", json=body, headers=headers, timeout=60.0)
            assert _NOTE in answer.json()["notes"], route
        for result in (
            call_over_http(base, key, "search_memory", query=body["query"]),
            call_over_http(base, key, "get_context", query=body["query"], answer=True),
        ):
            assert "12 accordion tunes" in text_of(result)
