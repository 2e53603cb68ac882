"""Chains of versions and restatements once a part of them is put away, erased, taken back or overtaken."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import httpx
import pytest

from neurigraph_pipelines.access.authentication import authenticate, issue_api_key
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.graph.moving import move_records
from neurigraph_pipelines.lifecycle.quarantine.holding import quarantine, release
from neurigraph_pipelines.lifecycle.quarantine.rules import QuarantineRule
from neurigraph_pipelines.model import GrantType, NodeType, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem
from tests.support.api_server import serving
from tests.support.erasures import NODE, erase
from tests.support.fact_calls import Facts
from tests.support.fact_sums import computed, listed
from tests.support.graphs import new_graph
from tests.support.memories import converse, ingest, plain_context


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=f"{address}/v1", timeout=60) as client:
        yield client


@pytest.fixture
def owner(shared_installation: Installation, client: httpx.Client) -> Facts:
    graph = new_graph(shared_installation)
    return Facts(client, graph, issue_api_key(shared_installation.database, graph.user.user_id))


def with_another_key(owner: Facts) -> tuple[Facts, UUID]:
    """Return the owner with a second key, and the id of that."""
    database = owner.graph.here.database
    key = issue_api_key(database, owner.graph.user.user_id)
    key_id = authenticate(database, key).key_id
    assert key_id is not None
    return Facts(owner.client, owner.graph, key), key_id


def test_versions_in_quarantine_are_not_counted(owner: Facts) -> None:
    graph = owner.graph
    stolen, key_id = with_another_key(owner)
    first = owner.state("Ana lives in Oslo.", path="Family/Ana")
    second = stolen.change(first, statement="Ana lives in Rome.")
    third = owner.change(second, statement="Ana lives in Bonn.")
    said_again = stolen.state("Ana lives in Bonn.", path="Work")
    before = listed(graph.here, graph.claims)
    assert owner.chain(first)[1:] == [("Rome.", 2, "superseded"), ("Bonn.", 3, "active")]

    context = graph.here.acting_for(graph.claims)
    held = quarantine(context, QuarantineRule(key_id=key_id), "a stolen key")
    assert owner.chain(first) == [("Oslo.", 1, "superseded"), ("Bonn.", 2, "active")]
    assert owner.get(first)["superseded_by"] == third
    assert owner.get(third)["said_count"] == 1
    assert owner.current_memories() == ["Ana lives in Bonn."]
    for hidden in (second, said_again):
        assert_problem(owner.client.get(f"/facts/{hidden}", headers=owner.headers), 404)
    assert listed(graph.here, graph.claims) == computed(graph.here, graph.user.user_id)
    with graph.here.database.agent(graph.claims) as tx:
        (seen,) = tx.execute(
            "SELECT array_agg(f.fact_id ORDER BY f.version) AS ids FROM neurigraph.facts AS f"
        ).fetchall()
    assert seen["ids"] == [UUID(first), UUID(third)]
    release(context, held.quarantine_id)
    assert listed(graph.here, graph.claims) == before


@pytest.mark.parametrize("erased", ["fact", "node"])
def test_erasing_a_middle_version_closes_the_chain(owner: Facts, erased: str) -> None:
    first = owner.state("Ana works at Lumen.", path="Family/Ana")
    second = owner.change(first, statement="Ana works at Northwind.")
    third = owner.change(second, statement="Ana works at Acme.")
    assert owner.current_memories() == ["Ana works at Acme."]
    if erased == "fact":
        owner.call("DELETE", f"/{second}")
    else:
        graph = owner.graph
        graph.remember("#Work The door is green.")
        move_records(graph.here.database, graph.claims, [UUID(owner.get(second)["record_id"])], graph.node("Work"))
        erase(graph.here, graph.claims, NODE, graph.node("Work"))
    assert owner.chain(first) == [("Lumen.", 1, "superseded"), ("Acme.", 2, "active")]
    assert owner.get(first)["superseded_by"] == third
    assert owner.current_memories() == ["Ana works at Acme."], "the memory of the first one does not come back"
    owner.call("POST", f"/{third}/retract", 204)
    assert owner.get(first)["status"] == "active"


@pytest.mark.parametrize("erased", ["first", "last"])
def test_version_that_waits_follows_what_is_left(owner: Facts, erased: str) -> None:
    first = owner.state("Ana works at Lumen.", path="Family/Ana")
    second = owner.change(first, statement="Ana works at Northwind.")
    gone, left = (first, "Northwind.") if erased == "first" else (second, "Lumen.")
    waiting = owner.call("PATCH", f"/{gone}", 202, json={"statement": "Ana works at Acme."})
    owner.call("DELETE", f"/{gone}")
    owner.read()
    assert owner.chain(waiting["fact_id"]) == [(left, 1, "superseded"), ("Acme.", 2, "active")]
    assert owner.current_memories() == ["Ana works at Acme."]


def test_taking_a_fact_back_takes_back_what_says_the_same(owner: Facts) -> None:
    graph = owner.graph
    graph.remember("#Boats The keel needs bolts.", "#Boats The mast is of oak.")
    owner.read()
    read = {one["statement"]: one["fact_id"] for one in owner.call("GET", "")["facts"]}["#Boats The keel needs bolts."]
    again = owner.state("#boats the KEEL needs bolts", path="Work")
    assert owner.get(read)["said_count"] == 2
    owner.call("POST", f"/{again}/retract", 204)
    assert owner.listed() == ["#Boats The mast is of oak."], "what says the same is not shown in its place"
    assert owner.get(read)["status"] == "archived"
    owner.call("POST", f"/{again}/confirm", 204)
    assert [owner.get(one)["status"] for one in (read, again)] == ["active", "active"]
    assert owner.get(again)["said_count"] == 2
    changes = owner.call("GET", f"/{read}/history")["changes"]
    assert [(one["operation"], one["authored_by"]) for one in changes] == [
        ("restore", f"user:{graph.user.user_id}"),
        ("retract", f"user:{graph.user.user_id}"),
    ]


def test_taking_back_is_not_counted_for_what_others_may_not_change(owner: Facts) -> None:
    """A persona takes back what it may change; what lies elsewhere stays, and no longer counts the other."""
    graph, database = owner.graph, owner.graph.here.database
    here = owner.state("The keel needs bolts.", path="Boats")
    elsewhere = owner.state("The keel needs bolts.", path="Work/Harbour")
    persona = sharing.add_node(database, graph.claims, graph.user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    subject = Subject(SubjectType.PERSONA, str(persona))
    for path, level in (("Boats", GrantType.READ_WRITE), ("Work/Harbour", GrantType.READ)):
        sharing.grant(database, graph.claims, subject, graph.node(path), level)
    butler = Facts(owner.client, graph, sharing.issue_key(database, graph.claims, subject=subject)[1])
    assert_problem(owner.client.post(f"/facts/{elsewhere}/retract", headers=butler.headers), 403)
    butler.call("POST", f"/{here}/retract", 204)
    for one in (owner, butler):
        assert (one.get(here)["status"], one.get(elsewhere)["status"]) == ("archived", "active")
        assert one.get(elsewhere)["said_count"] == 1
        assert one.get(elsewhere)["canonical_id"] == elsewhere
    owner.call("POST", f"/{elsewhere}/retract", 204)
    assert owner.listed() == []


def test_what_was_said_before_it_was_taken_back_does_not_come_back(owner: Facts) -> None:
    graph = owner.graph
    context, words = plain_context(graph.here), "The keel needs bolts."
    graph.remember(words)
    owner.read()
    (read,) = (one["fact_id"] for one in owner.call("GET", "")["facts"])
    converse(graph.here, graph.claims, words, first=61)  # said, and even stored, but not read yet
    stated = owner.call("POST", "", 202, json={"statement": "the keel needs bolts", "path": "Work"})["fact_id"]
    ingest(context, graph.user)
    owner.call("POST", f"/{read}/retract", 204)
    owner.read()
    assert owner.listed() == []
    assert owner.get(stated)["status"] == "archived"
    (change,) = owner.call("GET", f"/{stated}/history")["changes"]
    assert (change["operation"], change["authored_by"]) == ("retract", "pipeline:facts")

    again = owner.state("The KEEL needs bolts", path="Work/Harbour")
    assert owner.listed() == ["The KEEL needs bolts"], "said after it was taken back: a new fact"
    owner.call("POST", f"/{read}/confirm", 204)
    assert [owner.get(one)["status"] for one in (read, stated, again)] == ["active"] * 3
    assert owner.get(again)["said_count"] == 4


def test_what_a_persona_took_back_stays_elsewhere(owner: Facts) -> None:
    graph, database = owner.graph, owner.graph.here.database
    here = owner.state("The keel needs bolts.", path="Boats")
    persona = sharing.add_node(database, graph.claims, graph.user.root_node_id, "Butler", node_type=NodeType.PERSONA)
    subject = Subject(SubjectType.PERSONA, str(persona))
    sharing.grant(database, graph.claims, subject, graph.node("Boats"), GrantType.READ_WRITE)
    butler = Facts(owner.client, graph, sharing.issue_key(database, graph.claims, subject=subject)[1])
    places = {"Boats": {"path": "Boats"}, "Work": {"path": "Work"}, "private": {"path": "Boats", "privacy": "private"}}
    said = {
        name: owner.call("POST", "", 202, json={"statement": f"THE KEEL needs bolts{stop}", **place})
        for stop, (name, place) in zip((".", "!", " ."), places.items(), strict=True)
    }
    butler.call("POST", f"/{here}/retract", 204)
    owner.read()
    assert {path: owner.get(one["fact_id"])["status"] for path, one in said.items()} == {
        "Boats": "archived",
        "Work": "active",
        "private": "active",
    }
