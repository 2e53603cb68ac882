"""Input to the HTTP API: taken once, repaired, rejected, and bounded in size."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.faces.api.body_limit import MAX_BODY_BYTES
from neurigraph_pipelines.faces.operations.requests import MAX_MESSAGES
from neurigraph_pipelines.wiring.installation import Installation
from tests.support.api_calls import TALK, assert_problem, new_user, remember, store


@pytest.fixture
def client(address: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=address, timeout=60.0) as made:
        yield made


def test_messages_are_taken_once(client: httpx.Client) -> None:
    bob = new_user(client)
    first = client.post("/v1/conversations", json={"external_id": "c1", "title": "A talk"}, headers=bob)
    again = client.post("/v1/conversations", json={"external_id": "c1"}, headers=bob)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    path = f"/v1/conversations/{first.json()['conversation_id']}"
    added = client.post(f"{path}/messages", json={"messages": TALK}, headers=bob).json()
    assert added["tokens"] > 10
    nothing = {"known": 0, "conflicts": [], "replaced": 0, "repaired": 0, "redacted": {}}
    assert added == {"added": 3, "tokens": added["tokens"], **nothing}
    changed = [TALK[0], {**TALK[1], "content": "Something else"}, {"role": "user", "content": "New.", "author": None}]
    repeated = client.post(f"{path}/messages", json={"messages": changed}, headers=bob).json()
    assert (repeated["added"], repeated["known"], repeated["conflicts"]) == (1, 1, ["m2"])
    ended = client.post(f"{path}/end", json={"ended_at": "2025-01-14T10:00:00+01:00"}, headers=bob)
    assert ended.json() == {"conversation_id": first.json()["conversation_id"], "ended_at": "2025-01-14T09:00:00Z"}
    assert client.post(f"{path}/end", headers=bob).json() == ended.json()
    assert client.post(f"{path}/end", json={}, headers=bob).json() == ended.json()


def test_values_that_would_change_are_kept_as_text_or_refused(client: httpx.Client, here: Installation) -> None:
    headers = {**new_user(client), "Content-Type": "application/json"}
    conversation = client.post("/v1/conversations", json={}, headers=headers).json()["conversation_id"]
    path = f"/v1/conversations/{conversation}/messages"
    body = '{"messages": [{"role": "user", "content": "", "tool_calls": [{"input": %s}]}]}'
    refused = assert_problem(client.post(path, content=body % '{"a": 1, "a": 2}', headers=headers), 422)
    assert "'a' twice" in refused["detail"]
    numbers = "[1e-400, 0.123456789012345678901234567890, NaN, 1e400, 1e-30, 123456789012345678901234567890, 0.1]"
    added = client.post(path, content=body % numbers, headers=headers)
    assert added.json()["added"] == 1, added.text
    with here.database.pipeline() as tx:
        (row,) = tx.execute(
            "SELECT tool_calls FROM neurigraph.messages WHERE source_id = %s", [conversation]
        ).fetchall()
    texts = ["1e-400", "0.123456789012345678901234567890", "NaN", "1e400"]
    assert row["tool_calls"] == [{"input": [*texts, 1e-30, 123456789012345678901234567890, 0.1]}]
    bearer, file = {"Authorization": headers["Authorization"]}, {"file": ("mill.txt", b"The mill turns.")}
    twice = client.post("/v1/files", data={"metadata": '{"a": 1, "a": 2}'}, files=file, headers=bearer)
    assert "'a' twice" in assert_problem(twice, 422)["detail"]
    changed = '{"a": 1e-400, "b": 9007199254740993.0, "c": 0.1}'
    sent = client.post("/v1/files", data={"metadata": changed}, files=file, headers=bearer)
    assert sent.status_code == 202
    with here.database.pipeline() as tx:
        query = "SELECT metadata FROM neurigraph.sources WHERE source_id = %s"
        (row,) = tx.execute(query, [sent.json()["upload_id"]]).fetchall()
    assert row["metadata"] == {"a": "1e-400", "b": "9007199254740993.0", "c": 0.1}


def test_unstorable_text_is_repaired(client: httpx.Client, here: Installation) -> None:
    bob = new_user(client)
    headers = {**bob, "Content-Type": "application/json"}
    opened = client.post(
        "/v1/conversations", content=rb'{"title": "a\u0000b\ud800", "external_id": "x\udfff\u0000"}', headers=headers
    )
    assert opened.status_code == 201
    message = rb"""{"messages": [{"role": "user", "content": "NUL \u0000 and half a pair \ud83d", "author": "\udc00",
        "external_id": "\u0000", "tool_calls": [{"na\u0000me": "\ud800", "number": NaN}]}]}"""
    path = f"/v1/conversations/{opened.json()['conversation_id']}"
    added = client.post(f"{path}/messages", content=message, headers=headers)
    assert (added.status_code, added.json()["added"], added.json()["repaired"]) == (200, 1, 1)
    client.post(f"{path}/end", headers=bob)
    store(here)
    found = client.post("/v1/search", content=rb'{"query": "half\u0000 a pair \ud800"}', headers=headers)
    assert found.status_code == 200
    file_id = found.json()["hits"][0]["file_id"]
    opened_file = client.post(f"/v1/files/{file_id}/open", params={"message": 1}, headers=bob)
    assert opened_file.json()["content"] == "NUL \ufffd and half a pair \ufffd"


@pytest.mark.parametrize(
    "text",
    [
        "'; DROP SCHEMA neurigraph CASCADE; --",
        "记忆是一座图书馆 🐟🎣 मछली",
        "%s %(query)s {schema} \\x00 \\' \" & | ! :* <-> ()",
        "x" * 4_000,
        "\t \u2028 \u202e abc \x1b[31m",
        "---",
        "<script>alert(1)</script>",
    ],
)
def test_hostile_text_round_trip(client: httpx.Client, here: Installation, text: str) -> None:
    bob = new_user(client)
    remember(
        client,
        bob,
        [{"role": "user", "content": text, "author": text[:300], "external_id": text[:300]}],
        title=text[:256],
        external_id=text[:300],
    )
    store(here)
    found = client.post("/v1/search", json={"query": text}, headers=bob)
    assert found.status_code == 200, found.text
    file_id = found.json()["hits"][0]["file_id"]
    assert client.post(f"/v1/files/{file_id}/open?message=1", headers=bob).json()["content"] == text
    opened = client.post(f"/v1/files/{file_id}/open", headers=bob)
    assert json.loads(opened.content)["content"] == text
    assert client.get("/v1/tree", headers=bob).status_code == 200


INVALID = [
    ("/v1/search", {}),
    ("/v1/search", {"query": ""}),
    ("/v1/search", {"query": " \n"}),
    ("/v1/search", {"query": "x" * 4_001}),
    ("/v1/search", {"query": 7}),
    ("/v1/search", {"query": "x", "limit": 0}),
    ("/v1/search", {"query": "x", "limit": 10**30}),
    ("/v1/search", {"query": "x", "message_limit": -1}),
    ("/v1/search", {"query": "x", "node_id": "'; --"}),
    ("/v1/search", {"query": "x", "at": "yesterday"}),
    ("/v1/search", {"query": "x", "unknown": 1}),
    ("/v1/search", {"query": "x", "un/kn~own\ud800": 1}),
    ("/v1/search", ["query"]),
    ("/v1/conversations", {"external_id": ""}),
    ("/v1/conversations", {"external_id": "x" * 301}),
    ("/v1/conversations", {"title": "x" * 501}),
    ("/v1/conversations", {"started_at": "0001-01-01T00:00:00Z"}),
    ("/v1/conversations", {"started_at": "9999-12-31T23:59:59-14:00"}),
    ("/v1/conversations", {"started_at": 1e300}),
    ("/v1/conversations/no-uuid/end", {}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "robot", "content": "x"}]}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "\ud800", "content": "x"}]}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user"}]}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user", "content": "x", "author": "x" * 301}]}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user", "content": "x" * 4_000_001}]}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user", "content": "x"}] * (MAX_MESSAGES + 1)}),
    ("/v1/conversations/{}/messages", {"messages": [{"role": "user", "content": "x", "tool_calls": ["x"]}]}),
]


def test_rejected_input_changes_nothing(client: httpx.Client, here: Installation) -> None:
    bob = new_user(client)
    opened = client.post("/v1/conversations", json={}, headers=bob).json()["conversation_id"]
    for path, body in INVALID:
        response = client.post(
            path.format(opened), content=json.dumps(body), headers={**bob, "Content-Type": "application/json"}
        )
        assert assert_problem(response, 422)["detail"], (path, body)
        assert "x" * 600 not in response.text
    with here.database.pipeline() as tx:
        theirs = """SELECT FROM neurigraph.sources AS one
        INNER JOIN neurigraph.sources AS s ON s.user_id = one.user_id WHERE one.source_id = %s"""
        assert len(tx.execute(theirs, [opened]).fetchall()) == 1
        assert tx.execute("SELECT FROM neurigraph.messages WHERE source_id = %s", [opened]).fetchall() == []


def test_problems_name_the_field(client: httpx.Client) -> None:
    bob = new_user(client)
    body = {"messages": [{"role": "user", "content": "good"}, {"role": "user", "content": 1, "a/b": 2}]}
    opened = client.post("/v1/conversations", json={}, headers=bob).json()["conversation_id"]
    problem = assert_problem(client.post(f"/v1/conversations/{opened}/messages", json=body, headers=bob), 422)
    assert {error["pointer"] for error in problem["errors"]} == {"#/messages/1/content", "#/messages/1/a~1b"}
    root = client.get("/v1/tree", headers=bob).json()["node_id"]
    problem = assert_problem(client.get(f"/v1/nodes/{root}/mentions", params={"limit": 201}, headers=bob), 422)
    assert [error["parameter"] for error in problem["errors"]] == ["limit"]
    assert_problem(client.post(f"/v1/conversations/{uuid4()}/messages", json=body, headers=bob), 404)
    assert_problem(client.get(f"/v1/nodes/{uuid4()}/mentions", params={"limit": 201}, headers=bob), 404)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 422),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[" * 200_000, 400),
        (b'{"query": ' + b"9" * 10_000 + b"}", 422),
        (b"null", 422),
    ],
)
def test_invalid_json_is_refused(client: httpx.Client, content: bytes, status: int) -> None:
    headers = {**new_user(client), "Content-Type": "application/json"}
    assert_problem(client.post("/v1/search", content=content, headers=headers), status)


def test_json_content_type_is_required(client: httpx.Client) -> None:
    """What a page of another site may send without asking first never counts as JSON."""
    headers = {**new_user(client), "Content-Type": "text/plain"}
    assert_problem(client.post("/v1/search", content=b'{"query": "x"}', headers=headers), 422)


def test_long_body_is_refused_early(client: httpx.Client, address: str) -> None:
    place = urlsplit(address)
    authorization = new_user(client)["Authorization"]
    for path in ("/v1/search", "/healthz", "/nowhere"):
        with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
            connection.sendall(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                f"Authorization: {authorization}\r\nContent-Length: {MAX_BODY_BYTES + 1}\r\n\r\n{{".encode()
            )
            answer = connection.recv(4_096)
        assert answer.startswith(b"HTTP/1.1 413 "), answer
        assert b"application/problem+json" in answer


def test_long_chunked_body_is_refused(client: httpx.Client, address: str) -> None:
    bob = new_user(client)
    place = urlsplit(address)
    chunk = b" " * 65_536
    sent = 0
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(
            "POST /v1/search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Authorization: {bob['Authorization']}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
        )
        with suppress(ConnectionError):  # the server hangs up
            while sent < 3 * MAX_BODY_BYTES:
                connection.sendall(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                sent += len(chunk)
    assert sent < 3 * MAX_BODY_BYTES
    assert client.get("/healthz").status_code == 200


def test_chunked_body_within_limit(client: httpx.Client) -> None:
    headers = {**new_user(client), "Content-Type": "application/json"}

    def chunks() -> Iterator[bytes]:
        yield b'{"query":'
        yield b' "anything"}'

    assert client.post("/v1/search", content=chunks(), headers=headers).status_code == 200
