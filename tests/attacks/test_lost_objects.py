"""What a persona and a third party read about lost and damaged objects: nothing of the graph around their nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
import pytest
from mcp import Client

from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.faces.api.problems import problem_of
from neurigraph_pipelines.faces.mcp.failures import said
from neurigraph_pipelines.lifecycle.object_keys import DURABLE
from neurigraph_pipelines.model import SubjectType
from neurigraph_pipelines.model.errors import AbsentObjectError
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.agents import over_http, text_of
from tests.support.api_server import serving
from tests.support.shared_graph import SharedGraph, new_shared_graph

pytestmark = pytest.mark.attack
QUESTION = "When does the contract with Acme end?"


@dataclass(frozen=True, slots=True)
class Asker:
    """A caller who sees one node, whose files are lost."""

    address: str
    key: str
    graph: SharedGraph
    record_id: UUID
    file_id: UUID
    source_id: str

    @property
    def hidden(self) -> tuple[str, ...]:
        """What lies above: the slug of the user, and names of nodes, as in the keys of objects."""
        return (self.graph.owner.slug, "durable/", "active/", "work/")


def lose(installation: Installation, key: str) -> None:
    installation.objects.delete(key)


def damage(installation: Installation, key: str) -> None:
    installation.objects.put(key, [b"forged"])


@pytest.fixture(params=[lose, damage])
def asker(request: pytest.FixtureRequest, installation: Installation) -> Iterator[Asker]:
    graph = new_shared_graph(installation)
    spoil: Callable[[Installation, str], None] = request.param
    graph.grant("Work/Legal/Contracts", "auditor")
    record_id, file_id = graph.record_of("Work/Legal/Contracts")
    with serving(installation) as address:
        key = graph.key(Subject(SubjectType.THIRD_PARTY, "auditor"))
        headers = {"Authorization": f"Bearer {key}"}
        found = httpx.post(f"{address}/v1/search", json={"query": QUESTION}, headers=headers, timeout=60).json()
        keys = list(installation.objects.keys(""))
        assert any(one.startswith(f"{DURABLE}{graph.owner.slug}/work/") for one in keys)
        for one in keys:
            if not one.startswith("."):
                spoil(installation, one)
        yield Asker(address, key, graph, record_id, file_id, found["hits"][0]["source_id"])


def test_answers_over_http(asker: Asker) -> None:
    calls: list[tuple[str, str, Any]] = [
        ("POST", f"/v1/files/{asker.file_id}/open", None),
        ("POST", f"/v1/files/{asker.file_id}/open?message=5", None),
        ("POST", f"/v1/files/{asker.file_id}/compress", None),
        ("POST", "/v1/search", {"query": QUESTION}),
        ("POST", "/v1/ask", {"query": QUESTION}),
        ("GET", f"/v3/documents/{asker.source_id}", None),
        ("POST", "/v3/search", {"q": QUESTION, "includeFullDocs": True}),
        ("GET", f"/v1/records/{asker.record_id}", None),
        ("GET", f"/v1/files/{asker.file_id}", None),
    ]
    lost = 0
    with httpx.Client(base_url=asker.address, headers={"Authorization": f"Bearer {asker.key}"}, timeout=60) as client:
        for method, path, body in calls:
            answer = client.request(method, path, json=body)
            assert answer.status_code < 500, (path, answer.text)
            lost += answer.status_code == 410 or "is missing" in answer.text or "is damaged" in answer.text
            assert not [name for name in asker.hidden if name in answer.text], (path, answer.text)
    assert lost >= 2, "the objects are gone"


def test_answers_of_tools(asker: Asker) -> None:
    async def session(client: Client) -> list[str]:
        return [
            text_of(await client.call_tool("open_memory", {"record_id": str(asker.record_id)})),
            text_of(await client.call_tool("get_context", {"query": QUESTION, "answer": True})),
            text_of(await client.call_tool("searchDatabase", {"query": QUESTION, "includeFullDocs": True})),
        ]

    answers = over_http(asker.address, asker.key, session)
    assert any(str(asker.file_id) in answer for answer in answers), "the objects are gone"
    for answer in answers:
        assert not [name for name in asker.hidden if name in answer], answer


def test_error_of_the_store_itself_names_no_object() -> None:
    error = AbsentObjectError("There is no object durable/ana/work/7.jsonl.gz.")
    assert b"ana" not in bytes(problem_of(error).body)
    assert "ana" not in said(error)
