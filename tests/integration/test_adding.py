"""Adding a memory in one call: by the owner and by limited keys, once under one key, and found at once."""

from __future__ import annotations

import threading
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.faces.operations.requests import MAX_MESSAGES
from neurigraph_pipelines.model.limits import MAX_CONTENT_BYTES
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import TALK, assert_problem, new_user, store

SAID = [{"role": "user", "content": "The keel needs bolts."}]


@pytest.fixture
def owner(client: httpx.Client) -> dict[str, str]:
    return new_user(client, f"adder-{uuid4().hex[:8]}")


def add(client: httpx.Client, headers: dict[str, str], status: int = 201, **body: Any) -> dict[str, Any]:
    answer = client.post("/v1/memories", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    added: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/v1/{added['source_kind']}s/{added['source_id']}"
    assert client.get(answer.headers["location"], headers=headers).status_code == 200
    return added


def found(client: httpx.Client, headers: dict[str, str], query: str, **filters: Any) -> list[str]:
    """Return the sources that a search finds."""
    answer = client.post("/v1/search", json={"query": query, **filters}, headers=headers)
    return [hit["source_id"] for hit in answer.json()["hits"]]


def test_messages_are_found_at_once_and_stored(
    client: httpx.Client, owner: dict[str, str], shared_installation: Installation
) -> None:
    stated: dict[str, Any] = {"title": "Fishing", "origin": "slack", "metadata": {"a": 1}, "privacy": "private"}
    added = add(client, owner, messages=TALK, occurred_at="2026-02-03T18:20:00Z", **stated)
    assert (added["source_kind"], added["created"], added["state"], added["record_ids"]) == (
        "conversation",
        True,
        "waiting",
        [],
    )
    assert found(client, owner, "Who fell into the water?") == [added["source_id"]]
    store(shared_installation)
    source = client.get(f"/v1/conversations/{added['source_id']}", headers=owner).json()
    assert {name: source[name] for name in stated} == stated
    assert (source["state"], source["started_at"], len(source["record_ids"])) == ("stored", "2026-02-03T18:20:00Z", 1)


def test_wait_answers_with_memories(
    client: httpx.Client, owner: dict[str, str], shared_installation: Installation
) -> None:
    stopped = threading.Event()

    def keep_storing() -> None:
        while not stopped.wait(0.2):
            store(shared_installation)

    storing = threading.Thread(target=keep_storing)
    storing.start()
    try:
        for body in ({"content": "The boiler's code is 4711."}, {"messages": SAID}):
            answer = client.post("/v1/memories", params={"wait": 30}, json=body, headers=owner).json()
            (record_id,) = answer["record_ids"]
            assert answer["state"] == "stored"
            assert client.get(f"/v1/records/{record_id}", headers=owner).json()["source_id"] == answer["source_id"]
        again = client.post("/v1/memories", json={"content": "The boiler's code is 4711."}, headers=owner)
        assert (again.status_code, again.json()["created"], again.json()["state"]) == (200, False, "stored")
        assert len(again.json()["record_ids"]) == 1
    finally:
        stopped.set()
        storing.join()


def test_content_lies_where_it_is_pinned(
    client: httpx.Client, owner: dict[str, str], shared_installation: Installation
) -> None:
    root = client.get("/v1/tree", headers=owner).json()["node_id"]
    node = client.post("/v1/nodes", json={"parent_node_id": root, "name": "Boats"}, headers=owner).json()["node_id"]
    added = add(client, owner, content="The varnish is amber.", title="Varnish", node_id=node)
    assert found(client, owner, "amber varnish") == [added["source_id"]]
    store(shared_installation)
    assert found(client, owner, "amber varnish", node_id=node) == [added["source_id"]]
    (record,) = client.get("/v1/records", params={"node_id": node}, headers=owner).json()["records"]
    assert (record["title"], record["source_id"]) == ("Varnish", added["source_id"])
    assert_problem(client.post("/v1/memories", json={"content": "x", "node_id": str(uuid4())}, headers=owner), 404)


def test_known_id_continues_a_conversation(client: httpx.Client, owner: dict[str, str]) -> None:
    first = add(client, owner, messages=TALK[:2], external_id="lake")
    more = add(client, owner, messages=TALK, external_id="lake")
    same = add(client, owner, 200, messages=TALK, external_id="lake")
    assert {one["source_id"] for one in (first, more, same)} == {first["source_id"]}
    assert [one["created"] for one in (first, more, same)] == [True, True, False]
    other = [{**TALK[0], "content": "Other words."}]
    assert add(client, owner, 200, messages=other, external_id="lake")["conflicts"] == ["m1"]
    assert client.get(f"/v1/conversations/{first['source_id']}", headers=owner).json()["message_count"] == 3


def test_repetition_adds_once(client: httpx.Client, owner: dict[str, str]) -> None:
    for body in ({"messages": SAID}, {"content": "The keel needs paint."}):
        keyed = {**owner, "Idempotency-Key": uuid4().hex}
        first, again = (client.post("/v1/memories", json=body, headers=keyed) for _ in range(2))
        assert (first.status_code, first.json()) == (again.status_code, again.json())
        assert again.headers["idempotency-replayed"] == "true"
        assert_problem(client.post("/v1/memories", json={"content": "Another."}, headers=keyed), 422)
    assert len(client.get("/v1/conversations", headers=owner).json()["conversations"]) == 1
    assert len(client.get("/v1/notes", headers=owner).json()["notes"]) == 1


def test_key_of_a_space_adds_to_it_only(client: httpx.Client, owner: dict[str, str]) -> None:
    outside = add(client, owner, content="The stove is hot.", container_tags=["kitchen"])
    inside = add(client, owner, messages=SAID, container_tags=["garden", "kitchen"])
    issued = client.post("/v1/keys", json={"label": "app", "container_tags": ["garden"]}, headers=owner).json()
    bound = {"Authorization": f"Bearer {issued['api_key']}"}
    added = add(client, bound, content="Tulips are up.")
    assert found(client, owner, "tulips", container_tags=["garden"])[0] == added["source_id"]
    assert set(found(client, bound, "keel")) >= {inside["source_id"]}
    assert outside["source_id"] not in found(client, bound, "stove hot")
    for body in ({"messages": SAID}, {"content": "No."}):
        denied, absent = (
            client.post("/v1/memories", json={**body, "container_tags": [tag]}, headers=bound)
            for tag in ("kitchen", "unheard_of")
        )
        assert assert_problem(denied, 404)["detail"] == assert_problem(absent, 404)["detail"]
    assert len(client.get("/v1/notes", headers=owner).json()["notes"]) == 2


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "either messages or a content"),
        ({"messages": SAID, "content": "Both."}, "either messages or a content"),
        ({"messages": []}, "at least 1 item"),
        ({"messages": SAID * (MAX_MESSAGES + 1)}, f"at most {MAX_MESSAGES} items"),
        ({"content": " "}, "needs a text"),
        ({"content": "x", "external_id": "1"}, "external_id is for messages"),
        ({"messages": SAID, "node_id": str(uuid4())}, "node_id is for a content"),
        ({"content": "x", "text": "x"}, "there is no field 'text'"),
        ({"messages": [{"role": "user"}]}, "needs a content"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_wrong_body_adds_nothing(client: httpx.Client, owner: dict[str, str], body: dict[str, Any], why: str) -> None:
    assert why in str(assert_problem(client.post("/v1/memories", json=body, headers=owner), 422))
    assert client.get("/v1/conversations", headers=owner).json()["conversations"] == []
    assert client.get("/v1/notes", headers=owner).json()["notes"] == []


def test_too_long_a_content_adds_nothing(client: httpx.Client, owner: dict[str, str]) -> None:
    refused = client.post("/v1/memories", json={"content": "x" * (MAX_CONTENT_BYTES + 1)}, headers=owner)
    assert f"{MAX_CONTENT_BYTES:,}" in assert_problem(refused, 422)["detail"]
    assert client.get("/v1/notes", headers=owner).json()["notes"] == []
