"""The HTTP API: a real server, client and database."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import httpx
import psycopg
import pytest
from psycopg import sql

from neurigraph_pipelines.graph.profile_building import rebuild_profiles
from neurigraph_pipelines.settings import Settings
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ADMIN_KEY
from tests.support.api_calls import SAME_ID, TALK, admin, assert_problem, new_user, remember, store
from tests.support.api_server import serving
from tests.support.command_line import run_cli


@pytest.fixture
def base(installation: Installation) -> Iterator[str]:
    with serving(installation) as address:
        yield address


@pytest.fixture
def client(base: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=base, timeout=60.0, headers=SAME_ID) as made:
        yield made


def test_conversation_is_stored_and_found(client: httpx.Client, installation: Installation) -> None:
    bob = new_user(client, "bob")
    conversation_id = remember(client, bob, TALK, title="Fishing", external_id="c1")
    assert store(installation) == 1

    found = client.post(
        "/v1/search", json={"query": "How many trout did Bob catch?", "explain": True}, headers=bob
    ).json()
    (hit,) = found["hits"]
    assert (hit["source_kind"], hit["source_id"], hit["source_external_id"]) == ("conversation", conversation_id, "c1")
    assert hit["node_path"].startswith("bob")
    assert hit["explain"]["passage"] is not None
    assert {message["external_id"] for message in found["messages"]} == {"m1", "m2", "m3"}
    assert {message["record_id"] for message in found["messages"]} == {hit["record_id"]}
    scores = [message["score"] for message in found["messages"]]
    assert scores == sorted(scores, reverse=True)
    assert found["anchors"]

    assert_opens(client, bob, hit["file_id"])

    node_id = hit["node_id"]
    shell = client.get(f"/v1/nodes/{node_id}", headers=bob).json()
    assert shell["path"] == hit["node_path"]
    assert shell["record_count"] == 1
    assert client.get(f"/v1/nodes/{node_id}/profile", headers=bob).json() == {"node_id": node_id, "profile": None}
    rebuild_profiles(installation.database)
    profile = client.get(f"/v1/nodes/{node_id}/profile", headers=bob).json()["profile"]
    assert [centroid["record_id"] for centroid in profile["centroids"]] == [hit["record_id"]]
    assert client.get(f"/v1/nodes/{node_id}", headers=bob).json()["profile"] == profile
    records = client.get("/v1/records", params={"node_id": node_id, "below": False}, headers=bob).json()
    assert [record["record_id"] for record in records["records"]] == [hit["record_id"]]
    assert records["next_cursor"] is None
    tree = client.get("/v1/tree", headers=bob).json()
    assert tree["name"] == "bob"
    assert node_id in _node_ids(tree)


def assert_opens(client: httpx.Client, bob: dict[str, str], file_id: str) -> None:
    """Check what opening the file of the talk gives: all of it, as it is stored, and one message."""
    opened = client.post(f"/v1/files/{file_id}/open", headers=bob)
    assert opened.status_code == 200
    lines = [json.loads(line) for line in opened.content.splitlines()]
    assert [line["content"] for line in lines] == [message["content"] for message in TALK]
    assert opened.headers["content-type"] == "application/jsonl"
    stored = client.post(f"/v1/files/{file_id}/open", params={"stored": True}, headers=bob)
    assert (stored.headers["etag"], "etag" in opened.headers) == (f'"{file_id}"', False)
    kept = [json.loads(line) for line in stored.content.splitlines()]
    assert lines == [
        {**line, "stated_author": line["author"], "voice": voice}
        for line, voice in zip(kept, ("owner", "assistant", "owner"), strict=True)
    ]
    assert opened.headers["content-disposition"].startswith("attachment; filename=")
    assert "filename*=UTF-8''" in opened.headers["content-disposition"]
    message = client.post(f"/v1/files/{file_id}/open", params={"message": 3}, headers=bob).json()
    assert {name: value for name, value in message.items() if value is not None} == {
        "file_id": file_id,
        "seq": 3,
        "role": "user",
        "type": "user",
        "tool_calls": [],
        "author": "Bob",
        "voice": "owner",
        "external_id": "m3",
        "occurred_at": lines[2]["occurred_at"].replace("+00:00", "Z"),
        "content": TALK[2]["content"],
    }
    assert_problem(client.post(f"/v1/files/{file_id}/open", params={"message": 4}, headers=bob), 404)


def _node_ids(node: dict[str, Any]) -> set[str]:
    return {node["node_id"]}.union(*map(_node_ids, node["children"]))


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node, *(below for child in node["children"] for below in _nodes(child))]


def test_only_admin_creates_users(client: httpx.Client) -> None:
    bob = new_user(client, "bob")
    assert_problem(client.post("/v1/users", json={"slug": "eve"}), 401)
    assert_problem(client.post("/v1/users", json={"slug": "eve"}, headers=bob), 401)
    assert_problem(client.post("/v1/users", json={"slug": "bob"}, headers=admin()), 409)
    for slug in ["", "Bob", "a b", "-a", "ä", "x" * 64, "a;drop", "a\ud800", "pg\u0000"]:
        body = json.dumps({"slug": slug})
        response = client.post("/v1/users", content=body, headers={**admin(), "Content-Type": "application/json"})
        assert_problem(response, 422)
    made = client.post("/v1/users", json={"slug": "eve"}, headers=admin()).json()
    assert set(made) == {"user_id", "slug", "root_node_id", "database", "api_key"}
    assert UUID(made["root_node_id"]) != UUID(made["user_id"])


def test_admin_key_is_made_at_the_first_start(installation: Installation, settings: Settings) -> None:
    keyless = Installation(settings.changed(admin_key=None))
    with keyless, serving(keyless) as address:
        url, file = f"{address}/v1/users", settings.home / "admin_key"
        assert httpx.get(f"{address}/healthz").status_code == 200  # it has started
        key = file.read_text().strip()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for headers in [
            {},
            {"X-Forwarded-For": "127.0.0.1"},
            bearer(ADMIN_KEY),
            bearer(key + "x"),
            {"Authorization": "Bearer"},
        ]:
            assert_problem(httpx.post(url, json={"slug": "bob"}, headers=headers), 401)
        assert httpx.post(url, json={"slug": "bob"}, headers=bearer(key)).status_code == 201
    printed = run_cli(settings, "admin", "key")
    assert printed.stdout.strip() == key


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def test_framework_errors_are_problems(client: httpx.Client) -> None:
    bob = new_user(client, "bob")
    assert_problem(client.get("/nowhere"), 404)
    assert_problem(client.get("/v1/nowhere", headers=bob), 404)
    assert_problem(client.get("/v1/nowhere"), 401)
    assert_problem(client.get("/v1/tree/", headers=bob), 404)
    refused = client.delete("/v1/search", headers=bob)
    assert_problem(refused, 405)
    assert refused.headers["allow"] == "POST"


def test_unexpected_error_reveals_nothing(client: httpx.Client, installation: Installation) -> None:
    bob = new_user(client, "bob")
    with installation.database.owner() as tx:
        tx.execute(sql.SQL("ALTER TABLE neurigraph.node_aliases RENAME TO gone"))
    problem = assert_problem(client.get("/v1/aliases", headers=bob, params={"value": "Dave"}), 500)
    assert "node_aliases" not in str(problem)
    assert client.get(f"/v1/nodes/{uuid4()}", headers=bob).status_code == 404


def test_broken_connections_are_replaced(
    client: httpx.Client, installation: Installation, administrator: psycopg.Connection
) -> None:
    bob = new_user(client, "bob")
    with installation.database.owner() as tx:
        row = tx.execute(sql.SQL("SELECT current_database() AS name")).fetchone()
    assert row is not None
    administrator.execute(
        sql.SQL("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = {}").format(row["name"])
    )
    assert client.get("/v1/tree", headers=bob).status_code == 200


def test_statement_timeout_is_transient(installation: Installation, settings: Settings) -> None:
    hurried = Installation(settings.changed(statement_timeout_seconds=0.2))
    with hurried, serving(hurried) as address, httpx.Client(base_url=address, timeout=60) as client:
        bob = new_user(client, "bob")
        with installation.database.owner() as tx:
            tx.execute(sql.SQL("LOCK TABLE neurigraph.graph_index"))
            response = client.get("/v1/tree", headers=bob)
        assert_problem(response, 503)
        assert int(response.headers["retry-after"]) > 0


def test_openapi_describes_every_operation(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert "HTTPValidationError" not in described["components"]["schemas"]
    for operations in described["paths"].values():
        for operation in operations.values():
            assert operation["summary"]
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    assert list(response["content"]) == ["application/problem+json"]
    assert client.get("/docs").status_code == 200
