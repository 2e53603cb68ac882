"""Requests with an `Idempotency-Key`: their effect happens once, whatever dies or runs at the same time."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import httpx
import pytest

from neurigraph_pipelines.access.idempotency import MAX_ANSWER_BYTES, MAX_KEY_LENGTH, sweep
from neurigraph_pipelines.graph.locks import lock_graph_exclusive
from neurigraph_pipelines.ingestion.batch import run_due
from neurigraph_pipelines.wiring.installation import Installation
from tests.conftest import ROOT
from tests.support.api_calls import TALK, admin, assert_problem, new_user, remember, store
from tests.support.api_server import serving
from tests.support.memories import rows
from tests.support.waiting import wait_until

UNNAMED = {"messages": [{"role": "user", "content": "The keel needs bolts."}]}


@pytest.fixture(scope="module")
def bob(client: httpx.Client, shared_installation: Installation) -> dict[str, str]:
    headers = new_user(client, "repeating")
    for number in range(3):
        remember(client, headers, [{**message, "external_id": f"{number}-{n}"} for n, message in enumerate(TALK)])
    assert store(shared_installation) == 3
    return headers


def keyed(headers: dict[str, str], key: str = "") -> dict[str, str]:
    return {**headers, "Idempotency-Key": key or str(uuid4())}


def twice(client: httpx.Client, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
    """Send a request with a key twice; return the answer, which is the same."""
    with_key = keyed(headers)
    first, again = (client.request(method, path, json=body, headers=with_key) for _ in range(2))
    assert first.status_code < 300, first.text
    assert (first.status_code, first.text and first.json()) == (again.status_code, again.text and again.json())
    assert [answer.headers.get("idempotency-replayed") for answer in (first, again)] == [None, "true"]
    return first.text and first.json()


def count(installation: Installation, query: str, *values: object) -> int:
    (row,) = rows(installation, query, *values)
    return int(row["count"])


def test_inbox(client: httpx.Client, bob: dict[str, str], shared_installation: Installation) -> None:
    conversation_id = twice(client, "POST", "/v1/conversations", {"title": "Once"}, bob)["conversation_id"]
    title = "SELECT count(*) FROM neurigraph.sources WHERE title = %s"
    assert count(shared_installation, title, "Once") == 1
    path = f"/v1/conversations/{conversation_id}"
    assert twice(client, "POST", f"{path}/messages", UNNAMED, bob)["added"] == 1
    said = "SELECT count(*) FROM neurigraph.messages WHERE source_id = %s"
    assert count(shared_installation, said, conversation_id) == 1
    assert client.post(f"{path}/messages", json=UNNAMED, headers=keyed(bob)).json()["added"] == 1
    assert count(shared_installation, said, conversation_id) == 2
    twice(client, "PATCH", path, {"privacy": "private"}, bob)
    twice(client, "POST", f"{path}/end", None, bob)
    event = twice(client, "POST", "/v1/events", {"kind": "meeting", "title": "One meeting", **UNNAMED}, bob)
    assert count(shared_installation, title, "One meeting") == 1
    assert count(shared_installation, said, event["event_id"]) == 1
    assert twice(client, "POST", f"/v1/events/{event['event_id']}/messages", UNNAMED, bob)["added"] == 1
    twice(client, "POST", "/v1/events", {"kind": "meeting", "title": "x", "external_id": "e"}, bob)


def test_graph_and_memories(client: httpx.Client, bob: dict[str, str]) -> None:
    root = client.get("/v1/tree", headers=bob).json()["node_id"]
    nodes = [
        twice(client, "POST", "/v1/nodes", {"parent_node_id": root, "name": name}, bob)["node_id"] for name in "ABC"
    ]
    first, *_ = client.post("/v1/search", json={"query": "trout"}, headers=bob).json()["hits"]
    record = f"/v1/records/{first['record_id']}"
    tag = client.get(record, headers=bob).headers["etag"]
    assert twice(client, "PATCH", record, {"title": "Trout"}, {**bob, "If-Match": tag})["title"] == "Trout"
    assert_problem(client.patch(record, json={"title": "Eel"}, headers=keyed({**bob, "If-Match": tag})), 412)
    twice(client, "POST", f"{record}/supersede", {"by": None}, bob)
    assert twice(client, "POST", f"{record}/move", {"node_id": nodes[0]}, bob)["record_count"] == 1
    part = {"name": "Part", "record_ids": [first["record_id"]]}
    split = twice(client, "POST", f"/v1/nodes/{nodes[0]}/split", part, bob)
    tag = client.get(f"/v1/nodes/{nodes[1]}", headers=bob).headers["etag"]
    twice(client, "PATCH", f"/v1/nodes/{nodes[1]}", {"name": "B2"}, {**bob, "If-Match": tag})
    twice(client, "PATCH", f"/v1/nodes/{nodes[1]}", {"parent_node_id": nodes[2]}, bob)
    assert (
        twice(client, "POST", f"/v1/nodes/{split['node_id']}/merge", {"into_node_id": nodes[2]}, bob)["record_count"]
        == 1
    )
    grant = twice(client, "POST", "/v1/grants", {"third_party": "gmail", "node_id": nodes[2]}, bob)
    twice(client, "DELETE", f"/v1/grants/{grant['grant_id']}", None, bob)
    assert twice(client, "DELETE", f"/v1/nodes/{nodes[2]}?dry_run=true", None, bob)["record_count"] == 1
    twice(client, "DELETE", f"/v1/nodes/{nodes[2]}", None, bob)


def test_a_key_is_for_one_request(client: httpx.Client, bob: dict[str, str]) -> None:
    one = keyed(bob)
    assert client.post("/v1/conversations", json={"title": "A"}, headers=one).status_code == 201
    for path, body in (("/v1/conversations", {"title": "B"}), ("/v1/events", {"title": "A"})):
        assert "another request" in assert_problem(client.post(path, json=body, headers=one), 422)["detail"]
    for key in ("x" * (MAX_KEY_LENGTH + 1), "", "a b", "é"):
        with_key = [(b"Authorization", bob["Authorization"].encode()), (b"Idempotency-Key", key.encode("latin-1"))]
        assert_problem(client.post("/v1/conversations", json={}, headers=with_key), 422)
    longest = keyed(bob, "x" * MAX_KEY_LENGTH)
    assert client.post("/v1/conversations", json={}, headers=longest).status_code == 201
    refused = keyed(bob)
    assert_problem(client.post("/v1/conversations", json={"titel": "A"}, headers=refused), 422)
    assert client.post("/v1/conversations", json={"title": "A"}, headers=refused).status_code == 201


@pytest.mark.attack
def test_operations_without_keys(client: httpx.Client, bob: dict[str, str], shared_installation: Installation) -> None:
    """Issued keys are never stored, so a request for one cannot be repeated."""
    for method, path, headers in (
        ("POST", "/v1/users", admin()),
        ("POST", "/v1/keys", bob),
        ("POST", f"/v1/keys/{uuid4()}/rotate", bob),
        ("POST", "/v1/search", bob),
        ("POST", "/v1/files", bob),
        ("GET", "/v1/tree", bob),
    ):
        refused = client.request(method, path, headers=keyed(headers))
        assert "takes no Idempotency-Key" in assert_problem(refused, 422)["detail"]
    assert client.post("/v1/keys", json={}, headers=bob).status_code == 201
    secrets = r"SELECT count(*) FROM neurigraph.request_keys WHERE answer::text LIKE '%%ng\_%%'"
    assert count(shared_installation, secrets) == 0


def test_a_running_request_is_not_started_again(
    client: httpx.Client, bob: dict[str, str], shared_installation: Installation
) -> None:
    """In the same process at once; through another one when it would have its effect."""
    root = client.get("/v1/tree", headers=bob).json()["node_id"]
    (user,) = rows(shared_installation, "SELECT user_id FROM neurigraph.users WHERE slug = 'repeating'")
    headers, body = keyed(bob), {"parent_node_id": root, "name": "Contested"}

    def create(through: httpx.Client) -> httpx.Response:
        return through.post("/v1/nodes", json=body, headers=headers)

    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with (
        Installation(shared_installation.settings) as second,
        serving(second) as address,
        httpx.Client(base_url=address, timeout=60.0) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        with shared_installation.database.owner() as tx:
            lock_graph_exclusive(tx, user["user_id"])
            pending = [pool.submit(create, client), pool.submit(create, other)]
            wait_until(lambda: count(shared_installation, waiting) == 2)
            running = create(client)
            assert_problem(running, 409)
            assert running.headers["retry-after"] == "1"
        assert sorted(one.result().status_code for one in pending) == [201, 409]
        answers = [create(through) for through in (client, other)]
    assert [answer.headers["idempotency-replayed"] for answer in answers] == ["true", "true"]
    assert answers[0].json() == answers[1].json()


@contextmanager
def dying_server(installation: Installation) -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.dying_server"], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(pickle.dumps(installation.settings))
        process.stdin.close()
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        assert process.wait(30) == -9
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
def test_a_process_killed_before_its_answer(
    client: httpx.Client, bob: dict[str, str], shared_installation: Installation
) -> None:
    conversation_id = client.post("/v1/conversations", json={}, headers=bob).json()["conversation_id"]
    (hit, *_) = client.post("/v1/search", json={"query": "trout"}, headers=bob).json()["hits"]
    record = f"/v1/records/{hit['record_id']}"
    tag = client.get(record, headers=bob).headers["etag"]
    for method, path, body, headers in (
        ("POST", f"/v1/conversations/{conversation_id}/messages", UNNAMED, bob),
        ("PATCH", record, {"title": "Survivor"}, {**bob, "If-Match": tag}),
    ):
        with_key = keyed(headers)
        with dying_server(shared_installation) as address, pytest.raises(httpx.RemoteProtocolError):
            httpx.request(method, address + path, json=body, headers={**with_key, "X-Die": "1"}, timeout=60.0)
        answer = client.request(method, path, json=body, headers=with_key)
        assert answer.status_code < 300, answer.text
        assert answer.headers["idempotency-replayed"] == "true"
    assert client.get(record, headers=bob).json()["title"] == "Survivor"
    said = "SELECT count(*) FROM neurigraph.messages WHERE source_id = %s"
    assert count(shared_installation, said, conversation_id) == 1


@pytest.mark.attack
def test_keys_belong_to_their_caller(client: httpx.Client, bob: dict[str, str]) -> None:
    """Another user, and another key of the same user, find nothing under a key that they guess."""
    eve = new_user(client, "key-mallory")
    second = {"Authorization": f"Bearer {client.post('/v1/keys', json={}, headers=bob).json()['api_key']}"}
    body, made = {"title": "Mine"}, set()
    for headers in (bob, eve, second):
        answer = client.post("/v1/conversations", json=body, headers=keyed(headers, "one-and-the-same"))
        assert (answer.status_code, "idempotency-replayed" in answer.headers) == (201, False)
        made.add(answer.json()["conversation_id"])
        again = client.post("/v1/conversations", json=body, headers=keyed(headers, "one-and-the-same"))
        assert again.headers["idempotency-replayed"] == "true"
    assert len(made) == 3
    nobody = {"Authorization": "Bearer ng_wrong"}
    assert_problem(client.post("/v1/conversations", json=body, headers=keyed(nobody, "one-and-the-same")), 401)


@pytest.mark.attack
def test_a_repetition_shows_what_the_caller_may_see_now(
    client: httpx.Client, bob: dict[str, str], shared_installation: Installation
) -> None:
    """No answer keeps remembered text: it is read again, and is gone with its memory."""
    remember(client, bob, [{"role": "user", "content": "The secret garden has zucchini."}])
    assert sum(len(result.stored) for result in run_due(shared_installation.context, "tests")) >= 1
    (hit, *_) = client.post("/v1/search", json={"query": "zucchini"}, headers=bob).json()["hits"]
    path, headers = f"/v1/records/{hit['record_id']}", keyed(bob)
    title = {"title": "Zucchini"}
    assert client.patch(path, json=title, headers=headers).json()["title"] == "Zucchini"
    assert client.patch(path, json={"title": "Courgettes"}, headers=bob).status_code == 200
    assert client.patch(path, json=title, headers=headers).json()["title"] == "Courgettes"
    about = "SELECT count(*) FROM neurigraph.request_keys WHERE object_ids && ARRAY[%s::uuid]"
    text = "SELECT count(*) FROM neurigraph.request_keys WHERE answer::text ILIKE '%%zucchini%%'"
    assert (count(shared_installation, about, hit["record_id"]), count(shared_installation, text)) == (1, 0)
    assert client.delete(path, headers=bob).status_code == 200
    assert count(shared_installation, about, hit["record_id"]) == 0
    assert_problem(client.patch(path, json=title, headers=headers), 404)


def test_answers_are_kept_for_a_time(
    client: httpx.Client, bob: dict[str, str], shared_installation: Installation
) -> None:
    headers = keyed(bob)
    first = client.post("/v1/conversations", json={}, headers=headers).json()
    assert sweep(shared_installation.database, 3600.0) == 0
    assert client.post("/v1/conversations", json={}, headers=headers).json() == first
    assert sweep(shared_installation.database, 0.0) >= 1
    assert client.post("/v1/conversations", json={}, headers=headers).json() != first


def test_an_answer_too_long_to_keep_stores_nothing(
    client: httpx.Client, bob: dict[str, str], shared_installation: Installation
) -> None:
    conversation_id = client.post("/v1/conversations", json={}, headers=bob).json()["conversation_id"]
    path = f"/v1/conversations/{conversation_id}/messages"
    known = [{"role": "user", "content": f"Message {n}.", "external_id": f"{n:0300d}"} for n in range(60)]
    assert client.post(path, json={"messages": known}, headers=bob).json()["added"] == 60
    other = {"messages": [{**message, "content": "Other."} for message in known] + UNNAMED["messages"]}
    refused = client.post(path, json=other, headers=keyed(bob))
    assert f"{MAX_ANSWER_BYTES:,} bytes" in assert_problem(refused, 422)["detail"]
    said = "SELECT count(*) FROM neurigraph.messages WHERE source_id = %s"
    assert count(shared_installation, said, conversation_id) == 60
