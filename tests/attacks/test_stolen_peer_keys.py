"""A peer's key in a thief's hands: it reads what is granted, changes nothing, and ends with its revocation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines import sharing
from neurigraph_pipelines.ingestion.privacy import set_privacy
from neurigraph_pipelines.model import Privacy, SourceKind, SubjectType
from neurigraph_pipelines.sharing import Subject
from neurigraph_pipelines.wiring import Installation
from tests.support.api_server import serving
from tests.support.memories import converse, ingest, plain_context
from tests.support.shared_graph import SharedGraph, new_shared_graph

pytestmark = pytest.mark.attack

NAME = "laptop"
PEER = Subject(SubjectType.THIRD_PARTY, NAME)
NONCE = {"nonce": "0" * 32}


@pytest.fixture
def home(shared_installation: Installation) -> SharedGraph:
    made = new_shared_graph(shared_installation)
    made.grant("Family/Dave", NAME)
    secret = converse(made.installation, made.owners, "#Family/Dave Dave hides a diamond.")
    ingest(plain_context(made.installation), made.owner)
    set_privacy(made.installation.database, made.owners, secret, Privacy.PRIVATE, SourceKind.CONVERSATION)
    return made


@pytest.fixture
def address(home: SharedGraph) -> Iterator[str]:
    with serving(home.installation) as base:
        yield base


def caller(address: str, key: str) -> httpx.Client:
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key}"}, timeout=60)


def reads(home: SharedGraph) -> dict[str, tuple[str, str]]:
    """Return requests that read what is not granted, by what they are after, each as method and path."""
    work = home.node("Work")
    record, file = home.record_of("Work")
    return {
        "another node": ("GET", f"/v1/mirror/nodes/{work}"),
        "another file": ("GET", f"/v1/mirror/files/{file}"),
        "the same by other routes": ("GET", f"/v1/nodes/{work}"),
        "a memory": ("GET", f"/v1/records/{record}"),
        "its file": ("GET", f"/v1/files/{file}"),
        "keys": ("GET", "/v1/keys"),
        "grants": ("GET", "/v1/grants"),
        "everything": ("GET", "/v1/export"),
    }


def writes(home: SharedGraph) -> dict[str, tuple[str, str, dict[str, object] | None]]:
    """Return requests that change what is granted, each as method, path and body."""
    node, (record, _) = home.node("Family/Dave"), home.record_of("Family/Dave")
    return {
        "revise": ("PATCH", f"/v1/records/{record}", {"title": "Mine"}),
        "rename": ("PATCH", f"/v1/nodes/{node}", {"name": "Mine"}),
        "state a fact": ("POST", "/v1/facts", {"statement": "Dave is mine.", "node_id": str(node)}),
        "take a key": ("POST", "/v1/keys", {"label": "mine"}),
        "grant": ("POST", "/v1/grants", {"third_party": "mine", "node_id": str(node)}),
        "remember": ("POST", "/v1/conversations", {"title": "Mine"}),
        "forget": ("DELETE", f"/v1/records/{record}", None),
    }


def test_stolen_key_reads_what_is_granted_alone(home: SharedGraph, address: str) -> None:
    with caller(address, home.key(PEER)) as thief, caller(address, home.key()) as owner:
        (node,) = thief.get("/v1/mirror", params=NONCE).json()["nodes"]
        assert (node["name"], node["records"]) == ("Dave", 1), "without the private one"
        hits = thief.post("/v1/search", json={"query": "Zanzibar, a diamond, a trout"}).json()["hits"]
        assert {hit["node_path"] for hit in hits} == {"Dave"}, "by the name of the node alone"
        assert "diamond" not in str(hits)
        for after, (method, path) in reads(home).items():
            params = NONCE if "/mirror/nodes" in path else {}
            assert thief.request(method, path, params=params).status_code in (403, 404), after
            if "/mirror/" not in path:  # peers alone mirror
                assert owner.request(method, path).status_code == 200, after


def test_stolen_key_changes_nothing(home: SharedGraph, address: str) -> None:
    tables = ("record_index", "graph_index", "api_keys", "permission_grants", "sources", "delta_log")

    def everything() -> list[tuple[Any, ...]]:
        query = "SELECT t::text FROM neurigraph.{} AS t WHERE t.user_id = %s ORDER BY 1"
        with psycopg.connect(home.installation.administrator_url) as connection:
            return [
                row
                for table in tables
                for row in connection.execute(sql.SQL(query).format(sql.Identifier(table)), [home.owner.user_id])
            ]

    with caller(address, home.key(PEER)) as thief, caller(address, home.key()) as owner:
        thief.get("/v1/mirror", params=NONCE).raise_for_status()
        owner.get("/v1/nodes").raise_for_status()
        before = everything()
        for wanted, (method, path, body) in writes(home).items():
            assert thief.request(method, path, json=body).status_code in (403, 404), wanted
        assert everything() == before
        for wanted, (method, path, body) in writes(home).items():
            assert owner.request(method, path, json=body).is_success, wanted


@pytest.mark.parametrize("ends", ["revoked", "rotated"])
def test_stolen_key_ends(home: SharedGraph, address: str, ends: str) -> None:
    """It is refused from the next request on, while the peer goes on with a key of its own."""
    stolen_id, stolen = sharing.issue_key(home.installation.database, home.owners, subject=PEER)
    with caller(address, stolen) as thief, caller(address, home.key()) as owner:
        assert thief.get("/v1/mirror", params=NONCE).status_code == 200
        if ends == "revoked":
            owner.delete(f"/v1/keys/{stolen_id.key_id}").raise_for_status()
            another = home.key(PEER)
        else:
            another = owner.post(f"/v1/keys/{stolen_id.key_id}/rotate", json={}).raise_for_status().json()["api_key"]
        assert thief.get("/v1/mirror", params=NONCE).status_code == 401
        assert thief.post("/v1/search", json={"query": "trout"}).status_code == 401
    with caller(address, another) as peer:
        assert peer.get("/v1/mirror", params=NONCE).status_code == 200
