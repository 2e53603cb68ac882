"""Events and streaming responses over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from neurigraph_pipelines.model import EventKind
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import assert_problem, new_user, store

SAID = [
    {"author": "Ilse", "content": "The copper gutters arrive on Friday.", "external_id": "1"},
    {"author": "Omar", "content": "Then we start with the boathouse on Saturday.", "external_id": "2"},
]


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


def test_meeting_is_one_memory(client: httpx.Client, here: Installation) -> None:
    bob = new_user(client)
    body = {"kind": "meeting", "title": "Site meeting", "external_id": "site-1", "started_at": "2025-03-04T10:00:00Z"}
    opened = client.post("/v1/events", json=body, headers=bob)
    assert opened.status_code == 201, opened.text
    event_id = opened.json()["event_id"]
    assert opened.json() == {"event_id": event_id}
    added = client.post(f"/v1/events/{event_id}/messages", json={"messages": SAID}, headers=bob)
    assert (added.status_code, added.json()["added"]) == (200, 2)
    assert store(here) == 0
    ended = client.post(f"/v1/events/{event_id}/end", json={"ended_at": "2025-03-04T11:00:00Z"}, headers=bob)
    assert ended.json() == {"event_id": event_id, "ended_at": "2025-03-04T11:00:00Z"}
    assert client.post(f"/v1/events/{event_id}/end", headers=bob).json() == ended.json()
    assert store(here) == 1

    found = client.post("/v1/search", json={"query": "When do the copper gutters arrive?"}, headers=bob).json()
    (hit,) = found["hits"]
    assert (hit["source_kind"], hit["source_id"], hit["source_external_id"]) == ("event", event_id, "site-1")
    assert hit["occurred_at"] == "2025-03-04T10:00:00Z"
    assert {message["external_id"] for message in found["messages"]} == {"1", "2"}
    (record,) = client.get("/v1/records", params={"node_id": hit["node_id"]}, headers=bob).json()["records"]
    assert (record["content_type"], record["trigger_type"]) == ("event", "event_boundary")
    first = client.post(f"/v1/files/{hit['file_id']}/open", params={"message": 1}, headers=bob).json()
    assert first["author"] == "Ilse"


def test_event_opens_with_messages(client: httpx.Client) -> None:
    bob = new_user(client)
    body = {"kind": "call", "title": "Call", "external_id": "c", "messages": SAID}
    first = client.post("/v1/events", json=body, headers=bob)
    again = client.post("/v1/events", json={**body, "kind": "milestone"}, headers=bob)
    assert (first.status_code, again.status_code) == (201, 200)
    assert (first.json()["messages"]["added"], again.json()["messages"]["known"]) == (2, 2)
    assert first.json()["event_id"] == again.json()["event_id"]


@pytest.mark.parametrize("kind", EventKind)
def test_silent_event_keeps_its_title(kind: EventKind, client: httpx.Client, here: Installation) -> None:
    bob = new_user(client)
    body = {"kind": kind, "title": "The boathouse has its roof", "started_at": "2025-04-01T12:00:00Z"}
    event_id = client.post("/v1/events", json=body, headers=bob).json()["event_id"]
    for _ in range(2):
        assert client.post(f"/v1/events/{event_id}/end", headers=bob).status_code == 200
    assert store(here) == 1
    (hit,) = client.post("/v1/search", json={"query": "roof of the boathouse"}, headers=bob).json()["hits"]
    assert hit["source_id"] == event_id


@pytest.mark.parametrize(
    "body",
    [
        {"title": "Without a kind"},
        {"kind": "party", "title": "Of no known kind"},
        {"kind": "meeting"},
        {"kind": "meeting", "title": "x" * 501},
        {"kind": "meeting", "title": "t", "external_id": ""},
        {"kind": "meeting", "title": "t", "started_at": "0001-01-01T00:00:00Z"},
        {"kind": "meeting", "title": "t", "messages": [*SAID, {"author": "Ilse"}]},
        {"kind": "meeting", "title": "t", "messages": [*SAID, {"content": "x", "author": "y" * 301}]},
    ],
)
def test_rejected_event_leaves_nothing(body: dict[str, Any], client: httpx.Client) -> None:
    bob = new_user(client)
    assert_problem(client.post("/v1/events", json={"external_id": "e", **body}, headers=bob), 422)
    made = client.post("/v1/events", json={"kind": "call", "title": "t", "external_id": "e"}, headers=bob)
    assert made.status_code == 201, "nothing of that name was left behind"


def test_event_is_private_and_no_conversation(client: httpx.Client) -> None:
    bob, eve = new_user(client), new_user(client)
    event_id = client.post("/v1/events", json={"kind": "call", "title": "t"}, headers=bob).json()["event_id"]
    conversation_id = client.post("/v1/conversations", json={}, headers=bob).json()["conversation_id"]
    for path, headers in (
        (f"/v1/events/{event_id}", eve),
        (f"/v1/conversations/{event_id}", bob),
        (f"/v1/events/{conversation_id}", bob),
    ):
        assert_problem(client.post(f"{path}/messages", json={"messages": []}, headers=headers), 404)
        assert_problem(client.post(f"{path}/end", headers=headers), 404)


def test_streaming_response_is_replaced(client: httpx.Client, here: Installation) -> None:
    bob = new_user(client)
    path = f"/v1/conversations/{client.post('/v1/conversations', json={}, headers=bob).json()['conversation_id']}"

    def send(content: str, **fields: Any) -> dict[str, Any]:
        message = {"role": "assistant", "content": content, "external_id": "answer", **fields}
        response = client.post(f"{path}/messages", json={"messages": [message]}, headers=bob)
        assert response.status_code == 200, response.text
        result: dict[str, Any] = response.json()
        return result

    assert send("The copper", complete=False)["added"] == 1
    assert send("The copper gutters", complete=False)["replaced"] == 1
    assert send("The copper gutters arrive on Friday.")["replaced"] == 1
    assert send("The copper gutters arrive on Friday.")["known"] == 1
    assert send("The copper", complete=False)["conflicts"] == ["answer"]
    client.post(f"{path}/end", headers=bob)
    late = {"role": "assistant", "content": "And", "complete": False}
    problem = assert_problem(client.post(f"{path}/messages", json={"messages": [late]}, headers=bob), 409)
    assert "send the message once it is complete" in problem["detail"]
    assert store(here) == 1
    (hit,) = client.post("/v1/search", json={"query": "copper gutters"}, headers=bob).json()["hits"]
    text = client.post(f"/v1/files/{hit['file_id']}/open", params={"message": 1}, headers=bob).json()["content"]
    assert text == "The copper gutters arrive on Friday."
