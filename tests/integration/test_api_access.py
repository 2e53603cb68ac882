"""The HTTP API for personas and third parties: keys, tokens and responses."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.exchange.sharing import Subject
from neurigraph_pipelines.model import SubjectType
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_server import serving
from tests.support.memories import ingest, plain_context
from tests.support.shared_graph import SharedGraph, new_shared_graph
from tests.support.token_issuer import AUDIENCE, ISSUER, TokenIssuer


@pytest.fixture(scope="module")
def issuer() -> Iterator[TokenIssuer]:
    with TokenIssuer() as running:
        yield running


@pytest.fixture(scope="module")
def client(shared_installation: Installation, issuer: TokenIssuer) -> Iterator[httpx.Client]:
    """A client of a server that takes keys and tokens."""
    settings = shared_installation.settings.changed(jwt_audience=AUDIENCE, jwt_issuer=ISSUER, jwt_jwks_url=issuer.url)
    with (
        Installation(Settings.model_validate(settings.model_dump())) as trusting,
        serving(trusting) as address,
        httpx.Client(base_url=address, timeout=60.0) as made,
    ):
        yield made


@pytest.fixture
def graph(shared_installation: Installation) -> SharedGraph:
    return new_shared_graph(shared_installation)


def bearer(credential: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {credential}"}


def test_keys_are_created_rotated_and_revoked(client: httpx.Client, graph: SharedGraph) -> None:
    owner = bearer(graph.key())
    issued = client.post(
        "/v1/keys", json={"persona_id": str(graph.persona_id), "label": "assistant"}, headers=owner
    ).json()
    assert client.get("/v1/tree", headers=bearer(issued["api_key"])).json()["name"] == "Legal"
    listed = client.get("/v1/keys", headers=owner).json()["keys"]
    assert {key["label"] for key in listed} >= {"assistant", "first key"}
    assert issued["api_key"] not in client.get("/v1/keys", headers=owner).text
    kept = client.post(f"/v1/keys/{issued['key_id']}/rotate", json={"grace_seconds": 600}, headers=owner).json()
    for credential in (issued["api_key"], kept["api_key"]):
        assert client.get("/v1/tree", headers=bearer(credential)).status_code == 200
    for key_id in (issued["key_id"], kept["key_id"]):
        assert client.delete(f"/v1/keys/{key_id}", headers=owner).json()["revoked_at"]
    for credential in (issued["api_key"], kept["api_key"]):
        refused = client.get("/v1/tree", headers=bearer(credential))
        assert refused.status_code == 401
        assert refused.json()["detail"] == "this key or token is not valid"


def test_grant_opens_and_revoke_closes(client: httpx.Client, graph: SharedGraph) -> None:
    owner = bearer(graph.key())
    gmail = bearer(graph.key(Subject(SubjectType.THIRD_PARTY, "gmail")))
    node = graph.node("Family/Dave")
    body = {"third_party": "gmail", "node_id": str(node)}
    assert client.get("/v1/tree", headers=gmail).status_code == 404
    made = client.post("/v1/grants", json=body, headers=owner)
    assert (made.status_code, client.post("/v1/grants", json=body, headers=owner).status_code) == (201, 200)
    shell = client.get(f"/v1/nodes/{node}", headers=gmail).json()
    assert (shell["path"], shell["children"], shell["edges"]) == ("Dave", [], [])
    assert client.post("/v1/search", json={"query": "trout"}, headers=gmail).json()["hits"][0]["node_path"] == "Dave"
    assert [one["grant_id"] for one in client.get("/v1/grants", headers=owner).json()["grants"]] == [
        made.json()["grant_id"]
    ]
    client.delete(f"/v1/grants/{made.json()['grant_id']}", headers=owner)
    assert client.get(f"/v1/nodes/{node}", headers=gmail).status_code == 404
    for wrong in ({"node_id": str(node)}, {**body, "persona_id": str(graph.persona_id)}, {**body, "grant_type": "all"}):
        assert client.post("/v1/grants", json=wrong, headers=owner).status_code == 422


def test_persona_writes_by_its_grant(client: httpx.Client, graph: SharedGraph) -> None:
    owner = bearer(graph.key())
    body = {"parent_node_id": str(graph.node("Work")), "name": "Finance", "node_type": "persona", "writes": True}
    made = client.post("/v1/nodes", json=body, headers=owner)
    assert made.status_code == 201
    assert client.post("/v1/nodes", json=body, headers=owner).status_code == 409
    key = client.post("/v1/keys", json={"persona_id": made.json()["node_id"]}, headers=owner).json()["api_key"]
    opened = client.post("/v1/conversations", json={"external_id": "1"}, headers=bearer(key))
    address = f"/v1/conversations/{opened.json()['conversation_id']}"
    said = {"messages": [{"role": "user", "content": "The budget of March is seven."}]}
    assert client.post(f"{address}/messages", json=said, headers=bearer(key)).status_code == 200
    assert client.post(f"{address}/end", headers=bearer(key)).status_code == 200
    ingest(plain_context(graph.installation), graph.owner)
    (hit,) = client.post("/v1/search", json={"query": "budget"}, headers=bearer(key)).json()["hits"]
    assert hit["node_path"] == "Finance"
    assert client.get("/v1/records", params={"node_id": made.json()["node_id"]}, headers=bearer(key)).json()["records"]


def test_read_only_caller_is_refused(client: httpx.Client, graph: SharedGraph) -> None:
    said = client.post("/v1/conversations", json={}, headers=bearer(graph.key())).json()["conversation_id"]
    _, file_id = graph.record_of("Work/Legal")
    third = bearer(graph.key(Subject(SubjectType.THIRD_PARTY, "gmail")))
    for headers in (bearer(graph.personas_key()), third):
        for method, address, body in (
            ("POST", "/v1/conversations", {}),
            ("POST", "/v1/events", {"kind": "call", "title": "x"}),
            ("POST", f"/v1/conversations/{uuid4()}/end", None),
            ("POST", f"/v1/conversations/{said}/end", None),
            ("GET", "/v1/keys", None),
            ("POST", "/v1/keys", {}),
            ("GET", "/v1/grants", None),
            ("POST", "/v1/grants", {"third_party": "gmail", "node_id": str(graph.persona_id)}),
        ):
            assert client.request(method, address, json=body, headers=headers).status_code == 403, address
        uploaded = client.post("/v1/files", files={"file": b"x"}, headers=headers)
        assert uploaded.status_code == 403
    persona = bearer(graph.personas_key())
    assert client.post(f"/v1/files/{file_id}/compress", headers=persona).status_code == 403
    assert client.post(f"/v1/files/{file_id}/touch", headers=persona).status_code == 200
