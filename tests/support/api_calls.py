"""Calls of the HTTP API: create a user, add a conversation, check a problem response."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx

from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ADMIN_KEY

TALK = [
    {"role": "user", "content": "Dave and I went fishing at Lake Orrin.", "author": "Bob", "external_id": "m1"},
    {"role": "assistant", "content": "How many trout did you catch?", "external_id": "m2"},
    {"role": "user", "content": "Seven, and Dave fell into the water.", "author": "Bob", "external_id": "m3"},
]

SAME_ID = {"X-Request-Id": "test"}
"""A header for clients whose answers are compared byte for byte."""


def admin() -> dict[str, str]:
    return {"Authorization": f"Bearer {ADMIN_KEY}"}


def new_user(client: httpx.Client, slug: str | None = None) -> dict[str, str]:
    """Create a user, of a name that nobody has where none is given; return the headers of their requests."""
    made = {"slug": slug or f"user-{uuid4().hex[:12]}"}
    response = client.post("/v1/users", json=made, headers=admin())
    assert response.status_code == 201, response.text
    return {"Authorization": f"Bearer {response.json()['api_key']}"}


def remember(client: httpx.Client, headers: dict[str, str], messages: list[dict[str, Any]], **conversation: Any) -> str:
    """Add a whole conversation and end it."""
    opened = client.post("/v1/conversations", json=conversation, headers=headers)
    assert opened.status_code == 201, opened.text
    conversation_id: str = opened.json()["conversation_id"]
    added = client.post(f"/v1/conversations/{conversation_id}/messages", json={"messages": messages}, headers=headers)
    assert added.status_code == 200, added.text
    assert client.post(f"/v1/conversations/{conversation_id}/end", headers=headers).status_code == 200
    return conversation_id


def store(installation: Installation) -> int:
    """Run the pipeline until nothing is due."""
    return sum(len(result.stored) for result in run_due(installation.context, "tests"))


@contextmanager
def storing(installation: Installation) -> Iterator[None]:
    """Store what is handed in meanwhile, as it comes."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(0.3):
            store(installation)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def assert_problem(response: httpx.Response, status: int) -> dict[str, Any]:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert body["type"] == "about:blank"
    assert body["status"] == status
    assert body["title"]
    return body
