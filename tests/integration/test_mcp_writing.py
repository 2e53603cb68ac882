"""The tools of MCP that write and forget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from mcp import Client

from neurigraph_pipelines.database.statements import statements
from neurigraph_pipelines.exchange import sharing
from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.knowledge.fact_values import FactWords
from neurigraph_pipelines.knowledge.reading import read_waiting
from neurigraph_pipelines.knowledge.stating import NewFact, confirm, state_fact
from neurigraph_pipelines.model import Claims, SubjectType
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import call_over_http, failure, found, over_http, owner_of, owners_key
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context, rows
from tests.support.shared_graph import SharedGraph, new_shared_graph

STATED = "SELECT fact_id, record_id FROM neurigraph.facts WHERE extractor = 'stated'"


@pytest.fixture(scope="module")
def address(shared_installation: Installation) -> Iterator[str]:
    with serving(shared_installation) as base:
        yield base


@pytest.fixture(scope="module")
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def test_notes_are_remembered_as_what_an_assistant_wrote(address: str, here: Installation) -> None:
    user, key = owner_of(here, "#Seats Something about seats.")
    note = {"content": "Bob prefers aisle seats.", "title": "Seats", "path": "Travel/Planes", "tags": '["travel"]'}

    async def write(client: Client) -> dict[str, Any]:
        written = found(await client.call_tool("remember", note))
        again = found(await client.call_tool("remember", note))
        assert (written["created"], again["created"]) == (True, False)
        assert (written["note_id"], []) == (again["note_id"], again["record_ids"])
        other = note | {"content": "Bob prefers window seats."}
        assert "on_conflict" in failure(await client.call_tool("remember", other))
        assert "on_conflict: " in failure(await client.call_tool("remember", note | {"on_conflict": "maybe"}))
        assert "not found" in failure(await client.call_tool("remember", {"content": "x", "node_id": str(uuid4())}))
        assert "not both" in failure(
            await client.call_tool("remember", {"content": "x", "path": "Travel", "node_id": written["node_id"]})
        )
        return written

    written = over_http(address, key, write)
    ingest(plain_context(here), user)

    async def read(client: Client) -> None:
        (hit, *_) = found(await client.call_tool("search_memory", {"query": "aisle"}))["hits"]
        assert (hit["node_id"], hit["said_by"]) == (written["node_id"], ["assistant"])
        again = found(await client.call_tool("remember", note))
        assert (again["created"], again["record_ids"]) == (False, [hit["record_id"]])
        (message,) = found(await client.call_tool("open_memory", {"record_id": hit["record_id"]}))["messages"]
        assert message["content"] == note["content"]
        shown = found(await client.call_tool("memory_history", {"record_id": hit["record_id"], "at": "2190-01-01"}))
        assert shown["version"]["received_through"] == "mcp"

    over_http(address, key, read)


def test_reader_may_not_write(address: str, graph: SharedGraph) -> None:
    persona = graph.personas_key()
    assert "may only read" in failure(call_over_http(address, persona, "remember", content="The law has changed."))
    graph.grant("Work/Legal", writes=True)
    assert found(call_over_http(address, persona, "remember", content="The law has changed."))["created"]


def test_superseding_and_undoing(address: str, here: Installation) -> None:
    _, key = owner_of(here, "#Move I live in Oslo.", "#Moved I live in Bergen now.")

    async def session(client: Client) -> None:
        hits = found(await client.call_tool("search_memory", {"query": "live Oslo Bergen"}))["hits"]
        old = next(hit["record_id"] for hit in hits if "Oslo" in hit["summary"])
        new = next(hit["record_id"] for hit in hits if "Bergen" in hit["summary"])
        for _ in range(2):
            assert found(await client.call_tool("supersede", {"record_id": old, "by": new}))["superseded_by"] == new
        left = found(await client.call_tool("search_memory", {"query": "live Oslo Bergen"}))["hits"]
        assert [hit["record_id"] for hit in left] == [new]
        assert found(await client.call_tool("open_memory", {"record_id": old}))["superseded_by"] == new
        assert "cannot supersede itself" in failure(await client.call_tool("supersede", {"record_id": new, "by": new}))
        found(await client.call_tool("supersede", {"record_id": old[:13], "by": None}))
        again = found(await client.call_tool("search_memory", {"query": "live Oslo Bergen"}))["hits"]
        assert {hit["record_id"] for hit in again} == {old, new}
        operations = found(await client.call_tool("memory_history", {"record_id": old[:13]}))["deltas"]
        assert [delta["operation"] for delta in operations] == ["restore", "supersede", "create"]
        paged, asked = [], {"record_id": old, "limit": 1}
        while asked.get("cursor", "") is not None:
            page = found(await client.call_tool("memory_history", asked))
            paged += page["deltas"]
            asked["cursor"] = page["next_cursor"]
        assert paged == operations
        then = await client.call_tool("memory_history", {"record_id": old, "at": operations[1]["changed_at"]})
        assert found(then)["version"]["superseded_by"] == new

    over_http(address, key, session)


def test_stated_fact_weighs_as_an_assistants(address: str, here: Installation) -> None:
    user, key = owner_of(here, "#Homes Something about homes.")
    context = plain_context(here)
    by_hand = state_fact(context.acting_for(Claims.of_user(user.user_id)), NewFact(FactWords("Ana lives in Porto.")))
    said = {"statement": "Ana lives in Lisbon.", "who": '["Ana"]', "path": "Homes"}

    async def write(client: Client) -> UUID:
        stated, again = [found(await client.call_tool("state_fact", said)) for _ in range(2)]
        assert (stated["done"], again["done"], again["fact_id"]) == ("stated", "known", stated["fact_id"])
        assert "not found" in failure(await client.call_tool("state_fact", {"retract": str(uuid4())}))
        for wrong in ({}, {"statement": "Ana sings.", "retract": stated["fact_id"]}):
            assert "give a statement, or" in failure(await client.call_tool("state_fact", wrong))
        return UUID(stated["fact_id"])

    fact_id = over_http(address, key, write)
    ingest(context, user)
    read_waiting(context, user_id=user.user_id)
    weights = {}
    for one in rows(here, f"{STATED} AND user_id = %s", user.user_id):
        asked = {"user_id": user.user_id, "record_id": one["record_id"], "owns": False, "predicates": None}
        query = statements("verdicts")["to_compare"]
        with here.database.pipeline() as tx:
            (row,) = tx.execute(
                query, asked | {"limit": 10, "undated": [], "subjects": None, "firsts": None, "who": []}
            ).fetchall()
        weights[one["fact_id"]] = row["authority"]
    assert weights == {by_hand.fact_id: "by_hand", fact_id: "assistant"}

    async def take_back(client: Client) -> None:
        shown = found(await client.call_tool("memory_facts", {"fact_id": str(fact_id)}))
        assert (shown["facts"][0]["statement"], shown["facts"][0]["received_through"]) == (said["statement"], "mcp")
        assert shown["said_in"][0]["role"] == "assistant"
        for _ in range(2):
            assert found(await client.call_tool("state_fact", {"retract": str(fact_id)}))["done"] == "retracted"
        left = found(await client.call_tool("memory_facts", {}))["facts"]
        assert {str(by_hand.fact_id), str(fact_id)} & {one["fact_id"] for one in left} == {str(by_hand.fact_id)}

    over_http(address, key, take_back)
    confirm(context.acting_for(Claims.of_user(user.user_id)), fact_id)
    shown = found(call_over_http(address, key, "memory_facts"))["facts"]
    assert {one["fact_id"] for one in shown} >= {str(fact_id), str(by_hand.fact_id)}


def test_reader_neither_states_nor_retracts_facts(address: str, graph: SharedGraph) -> None:
    here, context = graph.installation, plain_context(graph.installation)
    stated = state_fact(context.acting_for(graph.owners), NewFact(FactWords("Ana sails."), path="Family/Dave"))
    ingest(context, graph.owner)
    read_waiting(context, user_id=graph.owner.user_id)
    reader = graph.key(Subject(SubjectType.THIRD_PARTY, "reader"))
    stated_id = str(stated.fact_id)
    assert "not found" in failure(call_over_http(address, reader, "state_fact", retract=stated_id))
    sharing.grant(here.database, graph.owners, Subject(SubjectType.THIRD_PARTY, "reader"), graph.node("Family/Dave"))
    assert "may read but not change" in failure(call_over_http(address, reader, "state_fact", retract=stated_id))
    assert "may only read" in failure(call_over_http(address, reader, "state_fact", statement="Ana rows."))
    (left,) = rows(here, "SELECT status FROM neurigraph.facts WHERE fact_id = %s", stated.fact_id)
    assert left["status"] == "active"


def test_forgetting_needs_the_token_of_its_dry_run(address: str, here: Installation) -> None:
    user, key = owner_of(here, "#Old The red boat sank.", "#Boats/Blue The blue boat floats.")
    _, others_key = owner_of(here, "#Old Nothing of the kind.")

    async def session(client: Client) -> None:
        hits = found(await client.call_tool("search_memory", {"query": "boat"}))["hits"]
        red = next(hit["record_id"] for hit in hits if "red" in hit["summary"])
        node = found(await client.call_tool("browse_graph", {"node": "Boats"}))["node_id"]
        dry = found(await client.call_tool("forget", {"record_ids": [red], "node_ids": [node]}))
        assert (dry["is_dry_run"], [one["record_count"] for one in dry["would_erase"]]) == (True, [1, 1])
        assert len(found(await client.call_tool("search_memory", {"query": "boat"}))["hits"]) == 2
        token = dry["token"]
        for arguments, said in (
            ({"record_ids": [red], "token": token}, "something else"),
            ({"record_ids": [red], "node_ids": [node], "token": token[:-2]}, "not valid"),
            ({"record_ids": [red], "node_ids": [node], "token": "yes"}, "not valid"),
            ({"record_ids": [red], "node_ids": [node], "token": "\u00e9."}, "not valid"),
        ):
            assert said in failure(await client.call_tool("forget", arguments)), arguments
        converse(here, Claims.of_user(user.user_id), "#Boats/Blue Another blue boat.")
        ingest(plain_context(here), user)
        asked: dict[str, Any] = {"node": "Boats/Blue", "limit": 1}
        first = found(await client.call_tool("browse_graph", asked))
        second = await client.call_tool("browse_graph", asked | {"cursor": first["next_cursor"]})
        shown = [one["summary"] for one in first["records"] + found(second)["records"]]
        assert sorted("Another" in one for one in shown) == [False, True]
        assert found(second)["next_cursor"] is None
        asked |= {"node": "Old", "cursor": first["next_cursor"]}
        assert "cursor is not valid" in failure(await client.call_tool("browse_graph", asked))
        confirmed = {"record_ids": [red], "node_ids": [node], "token": token}
        assert "more or less to erase" in failure(await client.call_tool("forget", confirmed))
        dry = found(await client.call_tool("forget", {"record_ids": [red], "node_ids": [node]}))
        confirmed["token"] = dry["token"]
        receipts = [found(await client.call_tool("forget", confirmed))["receipts"] for _ in range(2)]
        assert receipts[0] == receipts[1]
        assert [one["subject_id"] for one in receipts[0]] == [red, node]
        assert all(one["requested_through"] == "mcp" and one["finished_at"] for one in receipts[0])
        assert found(await client.call_tool("search_memory", {"query": "boat"}))["hits"] == []

    over_http(address, key, session)
    assert found(call_over_http(address, others_key, "search_memory", query="kind"))["hits"]


def test_token_belongs_to_one_key_and_expires(
    address: str, here: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    user, key = owner_of(here, "#Old The green boat leaks.")
    other_key = owners_key(here, user)
    (hit,) = found(call_over_http(address, key, "search_memory", query="boat"))["hits"]
    asked: dict[str, Any] = {"record_ids": [hit["record_id"]]}
    token = found(call_over_http(address, key, "forget", **asked))["token"]
    assert "not valid" in failure(call_over_http(address, other_key, "forget", **asked, token=token))
    monkeypatch.setattr("neurigraph_pipelines.lifecycle.erasure.confirmation.LIFETIME_SECONDS", -1)
    late = found(call_over_http(address, key, "forget", **asked))["token"]
    assert "has expired" in failure(call_over_http(address, key, "forget", **asked, token=late))
    assert found(call_over_http(address, key, "search_memory", query="boat"))["hits"]
    assert found(call_over_http(address, key, "forget", **asked, token=token))["receipts"]
