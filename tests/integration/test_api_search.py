"""Search filters and answers over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

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
