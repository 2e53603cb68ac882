"""Search filters and answers over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.retrieval.ask import NOTHING_FOUND
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import SAME_ID, TALK, assert_problem, new_user, remember, store
from tests.support.api_server import serving

PATHS = ("/v1/search", "/v1/ask")


@pytest.fixture(scope="module")
def client(shared_installation: Installation) -> Iterator[httpx.Client]:
    with serving(shared_installation) as address, httpx.Client(base_url=address, timeout=60.0, headers=SAME_ID) as made:
        yield made


@pytest.fixture(scope="module")
def bob(client: httpx.Client, shared_installation: Installation) -> dict[str, str]:
    headers = new_user(client, "bob")
    talk = [{**message, "occurred_at": f"2025-05-04T10:0{n}:00Z"} for n, message in enumerate(TALK)]
    remember(client, headers, talk, title="Fishing", external_id="c1")
    store(shared_installation)
    return headers


def ask(client: httpx.Client, headers: dict[str, str], query: str, **more: Any) -> dict[str, Any]:
    response = client.post("/v1/ask", json={"query": query, **more}, headers=headers)
    assert response.status_code == 200, response.text
    reply: dict[str, Any] = response.json()
    return reply


def test_citations_can_be_opened(client: httpx.Client, bob: dict[str, str]) -> None:
    reply = ask(client, bob, "Who fell into the water?")
    assert set(reply) == {"answer", "found", "citations", "model", "notes"}
    assert reply["answer"].splitlines()[0] == "Bob, 4 May 2025: Seven, and Dave fell into the water. [1]"
    assert (reply["found"], reply["model"], reply["notes"]) == (True, "offline", [])
    cited = reply["citations"][0]
    opened = client.post(f"/v1/files/{cited['file_id']}/open", params={"message": cited["seq"]}, headers=bob).json()
    assert cited["text"] == opened["content"] == TALK[2]["content"]
    for name in ("seq", "author", "external_id", "occurred_at", "file_id"):
        assert cited[name] == opened[name]


def test_empty_memory_finds_nothing(client: httpx.Client, bob: dict[str, str]) -> None:
    for reply in (
        ask(client, bob, "What is the capital of Mongolia?"),
        ask(client, bob, "water", occurred_before="2025-05-04T10:00:00Z"),
        ask(client, new_user(client, "eve"), "Who fell into the water?"),
    ):
        assert (reply["answer"], reply["found"], reply["citations"]) == (NOTHING_FOUND, False, [])


def test_filters_narrow_search(client: httpx.Client, bob: dict[str, str]) -> None:
    def found(**more: Any) -> tuple[int, int]:
        body = client.post("/v1/search", json={"query": "water", **more}, headers=bob).json()
        return len(body["hits"]), len(body["messages"])

    assert found() == (1, 3)
    assert found(occurred_after="2025-05-04T00:00:00+02:00", occurred_before="2025-05-05T00:00:00Z") == (1, 3)
    assert found(occurred_after="2025-05-05T00:00:00Z") == (0, 0)
    assert found(source_kinds=["conversation", "event"]) == (1, 3)
    assert found(source_kinds=["upload"]) == (0, 0)
    assert found(speaker="BOB") == (1, 2)
    assert found(speaker="'; DROP TABLE x; --\u0000") == (0, 0)


def test_parsed_times_are_returned(client: httpx.Client, bob: dict[str, str]) -> None:
    body = {"query": "trout yesterday", "asked_at": "2025-05-05T01:00:00+02:00"}
    (period,) = client.post("/v1/search", json=body, headers=bob).json()["periods"]
    assert (period["words"], period["certain"]) == ("yesterday", True)
    assert (period["start_at"], period["end_at"]) == ("2025-05-04T00:00:00+02:00", "2025-05-05T00:00:00+02:00")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"occurred_after": "2025-02-01T00:00:00Z", "occurred_before": "2025-01-01T00:00:00Z"}, "swap them"),
        ({"occurred_after": "0001-01-01T00:00:00Z"}, "outside the years 1970 to 2200"),
        ({"occurred_before": "9999-12-31T23:59:59-14:00"}, "outside the years"),
        ({"asked_at": "9999-12-31T23:59:59-14:00"}, "outside the years"),
        ({"at": 1e300}, "#/at"),
        ({"speaker": " "}, "give a name"),
        ({"speaker": "x" * 301}, "more than 300 characters"),
        ({"source_kinds": ["letter"]}, "#/source_kinds/0"),
        ({"source_kinds": ["upload"] * 5}, "#/source_kinds"),
        ({"source_kinds": "upload"}, "#/source_kinds"),
        ({"node_id": 7}, "#/node_id"),
        ({"periods": []}, "#/periods"),
    ],
)
def test_invalid_filter_names_remedy(
    client: httpx.Client, bob: dict[str, str], path: str, filters: dict[str, Any], expected: str
) -> None:
    response = client.post(path, json={"query": "x", **filters}, headers=bob)
    assert_problem(response, 422)
    assert expected in response.text


def test_foreign_ids_look_absent(client: httpx.Client, bob: dict[str, str]) -> None:
    hit = client.post("/v1/search", json={"query": "water"}, headers=bob).json()["hits"][0]
    eve = new_user(client, "mallory")
    denied = client.post("/v1/ask", json={"query": "x", "node_id": hit["node_id"]}, headers=eve)
    absent = client.post("/v1/ask", json={"query": "x", "node_id": str(uuid4())}, headers=eve)
    assert_problem(denied, 404)
    assert denied.content == absent.content
